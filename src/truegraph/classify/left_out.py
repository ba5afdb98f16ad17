"""Labels that are left out in turn, and what predictions without them say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.classify.problem import Problem
from truegraph.errors import InputError
from truegraph.saving import savable

_REPEATS, _FOLDS = 4, 10  # as often as is usual in cross-validation; closed forms cost little
_PARTS = 3  # in which labels are left out of the training of networks, which costs more
_MOST_LABELS = 2000  # that are left out in turn; more would cost their square and tell no more

Nodes = NDArray[np.int64]
Floats = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """The labels of one fit, dealt into folds that are left out in turn.

    Nodes that are tested are predicted without their own labels: training nodes that are ever left
    out, then nodes whose labels are set aside to choose by.
    """

    nodes: Nodes  # (n,)
    labels: Nodes  # (n,)
    classes: int
    seed: int
    folds: Nodes  # (repeats, n), -1 for the only node of a class, which is never left out
    aside: Nodes  # (v,), nodes that are not trained on
    aside_labels: Nodes  # (v,)
    weights: Floats | None = None  # (n,), one on average; None: labels count alike

    @property
    def tested_nodes(self) -> Nodes:
        """Nodes that are tested (m,)."""
        return np.concatenate([self.nodes[self.folds[0] >= 0], self.aside])

    @property
    def tested_labels(self) -> Nodes:
        """Their labels (m,)."""
        return np.concatenate([self.labels[self.folds[0] >= 0], self.aside_labels])

    @property
    def tested_weights(self) -> Floats:
        """How much each of them counts (m,)."""
        return np.concatenate([self.counts[self.folds[0] >= 0], np.ones(len(self.aside))])

    @property
    def counts(self) -> Floats:
        """How much each label counts (n,)."""
        return np.ones(len(self.nodes)) if self.weights is None else self.weights

    @property
    def class_counts(self) -> Floats:
        """Weight of the labels of each class (C,)."""
        return np.bincount(self.labels, self.counts, self.classes).astype(np.float64)

    def of_tested(self, left_out: NDArray[Any], scores: NDArray[Any]) -> Floats:
        """Return the scores (repeats, m, C) of tested nodes.

        Parts are those of training nodes (repeats, n, C) and of all nodes (N, C).
        """
        rows = left_out[:, self.folds[0] >= 0]
        if not len(self.aside):
            return rows
        others = np.broadcast_to(scores[self.aside], (len(rows), len(self.aside), self.classes))
        return np.concatenate([rows, others], axis=1)

    def _check_saved(self) -> None:
        fits = self.nodes.shape == self.labels.shape == self.counts.shape
        if not fits or self.folds.shape[1:] != self.nodes.shape:
            raise InputError("training labels do not fit their nodes.")
        if self.labels.min() < 0 or self.labels.max() >= self.classes:
            raise InputError("training labels do not fit their classes.")


def training_labels(problem: Problem) -> TrainingLabels:
    """Return the training labels in folds; of very many a part is drawn."""
    labels, train, seed = problem.labels, problem.train, problem.seed
    if len(train) > _MOST_LABELS:
        train = _part_of_classes(labels, train, seed)
    own, aside = labels[train], problem.validation[labels[problem.validation] >= 0]
    weights = None if problem.weights is None else problem.weights[train]
    folds = deal_folds(own, seed)
    return TrainingLabels(train, own, problem.classes, seed, folds, aside, labels[aside], weights)


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
    """Deal n labelled nodes into folds, class by class, several times: (repeats, n)."""
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
    """Deal labelled nodes into at most `_PARTS` parts, class by class."""
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
    """Labelled nodes, predicted without their own labels."""

    nodes: NDArray[np.int64]  # (m,)
    labels: NDArray[np.int64]  # (m,)
    probabilities: Floats  # (m, C)
    weights: Floats | None = None  # (m,)

    @property
    def counts(self) -> Floats:
        """How much each label counts, 1 on average: (m,)."""
        if self.weights is None or not len(self.nodes):
            return np.ones(len(self.nodes))
        return self.weights / max(self.weights.mean(), 1e-30)

    def _check_saved(self) -> None:
        count, classes = self.probabilities.shape
        gate.indices("labels", self.labels, classes, what="class")
        if not self.nodes.shape == self.labels.shape == self.counts.shape == (count,):
            raise InputError("left-out labels do not fit their probabilities.")
        if self.nodes.min(initial=0) < 0 or self.counts.min(initial=0.0) < 0.0:
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
