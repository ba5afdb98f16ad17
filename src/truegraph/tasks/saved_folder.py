"""Folders of saved estimators: a JSON document and the files that it lists.

Nothing in a folder is ever executed. The document is written last and knows names and checksums of
the other files: until it is in place, the folder holds the previous estimator, whole; from then
on the new one. Files of one save are never overwritten by another.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from truegraph.data.storage import PathLike, existing_file, read_json, write_json
from truegraph.errors import InputError

ARRAYS, WEIGHTS, GRAPH = "arrays.npz", "weights.safetensors", "learned_graph.npz"
_ROLES = (ARRAYS, WEIGHTS, GRAPH)
_ABANDONED = 3600.0  # seconds after which a file that no document names is left over

Estimator = TypeVar("Estimator")
Write = Callable[[Path], object]
Files = Mapping[str, Path]


@dataclass(frozen=True)
class SavedFolder:
    """The layout of one kind of saved estimator in its folder.

    Parameters
    ----------
    format : str
        Mark by which the document is known.
    kind : str
        What is saved, in messages: "classifier", ...
    document : str
        Name of the JSON file.
    version : int, default=1
        Version of the format; others are refused.
    """

    format: str
    kind: str
    document: str
    version: int = 1

    def save(
        self,
        folder: PathLike,
        estimator: object,
        facts: Mapping[str, Any],
        writers: Mapping[str, Write],
    ) -> None:
        """Write an estimator in place of the one that is there, by one atomic switch.

        Parameters
        ----------
        folder : path-like
        estimator : object
        facts : mapping
            For the document.
        writers : mapping of ARRAYS, WEIGHTS or GRAPH to callable(path)
            What writes each file.
        """
        place = Path(folder)
        before = _listed(place / self.document)
        written: list[Path] = []
        try:
            for role, write in writers.items():
                written.append(_free_name(place, role))
                write(written[-1])
            header = {
                "format": self.format,
                "version": self.version,
                "estimator": type(estimator).__name__,
            }
            checksums = {path.name: _checksum(path) for path in written}
            write_json(place / self.document, {**header, **facts, "files": checksums})
        except BaseException:
            for path in written:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            raise
        _remove_others(place, before, set(checksums))

    def load(
        self,
        estimator: type[Estimator],
        folder: PathLike,
        restore: Callable[[type[Estimator], dict[str, Any], Files], Estimator],
    ) -> Estimator:
        """Return what `restore` makes of the class, the checked document and the checked files."""
        place = Path(folder)
        document = self._checked_document(place, estimator.__name__)
        try:
            files = self._checked_files(place, document.get("files"))
            return restore(estimator, document, files)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            if isinstance(error, InputError) and str(place) in str(error):
                raise
            raise InputError(
                f"{folder}: damaged, or saved by another version ({error}); "
                f"save the {self.kind} again."
            ) from error

    def _checked_document(self, place: Path, estimator: str) -> dict[str, Any]:
        """Return the document after checking what it is."""
        path = place / self.document
        if not path.is_file():
            raise InputError(
                f"{place}: not a saved {self.kind}: there is no {self.document}; "
                "give the folder of a save."
            )
        document = read_json(path)
        if not isinstance(document, dict) or document.get("format") != self.format:
            raise InputError(f"{path}: not a saved {self.kind}; give the folder of a save.")
        if document.get("version") != self.version:
            raise InputError(
                f"{place}: saved in version {document.get('version')!r} of the format, but this is "
                f"version {self.version}; load it with the truegraph that saved it."
            )
        saved = document.get("estimator")
        if saved != estimator:
            raise InputError(f"{place} holds a {saved}, not a {estimator}; use {saved}.load.")
        return document

    def _checked_files(self, place: Path, listed: Any) -> Files:
        """Return the path of each kind of file, after comparing all checksums."""
        if not isinstance(listed, dict):
            raise InputError(f"{place}: damaged: {self.document} lists no files.")
        files: dict[str, Path] = {}
        for name, checksum in listed.items():
            role = _role(name)
            if role is None or role in files:
                raise InputError(f"{place} lists the unknown file {name!r}; save it again.")
            files[role] = place / name
            if _checksum(files[role]) != checksum:
                raise InputError(
                    f"{files[role]}: damaged, or from another save: its checksum is not the one "
                    f"in {self.document}; copy the folder or save the {self.kind} again."
                )
        if ARRAYS not in files:
            raise InputError(f"{place}: damaged: {self.document} lists no {ARRAYS}.")
        return files


def _listed(document: Path) -> set[str]:
    """Return the names of the files of the save that is there; none if it is not sound."""
    with suppress(InputError, AttributeError, TypeError):
        return set(read_json(document)["files"])
    return set()


def _free_name(place: Path, role: str) -> Path:
    """Take the usual name of a file, or, where another save has it, one of its own."""
    path = place / role
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)
        return path
    return path.with_name(f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")


def _role(name: str) -> str | None:
    """Return which of the files goes by a name."""
    for role in _ROLES:
        stem, _, suffix = role.partition(".")
        if re.fullmatch(rf"{stem}(-[0-9a-f]{{8}})?\.{suffix}", name):
            return role
    return None


def _remove_others(place: Path, before: set[str], kept: set[str]) -> None:
    """Remove the files of the save before, and what is left over of saves that never ended."""
    with suppress(OSError):
        for path in place.iterdir():
            if path.name in kept or _role(path.name) is None:
                continue
            with suppress(OSError):
                if path.name in before or time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with existing_file(path).open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()
