"""What each view says in one trial: its classifier, its sharpness, its left-out predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.tasks.classify.committee.classifiers import (
    PENALTIES,
    Linear,
    deal_folds,
    fit_linear,
    spread_labels,
    spread_left_out,
)
from truegraph.tasks.classify.committee.features import Matrix
from truegraph.tasks.classify.committee.forest import Forest, forest_left_out, grow_forest
from truegraph.tasks.classify.committee.views import SPREADING, Views
from truegraph.tasks.classify.committee.weights import Densities, Sharpness, fit_sharpness

CLASS_SHARES = "class shares"
TREES = "trees"
_MOST_LABELS = 2000  # that are left out in turn; more would cost their square and tell no more


@dataclass(frozen=True, eq=False)
class Trial:
    """The labels of one trial.

    Attributes
    ----------
    train : ndarray of int64, shape (n,)
    labels : ndarray of int64, shape (n,)
        Classes of the training nodes.
    classes : int
    seed : int
    folds : ndarray of int64, shape (repeats, n)
    """

    train: NDArray[np.int64]
    labels: NDArray[np.int64]
    classes: int
    seed: int
    folds: NDArray[np.int64]


def open_trial(
    labels: NDArray[np.int64], train: NDArray[np.int64], seed: int, classes: int
) -> Trial:
    """Return a trial; of very many labels a part is drawn.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        Only those of `train` are read.
    """
    if len(train) > _MOST_LABELS:
        train = _drawn(labels, train, seed)
    own = labels[train]
    return Trial(train, own, classes, seed, deal_folds(own, seed))


def _drawn(labels: NDArray[np.int64], train: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Draw training nodes, of each class in proportion but at least one."""
    generator = np.random.default_rng([seed, _MOST_LABELS])
    share = _MOST_LABELS / len(train)
    parts = []
    for label in np.unique(labels[train]):
        members = train[labels[train] == label]
        count = max(1, round(share * len(members)))
        parts.append(generator.choice(members, count, replace=False))
    return np.sort(np.concatenate(parts))


@dataclass(frozen=True, eq=False)
class Opinion:
    """What one view says in one trial.

    Attributes
    ----------
    name : str
        Of the view.
    classifier : Linear, Forest or None
        None where labels are spread.
    sharpness : Sharpness
    left_out : ndarray of shape (repeats, n, C)
        Scores of the training nodes by classifiers that have not seen the labels of their fold.
    densities : ndarray of shape (m,)
        Log density of each left-out label.
    scores : ndarray of float32, shape (N, C)
    """

    name: str
    classifier: Linear | Forest | None
    sharpness: Sharpness
    left_out: NDArray[np.float64]
    densities: Densities
    scores: Matrix

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities, shape (N, C)."""
        return self.sharpness.probabilities(self.scores)


def opinions_on(name: str, views: Views, trials: list[Trial]) -> list[Opinion]:
    """Return what a view says in each trial."""
    if name in SPREADING:
        operator = views.operator(name)
        restart, steps = SPREADING[name]
        found = []
        for one in trials:
            given = (operator, one.train, one.labels, one.classes)
            left_out = spread_left_out(*given, one.folds, restart, steps)
            sharpness, densities = fit_sharpness(left_out, one.labels, one.folds)
            scores = spread_labels(*given, restart, steps)
            found.append(Opinion(name, None, sharpness, left_out, densities, scores))
        return found
    table = views.table(name)
    return [_linear_opinion(name, table, one) for one in trials]


def _linear_opinion(name: str, table: Matrix, trial: Trial) -> Opinion:
    """Return the opinion with the penalty under which left-out labels fare best."""
    rows = table[trial.train]
    found = []
    for penalty in PENALTIES:
        linear, left_out = fit_linear(rows, trial.labels, trial.classes, trial.folds, penalty)
        sharpness, densities = fit_sharpness(left_out, trial.labels, trial.folds)
        found.append((float(densities.sum()), linear, sharpness, left_out, densities))
    _, linear, sharpness, left_out, densities = max(found, key=lambda one: one[0])
    return Opinion(name, linear, sharpness, left_out, densities, linear.scores(table))


def opinion_of_trees(views: Views, trial: Trial) -> Opinion:
    """Return what a random forest of the features says."""
    table = views.table(TREES)
    given = (table[trial.train], trial.labels, trial.classes)
    left_out = forest_left_out(*given, trial.folds[0], trial.seed)[None]
    sharpness, densities = fit_sharpness(left_out, trial.labels, trial.folds[:1])
    forest = grow_forest(*given, trial.seed)
    return Opinion(TREES, forest, sharpness, left_out, densities, forest.scores(table))


def class_shares(trial: Trial, nodes: int) -> Opinion:
    """Return what is known without looking at a node: how frequent the classes are."""
    counts = np.bincount(trial.labels, minlength=trial.classes) + 1.0
    logs = np.log(counts / counts.sum())
    seen = trial.folds[0] >= 0
    left_out = np.zeros((*trial.folds.shape, trial.classes))
    for found, row in zip(left_out, trial.folds, strict=True):
        for fold in range(row.max() + 1):
            out = row == fold
            rest = counts - np.bincount(trial.labels[out], minlength=trial.classes)
            found[out] = np.log(rest / rest.sum())
    own = left_out[:, np.arange(len(trial.labels)), trial.labels]
    scores = np.broadcast_to(logs.astype(np.float32), (nodes, trial.classes))
    return Opinion(CLASS_SHARES, None, Sharpness(1.0), left_out, own[:, seen].mean(axis=0), scores)
