"""Fitted link predictors on disk: JSON and npz in one folder.

Nothing in the folder is ever executed. The JSON file is written last and knows the checksums of
the others, so that damage and mixtures of two saves are noticed.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from truegraph.data.storage import (
    PathLike,
    csr_from_arrays,
    csr_to_arrays,
    existing_file,
    read_json,
    read_npz,
    write_json,
    write_npz,
)
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.tasks.link_calibration import Calibration
from truegraph.tasks.link_graphs import Filling
from truegraph.tasks.link_training import LinkVectors

if TYPE_CHECKING:
    from truegraph.tasks.link_estimator import LinkEstimator

_FORMAT = "truegraph link predictor"
_VERSION = 1
_DOCUMENT, _ARRAYS, _GRAPH = "predictor.json", "arrays.npz", "learned_graph.npz"
_VECTORS = ("embedding", "vectors", "draws")

Estimator = TypeVar("Estimator", bound="LinkEstimator")


def save_predictor(estimator: LinkEstimator, folder: PathLike) -> None:
    """Write a fitted predictor."""
    place = Path(folder)
    found = estimator._vectors
    arrays: dict[str, NDArray[Any]] = {name: getattr(found, name) for name in _VECTORS}
    arrays |= csr_to_arrays(estimator._known, "known")
    arrays |= csr_to_arrays(estimator.combined_graph_, "combined")
    if estimator.points_ is not None:
        arrays["points"] = estimator.points_
    params = _plain_params(estimator, arrays)
    write_npz(place / _ARRAYS, arrays)
    files = [_ARRAYS]
    if estimator.learned_graph_ is not None:
        estimator.learned_graph_.save(place / _GRAPH)
        files.append(_GRAPH)
    filling = estimator.filling_
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "estimator": type(estimator).__name__,
        "params": params,
        "seed": estimator.seed_,
        "calibration": asdict(estimator.calibration_),
        "sparse_prior": estimator._sparse_prior,
        "filling": None if filling is None else asdict(filling),
        "notes": list(estimator.notes_),
        "seconds": estimator.seconds_,
        "files": {name: _checksum(place / name) for name in files},
    }
    write_json(place / _DOCUMENT, document)


def _plain_params(estimator: LinkEstimator, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the parameters as JSON; a given embedding is set aside as an array."""
    params = estimator.get_params(deep=False)
    params["random_state"] = estimator.seed_
    params["cache"] = None if params["cache"] is None else str(params["cache"])
    if is_dataclass(params["options"]) and not isinstance(params["options"], type):
        params["options"] = asdict(params["options"])
    if params.get("embedding") is not None:
        arrays["given_embedding"] = np.asarray(params.pop("embedding"))
    return {name: _plain(name, value) for name, value in params.items()}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "items"):
        return {str(key): _plain(f"{name}.{key}", item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(f"{name} has type {type(value).__name__}, which cannot be saved.")


def load_predictor(kind: type[Estimator], folder: PathLike) -> Estimator:
    """Read a fitted predictor of a class."""
    place = Path(folder)
    document = _checked_document(place, kind.__name__)
    try:
        return _restored(kind, document, place)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder}: damaged, or saved by another version ({error}). Save the predictor again."
        ) from error


def _checked_document(place: Path, kind: str) -> dict[str, Any]:
    """Return the JSON document after checking what it is and that its files are undamaged."""
    if not (place / _DOCUMENT).is_file():
        raise InputError(
            f"{place}: not a saved predictor: there is no {_DOCUMENT}. Give the folder of a save."
        )
    document = read_json(place / _DOCUMENT)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{place / _DOCUMENT}: not a saved predictor. Give the folder of a save.")
    if document.get("version") != _VERSION:
        raise InputError(
            f"{place}: saved in version {document.get('version')!r} of the format, but this is "
            f"version {_VERSION}. Load it with the truegraph that saved it."
        )
    if document.get("estimator") != kind:
        raise InputError(
            f"{place}: holds a {document.get('estimator')}, not a {kind}. "
            f"Use {document.get('estimator')}.load."
        )
    files = document.get("files")
    for name, checksum in (files if isinstance(files, dict) else {_ARRAYS: None}).items():
        if name not in (_ARRAYS, _GRAPH):
            raise InputError(f"{place}: names the unknown file {name!r}. Save it again.")
        if _checksum(place / name) != checksum:
            raise InputError(
                f"{place / name}: damaged, or from another save: its checksum is not the one in "
                f"{_DOCUMENT}. Copy the folder or save the predictor again."
            )
    return document


def _restored(kind: type[Estimator], document: dict[str, Any], place: Path) -> Estimator:
    arrays = read_npz(place / _ARRAYS)
    params = dict(document["params"])
    if "given_embedding" in arrays:
        params["embedding"] = arrays["given_embedding"]
    estimator = kind(**params)
    estimator._vectors = LinkVectors(*(arrays[name] for name in _VECTORS))
    estimator.embedding_, estimator.points_ = arrays["embedding"], arrays.get("points")
    estimator._known = csr_from_arrays(arrays, "known")
    estimator.combined_graph_ = csr_from_arrays(arrays, "combined")
    estimator.calibration_ = Calibration(**document["calibration"])
    estimator._sparse_prior = float(document["sparse_prior"])
    numbers = document["filling"]
    estimator.filling_ = None if numbers is None else Filling(**numbers)
    estimator.seed_ = int(document["seed"])
    estimator.notes_ = tuple(document["notes"])
    estimator.seconds_ = dict(document["seconds"])
    has_graph = _GRAPH in document["files"]
    estimator.learned_graph_ = LearnedGraph.load(place / _GRAPH) if has_graph else None
    return estimator


def _checksum(path: Path) -> str:
    return hashlib.sha256(existing_file(path).read_bytes()).hexdigest()
