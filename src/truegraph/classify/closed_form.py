"""Ridge regression and spreading of labels, with exact predictions of what is left out.

Both are linear in the labels, so that predictions without a fold of them are exact without
training again: kernel ridge regression by the block formula, spreading of labels by leaving their
columns out. `weights` say how much each label counts; None: all alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.feature_space import Matrix
from truegraph.classify.point_graphs import pagerank
from truegraph.runtime.threads import one_blas_thread

_INTERCEPT = 10.0  # added to the kernel: a constant of prior variance 10
_COLUMNS = 64  # labels that are spread at once

Scores = NDArray[np.float64]
Nodes = NDArray[np.int64]


def linear_scores(table: Any, coefficients: Scores, intercept: Scores) -> Matrix:
    """Return the scores (N', C) of rows (N', d) by coefficients (d, C) and intercept (C,)."""
    with one_blas_thread():
        found = table @ coefficients.astype(np.float32)
    return np.asarray(found + intercept, dtype=np.float32)


def one_hot(labels: Nodes, classes: int) -> Scores:
    """Return the labels as rows of zeros and a one, minus 1 / C: (n, C)."""
    found: Scores = np.eye(classes)[labels] - 1.0 / classes
    return found


def fit_ridge(
    rows: Any, wanted: Scores, folds: Nodes, penalty: float, weights: Scores | None = None
) -> tuple[Scores, Scores, Scores]:
    """Fit ridge regression of (n, C) on (n, d), and predict each row without its fold.

    Returns the coefficients (d, C), the intercept (C,), and for folds (repeats, n) predictions
    (repeats, n, C), zero where a row is never left out.
    """
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    dense = np.asarray(dense, dtype=np.float64)
    with one_blas_thread():
        kernel = dense @ dense.T + _INTERCEPT
        diagonal = np.ones(len(wanted)) if weights is None else 1.0 / weights
        inverse = np.linalg.inv(kernel + penalty * np.diag(diagonal))
        dual = inverse @ wanted
        left_out = np.zeros((len(folds), *wanted.shape))
        for found, row in zip(left_out, folds, strict=True):
            for fold in range(row.max() + 1):
                part = np.flatnonzero(row == fold)
                if len(part):
                    block = inverse[np.ix_(part, part)]
                    found[part] = wanted[part] - np.linalg.solve(block, dual[part])
        return dense.T @ dual, _INTERCEPT * dual.sum(axis=0), left_out


def spread_labels(
    operator: csr_array,
    train: Nodes,
    pure: Scores,
    restart: float,
    steps: int,
) -> Matrix:
    """Return the share (N', C) of each class in what reaches a node, minus 1 / C.

    `pure` (n, C) has the weight of each label in the column of its class.
    """
    start = np.zeros((operator.shape[0], pure.shape[1]), dtype=np.float32)
    start[train] = pure
    return _shares(pagerank(operator, start, restart, steps)).astype(np.float32)


def spread_left_out(
    operator: csr_array, train: Nodes, pure: Scores, folds: Nodes, restart: float, steps: int
) -> Scores:
    """Return the same for training nodes without the labels of their fold: (repeats, n, C)."""
    influence = influences(operator, train, restart, steps)
    found = np.empty((len(folds), *pure.shape))
    for left_out, row in zip(found, folds, strict=True):
        left_out[:] = _shares((influence * (row[:, None] != row)) @ pure)
    return found


def spread_values(
    operator: csr_array, train: Nodes, values: Scores, weights: Scores, restart: float, steps: int
) -> Matrix:
    """Return the mean (N',) of the values (n,) that reach a node; 0 where none does."""
    start = np.zeros((operator.shape[0], 2), dtype=np.float32)
    start[train] = np.column_stack([weights * values, weights])
    total, mass = pagerank(operator, start, restart, steps).T
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 1e-30)


def values_left_out(
    operator: csr_array, train: Nodes, values: Scores, weights: Scores, restart: float, steps: int
) -> Scores:
    """Return the same for labelled nodes without their own value: (n,)."""
    influence = influences(operator, train, restart, steps)
    np.fill_diagonal(influence, 0.0)
    mass = influence @ weights
    found = influence @ (weights * values)
    return np.divide(found, mass, out=np.zeros_like(mass), where=mass > 1e-30)


def influences(operator: csr_array, train: Nodes, restart: float, steps: int) -> Scores:
    """Return how much of what each labelled node spreads reaches each other: (n, n)."""
    count = len(train)
    found = np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        some = np.arange(first, min(first + _COLUMNS, count))
        start = np.zeros((operator.shape[0], len(some)), dtype=np.float32)
        start[train[some], some - first] = 1.0
        found[:, some] = pagerank(operator, start, restart, steps)[train]
    return found


def _shares(mass: NDArray[np.floating]) -> NDArray[np.floating]:
    total = mass.sum(axis=1, keepdims=True)
    uniform = np.full_like(mass, 1.0 / mass.shape[1])
    return np.divide(mass, total, out=uniform, where=total > 1e-30) - 1.0 / mass.shape[1]
