"""A random forest on the features, for tables in which single columns tell.

scikit-learn grows the trees; they are kept as plain arrays, so that a saved forest needs no pickle
and predicts the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from truegraph.classify.feature_space import Matrix
from truegraph.errors import InputError
from truegraph.saving import savable

Floats = NDArray[np.float64]

_TREES = 100
_TREES_PER_FOLD = 50
_FOLDS, _FOLDS_OF_NUMBERS = 5, 10
_ROWS = 2_000  # that walk down all trees at once


@savable
@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays, the nodes of all trees after each other.

    Attributes
    ----------
    roots : ndarray of int64, shape (T,)
    column : ndarray of int64, shape (nodes,)
        Feature that is asked for; 0 at a leaf.
    bound : ndarray of float64, shape (nodes,)
        Values up to it go to the left.
    left, right : ndarray of int64, shape (nodes,)
        Next node; at a leaf the leaf itself.
    shares : ndarray of float64, shape (nodes, C)
        Of the classes at a node; for numbers their mean in one column.
    """

    roots: NDArray[np.int64]
    column: NDArray[np.int64]
    bound: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    shares: NDArray[np.float64]

    def _check_saved(self) -> None:
        own = np.arange(len(self.column))
        for side in (self.left, self.right):
            # A step leads to a later node or stays, so that every walk ends.
            if side.shape != own.shape or (side < own).any() or (side >= len(own)).any():
                raise InputError("the trees of a forest are no trees.")
        if len(self.shares) != len(own) or len(self.bound) != len(own) or self.column.min() < 0:
            raise InputError("the parts of a forest do not fit.")
        if self.roots.min() < 0 or self.roots.max() >= len(own):
            raise InputError("the roots of a forest are out of range.")

    def scores(self, table: csr_array) -> Matrix:
        """Return the mean share (N', C) of each class, minus 1 / C, for features (N', F).

        For numbers their mean (N', 1).
        """
        classes = self.shares.shape[1]
        centre = 1.0 / classes if classes > 1 else 0.0
        used, column = np.unique(self.column, return_inverse=True)
        found = np.empty((table.shape[0], classes), dtype=np.float32)
        for start in range(0, len(found), _ROWS):
            part = slice(start, start + _ROWS)
            rows = table[part][:, used].toarray().astype(np.float32)  # as scikit-learn compares
            leaves = self._leaves(rows, column)
            found[part] = self.shares[leaves].mean(axis=1) - centre
        return found

    def _leaves(self, rows: Matrix, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the leaf (n, T) that each row reaches in each tree."""
        at = np.tile(self.roots, (len(rows), 1))
        places = np.arange(len(rows))[:, None]
        while True:
            smaller = rows[places, column[at]] <= self.bound[at]
            following = np.where(smaller, self.left[at], self.right[at])
            if np.array_equal(following, at):
                return at
            at = following


def grow_forest(
    rows: csr_array, labels: NDArray[np.int64], classes: int, seed: int, trees: int = _TREES
) -> Forest:
    """Grow a forest on labelled rows (n, F)."""
    model = RandomForestClassifier(trees, random_state=seed % 2**32).fit(rows, labels)
    grown = [one.tree_ for one in model.estimators_]
    counts = np.concatenate([tree.value[:, 0, :] for tree in grown])
    shares = np.zeros((len(counts), classes))
    shares[:, model.classes_] = counts / counts.sum(axis=1, keepdims=True)
    return _as_arrays(grown, shares)


def grow_regression_forest(
    rows: csr_array, values: NDArray[np.float64], seed: int, trees: int = _TREES
) -> Forest:
    """Grow a forest on rows (n, F) with numbers (n,)."""
    model = RandomForestRegressor(trees, random_state=seed % 2**32)
    grown = [one.tree_ for one in model.fit(rows, values).estimators_]
    return _as_arrays(grown, np.concatenate([tree.value[:, 0, :] for tree in grown]))


def _as_arrays(grown: list[Any], shares: NDArray[np.float64]) -> Forest:
    starts = np.cumsum([0, *(tree.node_count for tree in grown)])
    roots = starts[:-1].astype(np.int64)
    own = np.arange(starts[-1])
    moves = []
    for side in ("children_left", "children_right"):
        ahead = [getattr(t, side) + np.where(getattr(t, side) >= 0, r, 0)
                 for t, r in zip(grown, roots, strict=True)]  # fmt: skip
        joined = np.concatenate(ahead).astype(np.int64)
        moves.append(np.where(joined >= 0, joined, own))
    column = np.concatenate([tree.feature for tree in grown]).astype(np.int64)
    bound = np.concatenate([tree.threshold for tree in grown]).astype(np.float64)
    return Forest(roots, np.maximum(column, 0), bound, moves[0], moves[1], shares)


def forest_left_out(
    rows: csr_array, labels: NDArray[np.int64], classes: int, folds: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Return the scores (n, C) of labelled rows by forests grown without their fold.

    Out-of-bag predictions would be free, but with five labels of a class they are far too
    pessimistic: trees that have not seen a label have seen fewer of its class.

    Parameters
    ----------
    rows : csr_array of shape (n, F)
    labels : ndarray of shape (n,)
    classes : int
    folds : ndarray of shape (n,)
        Negative for nodes that are never left out, whose scores are zero. Several folds are left
        out together if there are more than five.
    seed : int
    """
    found = np.zeros((len(labels), classes))
    group = np.where(folds >= 0, folds % _FOLDS, -1)
    for fold in np.unique(group[group >= 0]):
        out = np.flatnonzero(group == fold)
        kept = np.flatnonzero(group != fold)
        grown = grow_forest(rows[kept], labels[kept], classes, seed, _TREES_PER_FOLD)
        found[out] = grown.scores(rows[out])
    return found


def regression_left_out(rows: csr_array, values: NDArray[np.float64], seed: int) -> Floats:
    """Return the predictions (n,) for rows with numbers by forests grown without their fold."""
    generator = np.random.default_rng([seed, _FOLDS_OF_NUMBERS])
    fold = generator.permutation(np.arange(len(values)) % _FOLDS_OF_NUMBERS)
    found = np.empty(len(values))
    for number in np.unique(fold):
        out, kept = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        grown = grow_regression_forest(rows[kept], values[kept], seed, _TREES_PER_FOLD)
        found[out] = grown.scores(rows[out])[:, 0]
    return found
