"""Fitted recommenders on disk: JSON, npz and safetensors in one folder.

Ids may be strings, numbers and tuples of them.
"""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.identifiers import ids_from_json, ids_to_json
from truegraph.data.interactions.interactions import Interactions
from truegraph.data.storage import (
    PathLike,
    csr_from_arrays,
    csr_to_arrays,
    read_npz,
    read_safetensors,
    write_npz,
    write_safetensors,
)
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.closed_form.base import Choice
from truegraph.nn.recommenders.registry import (
    HISTORY_MODELS,
    RANKING_MODELS,
    recommender_settings,
)
from truegraph.nn.recommenders.training import TrainedRanking
from truegraph.tasks.recommend.chances import Chances
from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender
from truegraph.tasks.recommend.false_negatives import RemovedNegatives
from truegraph.tasks.recommend.fitted import FittedRecommender
from truegraph.tasks.recommend.scorers import HistoryScorer, Scorer, VectorScorer
from truegraph.tasks.saved_folder import ARRAYS, GRAPH, WEIGHTS, Files, SavedFolder, Write

_FOLDER = SavedFolder("truegraph recommender", "recommender", "recommender.json")
_MODEL, _CHANCES = "model ", "chances "  # before the names of their arrays
_NEXT = "next ranks"
_VECTORS = "vectors of users and items"  # beside the weights, in the same file

Estimator = TypeVar("Estimator", bound=FittedRecommender)


def save_recommender(estimator: FittedRecommender, folder: PathLike) -> None:
    """Write a fitted recommender."""
    data, scorer = estimator.interactions_, estimator._scorer
    document: dict[str, Any] = {
        "params": _plain_params(estimator),
        "settings": asdict(_settings(scorer)),
        "seed": estimator.seed_,
        "seconds": estimator.seconds_,
        "name": data.name,
        "users": ids_to_json(data.user_ids, "users"),
        "items": ids_to_json(data.item_ids, "items"),
        "notes": list(data.notes),
        "choice": _choice_facts(getattr(estimator, "choice_", None)),
    }
    arrays = {
        **csr_to_arrays(estimator._seen, "seen"),
        **_history_arrays(estimator),
        **_chances_arrays(estimator),
    }
    writers: dict[str, Write] = {ARRAYS: lambda path: write_npz(path, arrays)}
    if isinstance(scorer, VectorScorer):
        tensors = {name: tensor.numpy() for name, tensor in scorer.weights.items()}
        tensors[_VECTORS] = scorer.vectors
        writers[WEIGHTS] = lambda path: write_safetensors(path, tensors)
    else:
        assert isinstance(scorer, HistoryScorer)
        arrays |= {_MODEL + name: array for name, array in scorer.recommender.arrays().items()}
    if isinstance(estimator, BayesianRecommender):
        arrays |= csr_to_arrays(estimator.removed_negatives_.pairs, "removed")
        document["bayesian"] = _bayesian_facts(estimator)
        writers[GRAPH] = estimator.learned_graph_.save
    elif hasattr(estimator, "learned_graph_"):
        writers[GRAPH] = estimator.learned_graph_.save
    _FOLDER.save(folder, estimator, document, writers)


def _plain_params(estimator: FittedRecommender) -> dict[str, Any]:
    params = estimator.get_params(deep=False)
    options = params["options"]
    if is_dataclass(options) and not isinstance(options, type):
        options = asdict(options)
    params["options"] = None if options is None else dict(options)
    params["random_state"] = estimator.seed_
    if "fractions" in params:
        params["fractions"] = [float(fraction) for fraction in params["fractions"]]
    return params


def _settings(scorer: Scorer) -> Any:
    if isinstance(scorer, VectorScorer):
        return scorer.model.settings
    assert isinstance(scorer, HistoryScorer)
    return scorer.recommender.settings


def _history_arrays(estimator: FittedRecommender) -> dict[str, NDArray[Any]]:
    trained: TrainedRanking | None = estimator.history_
    if trained is None:
        return {}
    best = np.array([trained.best_epoch, trained.best_recall, *trained.start])
    curves = {name: getattr(trained, name) for name in ("losses", "recalls", "watched")}
    return curves | {"best": best}


def _chances_arrays(estimator: FittedRecommender) -> dict[str, NDArray[Any]]:
    ranks = estimator._next_ranks
    found = {} if ranks is None else {_NEXT: ranks}
    if estimator._chances is None:
        return found
    return found | {_CHANCES + name: array for name, array in vars(estimator._chances).items()}


def _choice_facts(choice: Choice | None) -> dict[str, Any] | None:
    if choice is None or not choice.tried:
        return None
    tried = [[asdict(settings), recall, ndcg] for settings, recall, ndcg in choice.tried]
    return {"recall": choice.recall, "ndcg": choice.ndcg, "tried": tried}


def _bayesian_facts(estimator: BayesianRecommender) -> dict[str, Any]:
    correlation = estimator.rank_correlation_
    return {
        "fraction": estimator.fraction_,
        "kept": estimator.removed_negatives_.kept,
        "rank_correlation": None if np.isnan(correlation) else correlation,
        "validation_recall": list(estimator.validation_recall_.items()),
    }


def load_recommender(kind: type[Estimator], folder: PathLike) -> Estimator:
    """Read a fitted recommender of a class."""
    return _FOLDER.load(kind, folder, _restored)


def _restored(kind: type[Estimator], document: dict[str, Any], files: Files) -> Estimator:
    arrays = read_npz(files[ARRAYS], artefact=True)
    params = document["params"]
    if "fractions" in params:
        params["fractions"] = tuple(params["fractions"])
    estimator = kind(**params)
    seen = _pairs(arrays, "seen", (len(document["users"]), len(document["items"])))
    estimator.seed_ = int(document["seed"])
    estimator.seconds_ = float(document["seconds"])
    estimator.interactions_ = _interactions(document, seen)
    estimator._seen = seen
    estimator._chances = _chances(arrays)
    estimator._next_ranks = None  # absent in folders of older versions
    if _NEXT in arrays:
        ranks = gate.whole_numbers(_NEXT, arrays[_NEXT], at_least=1)
        estimator._next_ranks = np.sort(ranks)
    counts = np.bincount(seen.indices, minlength=seen.shape[1])
    estimator._popularity = counts.astype(np.float32)
    settings = recommender_settings(params["model"], document["settings"])
    estimator._scorer = _scorer(params["model"], settings, seen, arrays, files)
    estimator.history_ = _history(arrays, estimator._scorer)
    if params["model"] in RANKING_MODELS:
        estimator.learning_rate_ = settings.learning_rate
    if isinstance(estimator, Recommender):
        estimator.choice_ = _choice(params["model"], settings, document["choice"])
        if GRAPH in files:
            estimator.learned_graph_ = LearnedGraph.load(files[GRAPH])
    if isinstance(estimator, BayesianRecommender):
        _restore_bayesian(estimator, document["bayesian"], arrays, files)
    return estimator


def _pairs(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, int]) -> csr_array:
    """Return a stored matrix of users and items, as large as the lists of their ids."""
    matrix = csr_from_arrays(arrays, name)
    gate.sparse_matrix(name, matrix, shape=shape)
    return matrix


def _interactions(document: dict[str, Any], seen: csr_array) -> Interactions:
    users = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
    return Interactions(
        users.astype(np.int64),
        seen.indices.astype(np.int64),
        ids_from_json(document["users"]),
        ids_from_json(document["items"]),
        name=str(document["name"]),
        notes=tuple(document["notes"]),
    )


def _scorer(
    name: str, settings: Any, seen: csr_array, arrays: dict[str, NDArray[Any]], files: Files
) -> Scorer:
    if name in RANKING_MODELS:
        tensors = read_safetensors(files[WEIGHTS])
        for key, tensor in tensors.items():
            gate.check_finite(key, tensor)
        vectors = gate.array(_VECTORS, tensors.pop(_VECTORS), (sum(seen.shape), None))
        weights = {key: torch.from_numpy(tensor) for key, tensor in tensors.items()}
        return VectorScorer(RANKING_MODELS[name](settings, seen), weights, vectors)
    own = {key.removeprefix(_MODEL): a for key, a in arrays.items() if key.startswith(_MODEL)}
    for key, array in own.items():
        gate.check_finite(key, array)
    restored = HISTORY_MODELS[name].restored(settings, own)
    width = restored.scores(csr_array(seen[:1])).shape[1]
    if width != seen.shape[1]:
        raise InputError(f"the model is of {width} items, not {seen.shape[1]}")
    return HistoryScorer(restored, seen)


def _chances(arrays: dict[str, NDArray[Any]]) -> Chances | None:
    own = {key.removeprefix(_CHANCES): a for key, a in arrays.items() if key.startswith(_CHANCES)}
    return Chances(**own) if own else None


def _choice(name: str, settings: Any, facts: dict[str, Any] | None) -> Choice | None:
    if name in RANKING_MODELS:
        return None
    if facts is None:
        return Choice(settings)
    tried = tuple((recommender_settings(name, own), r, n) for own, r, n in facts["tried"])
    return Choice(settings, float(facts["recall"]), float(facts["ndcg"]), tried)


def _history(arrays: dict[str, NDArray[Any]], scorer: Scorer) -> TrainedRanking | None:
    if "losses" not in arrays or not isinstance(scorer, VectorScorer):
        return None
    epoch, recall, *start = (float(value) for value in arrays["best"])
    curves = {name: arrays[name] for name in ("losses", "recalls", "watched")}
    began = (start[0], start[1])
    return TrainedRanking(scorer.weights, int(epoch), recall, start=began, **curves)


def _restore_bayesian(
    estimator: BayesianRecommender,
    facts: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    files: Files,
) -> None:
    shape = estimator._seen.shape
    graph = LearnedGraph.load(files[GRAPH])
    if graph.n_nodes != sum(shape) or graph.n_users != shape[0]:
        raise InputError(f"the learned graph is of {graph.n_nodes} users and items, not {shape}")
    estimator.learned_graph_ = graph
    pairs = _pairs(arrays, "removed", shape)
    estimator.fraction_ = float(facts["fraction"])
    estimator.removed_negatives_ = RemovedNegatives(pairs, estimator.fraction_, int(facts["kept"]))
    correlation = facts["rank_correlation"]
    estimator.rank_correlation_ = float("nan") if correlation is None else float(correlation)
    estimator.validation_recall_ = {float(f): float(r) for f, r in facts["validation_recall"]}
