"""The classifier of a view, and what it predicts for training nodes that it has not seen.

Both kinds are linear in the labels, so that predictions without a fold of them are exact without
training again: kernel ridge regression by the block formula, spreading of labels by leaving their
columns out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.tasks.classify.committee.features import Matrix
from truegraph.tasks.classify.committee.graphs import pagerank

PENALTIES = (1.0, 10.0)
_INTERCEPT = 10.0  # added to the kernel: a constant of prior variance 10
_REPEATS = 4
_FOLDS = 10
_COLUMNS = 64  # labels that are spread at once

Scores = NDArray[np.float64]


def deal_folds(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Deal n labelled nodes into folds, class by class, several times.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each.
    seed : int

    Returns
    -------
    ndarray of int64, shape (repeats, n)
        Fold of each node; -1 for the only node of a class, which is never left out.
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


def one_hot(labels: NDArray[np.int64], classes: int) -> Scores:
    """Return the labels as rows of zeros and a one, minus 1 / C: (n, C)."""
    found: Scores = np.eye(classes)[labels] - 1.0 / classes
    return found


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear classifier of a view's table.

    Attributes
    ----------
    weights : ndarray of shape (d, C)
    intercept : ndarray of shape (C,)
    """

    weights: Scores
    intercept: Scores

    def scores(self, table: Any) -> Matrix:
        """Return the scores (N', C) of the nodes in a table (N', d)."""
        with threadpool_limits(1):
            found = table @ self.weights.astype(np.float32)
        return np.asarray(found + self.intercept, dtype=np.float32)


def fit_linear(
    rows: Any, labels: NDArray[np.int64], classes: int, folds: NDArray[np.int64], penalty: float
) -> tuple[Linear, Scores]:
    """Fit ridge regression to labels, and predict each without its fold.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        The table's rows of the labelled nodes.
    labels : ndarray of shape (n,)
    classes : int
    folds : ndarray of shape (repeats, n)
    penalty : float

    Returns
    -------
    classifier : Linear
    left_out : ndarray of shape (repeats, n, C)
        Zero where a node is never left out.
    """
    wanted = one_hot(labels, classes)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    dense = np.asarray(dense, dtype=np.float64)
    with threadpool_limits(1):
        kernel = dense @ dense.T + _INTERCEPT
        inverse = np.linalg.inv(kernel + penalty * np.eye(len(labels)))
        dual = inverse @ wanted
        linear = Linear(dense.T @ dual, _INTERCEPT * dual.sum(axis=0))
        left_out = np.zeros((len(folds), *wanted.shape))
        for found, row in zip(left_out, folds, strict=True):
            for fold in range(row.max() + 1):
                part = np.flatnonzero(row == fold)
                if len(part):
                    block = inverse[np.ix_(part, part)]
                    found[part] = wanted[part] - np.linalg.solve(block, dual[part])
    return linear, left_out


def spread_labels(
    operator: csr_array,
    train: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    restart: float,
    steps: int,
) -> Matrix:
    """Return the share (N', C) of each class in what reaches a node, minus 1 / C."""
    start = np.zeros((operator.shape[0], classes), dtype=np.float32)
    start[train, labels] = 1.0
    return _shares(pagerank(operator, start, restart, steps)).astype(np.float32)


def spread_left_out(
    operator: csr_array,
    train: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    folds: NDArray[np.int64],
    restart: float,
    steps: int,
) -> Scores:
    """Return the same for training nodes without the labels of their fold: (repeats, n, C)."""
    count = len(train)
    influence = np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        some = np.arange(first, min(first + _COLUMNS, count))
        start = np.zeros((operator.shape[0], len(some)), dtype=np.float32)
        start[train[some], some - first] = 1.0
        influence[:, some] = pagerank(operator, start, restart, steps)[train]
    pure = np.eye(classes)[labels]
    found = np.empty((len(folds), count, classes))
    for left_out, row in zip(found, folds, strict=True):
        others = row[:, None] != row
        left_out[:] = _shares((influence * others) @ pure)
    return found


def _shares(mass: NDArray[np.floating]) -> NDArray[np.floating]:
    total = mass.sum(axis=1, keepdims=True)
    uniform = np.full_like(mass, 1.0 / mass.shape[1])
    return np.divide(mass, total, out=uniform, where=total > 1e-30) - 1.0 / mass.shape[1]
