"""What the folders of all saved estimators have in common: a JSON document and files beside it.

Nothing in a folder is ever executed. The document is written last and knows the checksums of the
other files, so that damage and mixtures of two saves are noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from truegraph.data.storage import PathLike, existing_file, read_json, write_json
from truegraph.errors import InputError

ARRAYS, WEIGHTS, GRAPH = "arrays.npz", "weights.safetensors", "learned_graph.npz"

Estimator = TypeVar("Estimator")


@dataclass(frozen=True)
class SavedFolder:
    """How one kind of saved estimator lies in its folder.

    Parameters
    ----------
    format : str
        Mark by which the document is known.
    kind : str
        What is saved, in messages: "classifier", ...
    document : str
        Name of the JSON file.
    version : int, default=1
        Of the format; others are refused.
    """

    format: str
    kind: str
    document: str
    version: int = 1

    def write_document(
        self, place: Path, estimator: object, facts: Mapping[str, Any], files: Iterable[str]
    ) -> None:
        """Write the document of an estimator whose other files have been written."""
        header = {
            "format": self.format,
            "version": self.version,
            "estimator": type(estimator).__name__,
        }
        checksums = {name: _checksum(place / name) for name in files}
        write_json(place / self.document, {**header, **facts, "files": checksums})

    def load(
        self,
        estimator: type[Estimator],
        folder: PathLike,
        restore: Callable[[type[Estimator], dict[str, Any], Path], Estimator],
    ) -> Estimator:
        """Return what `restore` makes of the class, the checked document and the folder."""
        place = Path(folder)
        document = self._checked_document(place, estimator.__name__)
        try:
            return restore(estimator, document, place)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{folder}: damaged, or saved by another version ({error}). "
                f"Save the {self.kind} again."
            ) from error

    def _checked_document(self, place: Path, estimator: str) -> dict[str, Any]:
        """Return the document after checking what it is and that its files are undamaged."""
        path = place / self.document
        if not path.is_file():
            raise InputError(
                f"{place}: not a saved {self.kind}: there is no {self.document}. "
                "Give the folder of a save."
            )
        document = read_json(path)
        if not isinstance(document, dict) or document.get("format") != self.format:
            raise InputError(f"{path}: not a saved {self.kind}. Give the folder of a save.")
        if document.get("version") != self.version:
            raise InputError(
                f"{place}: saved in version {document.get('version')!r} of the format, but this is "
                f"version {self.version}. Load it with the truegraph that saved it."
            )
        saved = document.get("estimator")
        if saved != estimator:
            raise InputError(f"{place}: holds a {saved}, not a {estimator}. Use {saved}.load.")
        self._check_files(place, document.get("files"))
        return document

    def _check_files(self, place: Path, files: Any) -> None:
        for name, checksum in (files if isinstance(files, dict) else {ARRAYS: None}).items():
            if name not in (ARRAYS, WEIGHTS, GRAPH):
                raise InputError(f"{place}: names the unknown file {name!r}. Save it again.")
            if _checksum(place / name) != checksum:
                raise InputError(
                    f"{place / name}: damaged, or from another save: its checksum is not the one "
                    f"in {self.document}. Copy the folder or save the {self.kind} again."
                )


def _checksum(path: Path) -> str:
    return hashlib.sha256(existing_file(path).read_bytes()).hexdigest()
