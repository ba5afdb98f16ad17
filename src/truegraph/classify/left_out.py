"""Labels that are left out in turn, and what predictions without them say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.errors import InputError
from truegraph.saving import savable

_REPEATS = 4
_FOLDS = 10
_PARTS = 3  # in which labels are left out of the training of networks
_MOST_LABELS = 2000  # that are left out in turn; more would cost their square and tell no more

Nodes = NDArray[np.int64]
Floats = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """The labels of one fit, dealt into folds that are left out in turn.

    Attributes
    ----------
    nodes : ndarray of int64, shape (n,)
    labels : ndarray of int64, shape (n,)
        Their classes.
    classes : int
        Number C of classes.
    seed : int
    folds : ndarray of int64, shape (repeats, n)
        Fold of each node; -1 for the only node of a class, which is never left out.
    """

    nodes: Nodes
    labels: Nodes
    classes: int
    seed: int
    folds: NDArray[np.int64]

    def _check_saved(self) -> None:
        fits = self.nodes.shape == self.labels.shape == (self.folds.shape[-1],)
        if not fits or self.labels.min() < 0 or self.labels.max() >= self.classes:
            raise InputError("training labels do not fit their nodes or classes.")


def training_labels(labels: Nodes, train: Nodes, seed: int, classes: int) -> TrainingLabels:
    """Return the training labels in folds; of very many a part is drawn.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        Only those of `train` are read.
    """
    if len(train) > _MOST_LABELS:
        train = _part_of_classes(labels, train, seed)
    own = labels[train]
    return TrainingLabels(train, own, classes, seed, deal_folds(own, seed))


def _part_of_classes(labels: Nodes, train: Nodes, seed: int) -> Nodes:
    """Draw training nodes, of each class in proportion but at least one."""
    generator = np.random.default_rng([seed, _MOST_LABELS])
    share = _MOST_LABELS / len(train)
    parts = []
    for label in np.unique(labels[train]):
        members = train[labels[train] == label]
        count = max(1, round(share * len(members)))
        parts.append(generator.choice(members, count, replace=False))
    return np.sort(np.concatenate(parts))


def deal_folds(labels: Nodes, seed: int) -> NDArray[np.int64]:
    """Deal n labelled nodes into folds, class by class, several times: (repeats, n).

    The only node of a class gets -1.
    """
    generator = np.random.default_rng([seed, _FOLDS])
    counts = np.bincount(labels)
    several = counts[counts > 1]
    found = np.full((_REPEATS, len(labels)), -1, dtype=np.int64)
    if not len(several):
        return found
    folds = int(min(_FOLDS, max(2, np.median(several))))
    for row in found:
        for label in np.flatnonzero(counts > 1):
            members = generator.permutation(np.flatnonzero(labels == label))
            used = min(folds, len(members))
            first = int(generator.integers(folds))
            row[members] = (first + np.arange(len(members)) % used) % folds
    return found


def balanced_folds(labels: NDArray[np.int64], nodes: Nodes, seed: int) -> list[Nodes]:
    """Deal labelled nodes into at most `_PARTS` parts, class by class.

    Every class keeps at least one node outside every part; a class with a single node is never
    left out. Empty parts are not returned.
    """
    generator = np.random.default_rng([seed, _PARTS])
    parts: list[list[int]] = [[] for _ in range(_PARTS)]
    for label in np.unique(labels[nodes]):
        members = generator.permutation(nodes[labels[nodes] == label])
        if len(members) == 1:
            continue
        for place, node in enumerate(members):
            parts[place % min(_PARTS, len(members))].append(int(node))
    return [np.sort(np.array(part, dtype=np.int64)) for part in parts if part]


@savable
@dataclass(frozen=True, eq=False)
class LeftOutLabels:
    """Labelled nodes, predicted without their own labels.

    Attributes
    ----------
    nodes : ndarray of int64, shape (m,)
    labels : ndarray of int64, shape (m,)
        Their classes.
    probabilities : ndarray of float64, shape (m, C)
        Class probabilities by classifiers that have not seen these labels.
    weights : ndarray of float64, shape (m,), or None
        How much each label counts; None if all count alike.
    """

    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    probabilities: Floats
    weights: Floats | None = None

    @property
    def counts(self) -> Floats:
        """How much each label counts, 1 on average: (m,)."""
        if self.weights is None or not len(self.nodes):
            return np.ones(len(self.nodes))
        return self.weights / max(self.weights.mean(), 1e-30)

    def _check_saved(self) -> None:
        count, classes = self.probabilities.shape
        weights = np.ones(count) if self.weights is None else self.weights
        fits = self.nodes.shape == self.labels.shape == weights.shape == (count,)
        if not fits or self.labels.min(initial=0) < 0 or self.labels.max(initial=0) >= classes:
            raise InputError("left-out labels do not fit their probabilities.")
        if self.nodes.min(initial=0) < 0 or weights.min(initial=0.0) < 0.0:
            raise InputError("left-out labels have negative nodes or weights.")


def all_wrong(count: int) -> str:
    """Return the warning for left-out labels that are all predicted wrongly."""
    return (
        f"all {count} labelled nodes that were left out in turn were predicted wrongly: the labels "
        "do not follow from the features and the graph. Check that labels and rows belong together"
    )


def standard_errors(differences: Floats) -> float:
    """Return how many standard errors the mean of differences (m,) lies from zero."""
    if len(differences) < 2:
        return 0.0
    error = differences.std() / np.sqrt(len(differences))
    return float(differences.mean() / max(error, 1e-9))
