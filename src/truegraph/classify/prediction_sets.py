r"""Sets of classes that hold a node's true class with an asked probability.

The score of a class at a node is one minus its probability, and zero for the most probable one,
which belongs to every set. A set holds the classes whose scores are at most a threshold t.

`split_threshold`: from labels that were set aside, t is the ceil((m + 1) coverage)-th smallest of
the m true classes' scores. If these nodes and those to be predicted are exchangeable, sets hold
the true class with at least the asked probability (split conformal prediction).

`cross_threshold`: from training labels, each predicted without itself. Few of them do not say
where a high quantile lies: of 15 labels 95 % is more than all. So the quantile is that of a mixture
of the left-out scores with what the probabilities themselves say about unlabelled nodes, in which
class c of node v is the true one with probability p(v, c), counted like `PSEUDO_LABELS` labels. One
more label of infinite score stands for the node to be predicted, and up to five more for the doubt
in probabilities whose temperatures rest on n labels only: 500 / (n + 100). With few labels the sets
rest on the calibration of the probabilities, with many on the labels. Training labels are often
drawn evenly over the classes where the classes are not: each counts by how frequent its class is
thought to be among unlabelled nodes, relative to its frequency among the labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.classify.left_out import LeftOutLabels
from truegraph.errors import InputError
from truegraph.learning.inputs import check_number

FROM_LEFT_OUT = "training labels, left out in turn"
FROM_CALIBRATION = "labels set aside"
# lab/choose/auto_sets.py
PSEUDO_LABELS = 100.0
_DOUBT, _AT_LEAST = 500.0, 100.0  # labels of infinite score: 1 + 500 / (n + 100)
_MOST_NODES = 20_000  # unlabelled ones that are asked; more would tell no more

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """One set of classes per node."""

    members: NDArray[np.bool_]  # (n, C), whether each class is in the set of each node
    classes: NDArray[Any]  # (C,), names of the classes
    coverage: float  # asked share of the nodes whose true class is in their set
    thresholds: NDArray[np.float64]  # (C,), least probability with which a class is in a set
    source: str  # which labels the thresholds come from

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of classes in each set, shape (n,)."""
        found: NDArray[np.int64] = self.members.sum(axis=1)
        return found

    def lists(self) -> list[list[Any]]:
        """Return the names of the classes of every set."""
        return [self.classes[row].tolist() for row in self.members]

    def __len__(self) -> int:
        return len(self.members)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.members, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return (
            f"PredictionSets({len(self)} nodes, coverage {self.coverage:g}, mean size "
            f"{self.sizes.mean() if len(self) else 0.0:.2f}, from {self.source})"
        )


def check_coverage(coverage: Any) -> float:
    """Return the asked coverage after checking that it lies between 0 and 1."""
    is_number = isinstance(coverage, int | float | np.number) and not isinstance(coverage, bool)
    if not is_number or not 0.0 < coverage < 1.0:
        raise InputError(
            f"coverage={coverage!r} must be a number between 0 and 1; 0.9 asks for sets that hold "
            "the true class of nine nodes in ten."
        )
    return float(coverage)


def check_smoothing(smoothing: Any, is_possible: bool) -> float:
    """Return the share of the neighbours after checking it; zero alone is always possible."""
    found = check_number("smoothing", smoothing, at_least=0.0)
    if found > 1.0:
        raise InputError(f"smoothing={smoothing!r} must be at most 1.")
    if found > 0.0 and not is_possible:
        raise InputError(
            f"smoothing={smoothing!r} needs calibration=(nodes, labels) and fitted nodes: "
            "predictions of a training node's neighbours know its label; use smoothing=0."
        )
    return found


def check_calibration(
    calibration: Any, classes: NDArray[Any], train: NDArray[np.int64], n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return nodes that were set aside and the numbers of their classes, checked."""
    if not isinstance(calibration, tuple | list) or len(calibration) != 2:
        raise InputError("calibration must be a pair (nodes, labels) of labels set aside.")
    nodes = gate.indices("nodes of calibration", np.atleast_1d(np.asarray(calibration[0])), n_nodes)
    labels = np.atleast_1d(np.asarray(calibration[1]))
    if labels.shape != nodes.shape or not len(nodes):
        raise InputError(
            f"calibration has {len(nodes)} nodes and labels of shape {labels.shape}; give one "
            "label per node, and at least one."
        )
    if len(np.unique(nodes)) < len(nodes):
        raise InputError("calibration names a node twice; give each once.")
    seen = nodes[np.isin(nodes, train)]
    if len(seen):
        raise InputError(
            f"calibration names node {seen[0]}, whose label was used for training; set labels "
            "aside before the fit: give -1 for them in y."
        )
    known = {name: number for number, name in enumerate(classes.tolist())}
    strange = [label for label in labels.tolist() if label not in known]
    if strange:
        raise InputError(
            f"labels of calibration hold {strange[0]!r}, which no training node has; remove it."
        )
    return nodes, np.array([known[label] for label in labels.tolist()], dtype=np.int64)


def sets_from_left_out(
    left_out: LeftOutLabels,
    probabilities: NDArray[np.floating],
    unlabelled: NDArray[np.floating],
    classes: NDArray[Any],
    coverage: float,
    class_conditional: bool = False,
) -> PredictionSets:
    """Return the sets of nodes with probabilities (n, C), thresholds from left-out labels.

    `unlabelled` are the class probabilities (m, C) of all unlabelled nodes.
    """
    asked: Iterable[int | None] = range(len(classes)) if class_conditional else (None,)
    found = [cross_threshold(left_out, unlabelled, coverage, only) for only in asked]
    return _sets(set_scores(probabilities), np.array(found), classes, coverage, FROM_LEFT_OUT)


def sets_from_calibration(
    scores: Scores,
    calibration: tuple[Scores, NDArray[np.int64]],
    classes: NDArray[Any],
    coverage: float,
    class_conditional: bool = False,
) -> PredictionSets:
    """Return the sets of nodes with scores (n, C), thresholds from labels set aside.

    Of these come the scores (m, C) and the classes (m,).
    """
    theirs, labels = calibration
    own = theirs[np.arange(len(labels)), labels]
    asked = [labels == one for one in range(len(classes))] if class_conditional else [labels >= 0]
    found = np.array([split_threshold(own[part], coverage) for part in asked])
    return _sets(scores, found, classes, coverage, FROM_CALIBRATION)


def _sets(
    scores: Scores, thresholds: Scores, classes: NDArray[Any], coverage: float, source: str
) -> PredictionSets:
    limits = np.broadcast_to(thresholds, len(classes))
    least = np.maximum(0.0, 1.0 - limits)
    return PredictionSets(scores <= limits, classes, coverage, least, source)


def set_scores(
    probabilities: NDArray[np.floating], graph: csr_array | None = None, smoothing: float = 0.0
) -> Scores:
    """Return the score of every class, small ones are believed: (n, C)."""
    found: Scores = 1.0 - np.asarray(probabilities, dtype=np.float64)
    if graph is not None and smoothing > 0.0:
        weight = np.asarray(graph.sum(axis=1)).ravel()[:, None]
        around = (graph @ found) / np.where(weight > 0.0, weight, 1.0)
        found = found + smoothing * np.where(weight > 0.0, around - found, 0.0)
    found[np.arange(len(found)), probabilities.argmax(axis=1)] = 0.0
    return found


def split_threshold(scores: Scores, coverage: float) -> float:
    """Return the threshold from the scores (m,) of the true classes of nodes set aside."""
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    if rank > len(scores):
        least = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        raise InputError(
            f"coverage={coverage:g} needs at least {least} calibration labels, for each class if "
            f"class_conditional, and there are {len(scores)}; give more, or lower coverage."
        )
    return float(np.sort(scores)[rank - 1])


def cross_threshold(
    left_out: LeftOutLabels,
    probabilities: NDArray[np.floating],
    coverage: float,
    only: int | None = None,
) -> float:
    """Return the threshold from left-out labels and the probabilities of unlabelled nodes."""
    some = probabilities[:: max(1, -(-len(probabilities) // _MOST_NODES))]
    chances, believed = np.asarray(some, dtype=np.float64), set_scores(some)
    labels = left_out.labels
    own = set_scores(left_out.probabilities)[np.arange(len(labels)), labels]
    weights = _class_weights(labels, chances)
    if only is not None:
        own, weights = own[labels == only], weights[labels == only]
        chances, believed = chances[:, only], believed[:, only]
    if weights.sum() > 0.0:
        weights = weights * len(own) / weights.sum()
    scores = np.concatenate([own, believed.ravel()])
    pseudo = chances.ravel() * (PSEUDO_LABELS / max(chances.sum(), 1e-30))
    beyond = 1.0 + _DOUBT / (len(labels) + _AT_LEAST)
    return _weighted_quantile(scores, np.concatenate([weights, pseudo]), coverage, beyond)


def _class_weights(labels: NDArray[np.int64], chances: Scores) -> Scores:
    """Return how much each label counts, so that classes are as frequent as they are thought."""
    classes = chances.shape[1]
    if not len(labels) or not len(chances):
        return np.ones(len(labels))
    given = np.bincount(labels, minlength=classes)[labels] / len(labels)
    found: Scores = chances.mean(axis=0)[labels] / given
    return found


def _weighted_quantile(scores: Scores, weights: Scores, coverage: float, beyond: float) -> float:
    """Return the least score at or below which a share of the weight lies, `beyond` at infinity."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, coverage * (weights.sum() + beyond) - 1e-9))
    return float(scores[order[place]]) if place < len(scores) else math.inf
