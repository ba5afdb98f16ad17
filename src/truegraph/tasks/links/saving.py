"""Fitted link predictors on disk: JSON and npz in one folder."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.data.columns.plan import ColumnPlan
from truegraph.data.storage import (
    PathLike,
    csr_from_arrays,
    csr_to_arrays,
    read_npz,
    write_npz,
)
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.options import options_from
from truegraph.tasks.links.calibration import Calibration
from truegraph.tasks.links.completed_graph import Filling
from truegraph.tasks.links.heuristics import HeuristicScorer
from truegraph.tasks.links.names import REFINED
from truegraph.tasks.links.refined.model import RefinedModel, RefinedSettings
from truegraph.tasks.links.refined.saving import refined_arrays, restored_refined
from truegraph.tasks.links.vectors import LinkVectors
from truegraph.tasks.saved_folder import ARRAYS, GRAPH, Files, SavedFolder, Write

if TYPE_CHECKING:
    from truegraph.tasks.links.base import LinkEstimator
    from truegraph.tasks.links.scorers import LinkScorer

_FOLDER = SavedFolder("truegraph link predictor", "predictor", "predictor.json")
_VECTORS = ("embedding", "vectors", "draws")

Estimator = TypeVar("Estimator", bound="LinkEstimator")


def save_predictor(estimator: LinkEstimator, folder: PathLike) -> None:
    """Write a fitted predictor."""
    arrays = _scorer_arrays(estimator._scorer)
    arrays |= csr_to_arrays(estimator._known, "known")
    arrays |= csr_to_arrays(estimator.combined_graph_, "combined")
    arrays["hidden"] = estimator._hidden
    if estimator._features is not None:
        arrays |= csr_to_arrays(estimator._features, "features")
    if estimator.points_ is not None:
        arrays["points"] = estimator.points_
    params = _plain_params(estimator, arrays)
    plan = None if estimator.plan_ is None else estimator.plan_.to_document(arrays)
    writers: dict[str, Write] = {ARRAYS: lambda path: write_npz(path, arrays)}
    if estimator.learned_graph_ is not None:
        writers[GRAPH] = estimator.learned_graph_.save
    filling = estimator.filling_
    document = {
        "params": params,
        "seed": estimator.seed_,
        "calibration": asdict(estimator.calibration_),
        "sparse_prior": estimator._sparse_prior,
        "plan": plan,
        "filling": None if filling is None else asdict(filling),
        "notes": list(estimator.notes_),
        "seconds": estimator.seconds_,
    }
    _FOLDER.save(folder, estimator, document, writers)


def _scorer_arrays(scorer: LinkScorer) -> dict[str, NDArray[Any]]:
    """Return what a model consists of, beside its graph and the estimator's parameters."""
    if isinstance(scorer, LinkVectors):
        return {name: getattr(scorer, name) for name in _VECTORS}
    if isinstance(scorer, RefinedModel):
        return refined_arrays(scorer)
    return {}


def _restored_scorer(
    estimator: LinkEstimator, arrays: dict[str, NDArray[Any]], seed: int
) -> LinkScorer:
    if "vectors" in arrays:
        return LinkVectors(*(arrays[name] for name in _VECTORS))
    if estimator.model == REFINED:
        return restored_refined(
            arrays,
            estimator.combined_graph_,
            estimator._features,
            estimator.learned_graph_,
            options_from(estimator.options, RefinedSettings),
            seed,
        )
    return HeuristicScorer(estimator.model, estimator.combined_graph_)


def _plain_params(estimator: LinkEstimator, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the parameters as JSON; a given embedding is set aside as an array."""
    params = estimator.get_params(deep=False)
    params["random_state"], params["plan"] = estimator.seed_, None
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
    return _FOLDER.load(kind, folder, _restored)


def _restored(kind: type[Estimator], document: dict[str, Any], files: Files) -> Estimator:
    arrays = read_npz(files[ARRAYS], artefact=True)
    nodes = _checked_size(arrays)
    params = dict(document["params"])
    if "given_embedding" in arrays:
        params["embedding"] = arrays["given_embedding"]
    estimator = kind(**params)
    estimator._known = csr_from_arrays(arrays, "known")
    estimator.combined_graph_ = csr_from_arrays(arrays, "combined")
    estimator._hidden, estimator.points_ = arrays["hidden"], arrays.get("points")
    has_features = "features_indptr" in arrays
    estimator._features = csr_from_arrays(arrays, "features") if has_features else None
    estimator.calibration_ = Calibration(**document["calibration"])
    estimator._sparse_prior = float(document["sparse_prior"])
    plan = document.get("plan")  # absent in folders of older versions
    estimator.plan_ = None if plan is None else ColumnPlan.from_document(plan, arrays)
    numbers = document["filling"]
    estimator.filling_ = None if numbers is None else Filling(**numbers)
    estimator.seed_ = int(document["seed"])
    estimator.notes_ = tuple(document["notes"])
    estimator.seconds_ = dict(document["seconds"])
    graph = LearnedGraph.load(files[GRAPH]) if GRAPH in files else None
    if graph is not None and graph.n_nodes != nodes:
        raise InputError(f"the learned graph has {graph.n_nodes} nodes, the data {nodes}")
    estimator.learned_graph_ = graph
    estimator._scorer = _restored_scorer(estimator, arrays, estimator.seed_)
    estimator.embedding_ = getattr(estimator._scorer, "embedding", None)
    estimator.n_nodes_ = nodes
    return estimator


def _checked_size(arrays: dict[str, NDArray[Any]]) -> int:
    """Return the number of nodes, after checking that all arrays are of the same."""
    nodes = int(csr_from_arrays(arrays, "known").shape[0])
    for name, width in (("known", nodes), ("combined", nodes), ("features", None)):
        if f"{name}_indptr" in arrays:
            gate.sparse_matrix(name, csr_from_arrays(arrays, name), shape=(nodes, width))
    for name in ("embedding", "vectors", "points", "given_embedding"):
        if name in arrays:
            gate.array(name, arrays[name], (nodes, None))
    if len(arrays.get("draws", ())):
        gate.array("draws", arrays["draws"], (None, nodes, None))
    gate.pairs("hidden", arrays["hidden"], nodes)
    for name, array in arrays.items():
        gate.check_finite(name, array)
    return nodes
