"""Sets of classes that hold a node's true class with an asked probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning.inputs import check_number
from truegraph.tasks.classify.trust.left_out import LeftOutLabels
from truegraph.tasks.classify.trust.thresholds import (
    Scores,
    cross_threshold,
    set_scores,
    split_threshold,
)

FROM_LEFT_OUT = "training labels, left out in turn"
FROM_CALIBRATION = "labels set aside"


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """One set of classes per node.

    Attributes
    ----------
    members : ndarray of bool, shape (n, C)
        Whether each class belongs to the set of each node; the most probable class always does.
    classes : ndarray of shape (C,)
        Names of the classes.
    coverage : float
        Asked share of the nodes whose true class is in their set.
    thresholds : ndarray of shape (C,)
        Least probability, per class, with which a class belongs to a set; all alike unless the
        sets are class-conditional. Of smoothed scores it is the threshold of those.
    source : str
        Which labels the thresholds come from.
    """

    members: NDArray[np.bool_]
    classes: NDArray[Any]
    coverage: float
    thresholds: NDArray[np.float64]
    source: str

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
    try:
        found = float(coverage)
    except (TypeError, ValueError):
        found = np.nan
    if isinstance(coverage, bool) or not 0.0 < found < 1.0:
        raise InputError(
            f"coverage={coverage!r} must be a number between 0 and 1; 0.9 asks for sets that hold "
            "the true class of nine nodes in ten."
        )
    return found


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
    """Return nodes that were set aside and the numbers of their classes, checked.

    Parameters
    ----------
    calibration : pair of array-likes of shape (m,)
        Nodes and their labels.
    classes : ndarray of shape (C,)
        Sorted names of the classes.
    train : ndarray of int64
        Nodes whose labels were used for training.
    n_nodes : int
    """
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
    """Return the sets of nodes with thresholds from left-out training labels.

    Parameters
    ----------
    left_out : LeftOutLabels
    probabilities : ndarray of shape (n, C)
        Of the nodes that sets are asked for.
    unlabelled : ndarray of shape (m, C)
        Class probabilities of all unlabelled nodes.
    classes : ndarray of shape (C,)
    coverage : float
    class_conditional : bool
        Whether each class has a threshold of its own.
    """
    asked: Iterable[int | None] = range(len(classes)) if class_conditional else (None,)
    found = [cross_threshold(left_out, unlabelled, coverage, only) for only in asked]
    scores = set_scores(probabilities)
    return _sets(scores, np.array(found), classes, coverage, FROM_LEFT_OUT)


def sets_from_calibration(
    scores: Scores,
    calibration: tuple[Scores, NDArray[np.int64]],
    classes: NDArray[Any],
    coverage: float,
    class_conditional: bool = False,
) -> PredictionSets:
    """Return the sets of nodes with scores (n, C) with thresholds from labels set aside.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        Of the nodes that sets are asked for.
    calibration : pair of ndarrays of shape (m, C) and (m,)
        Scores and classes of the nodes whose labels were set aside.
    classes, coverage, class_conditional
        As in `sets_from_left_out`.
    """
    theirs, labels = calibration
    own = theirs[np.arange(len(labels)), labels]
    parts = [own]
    if class_conditional:
        parts = [own[labels == number] for number in range(len(classes))]
    found = np.array([split_threshold(part, coverage) for part in parts])
    return _sets(scores, found, classes, coverage, FROM_CALIBRATION)


def _sets(
    scores: Scores, thresholds: Scores, classes: NDArray[Any], coverage: float, source: str
) -> PredictionSets:
    limits = np.broadcast_to(thresholds, len(classes))
    return PredictionSets(
        scores <= limits, classes, coverage, np.maximum(0.0, 1.0 - limits), source
    )
