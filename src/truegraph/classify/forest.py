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

from truegraph import gate
from truegraph.classify.spaces import Matrix
from truegraph.errors import InputError
from truegraph.saving import savable

Floats = NDArray[np.float64]

_TREES, _TREES_PER_FOLD = 100, 50  # scikit-learn's usual number; half of it to choose by
_FOLDS, _FOLDS_OF_NUMBERS = 5, 10  # each costs a forest
_ROWS = 2_000  # that walk down all trees at once


@savable
@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays, the nodes of all trees after each other."""

    roots: NDArray[np.int64]  # (T,)
    column: NDArray[np.int64]  # (nodes,)
    bound: NDArray[np.float64]  # (nodes,)
    left: NDArray[np.int64]  # (nodes,)
    right: NDArray[np.int64]  # (nodes,)
    shares: NDArray[np.float64]  # (nodes, C)

    def _check_saved(self) -> None:
        count = len(self.column)
        own = np.arange(count)
        for side in (self.left, self.right):
            # A step leads to a later node or stays, so that every walk ends.
            if side.shape != own.shape or (side < own).any() or (side >= count).any():
                raise InputError("the trees of a forest are no trees.")
        if len(self.shares) != count or len(self.bound) != count or self.column.min() < 0:
            raise InputError("the parts of a forest do not fit.")
        gate.indices("roots", self.roots, count)

    def scores(self, table: csr_array) -> Matrix:
        """Return the mean share (N', C) of each class, minus 1 / C, for features (N', F)."""
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
    rows: csr_array,
    targets: NDArray[Any],
    classes: int,
    seed: int,
    weights: Floats | None = None,
    trees: int = _TREES,
) -> Forest:
    """Grow a forest on rows (n, F) with classes or, if there are 0 classes, with numbers (n,)."""
    kind = RandomForestClassifier if classes else RandomForestRegressor
    model = kind(trees, random_state=seed % 2**32).fit(rows, targets, weights)
    grown = [one.tree_ for one in model.estimators_]
    values = np.concatenate([tree.value[:, 0, :] for tree in grown])
    if not classes:
        return _as_arrays(grown, values)
    shares = np.zeros((len(values), classes))
    shares[:, model.classes_] = values / values.sum(axis=1, keepdims=True)
    return _as_arrays(grown, shares)


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


def folds_of_classes(folds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the folds (n,) of labels in at most five, so that fewer forests are grown."""
    return np.where(folds >= 0, folds % _FOLDS, -1)


def folds_of_numbers(count: int, seed: int) -> NDArray[np.int64]:
    """Deal rows with numbers into folds (n,)."""
    generator = np.random.default_rng([seed, _FOLDS_OF_NUMBERS])
    return generator.permutation(np.arange(count) % _FOLDS_OF_NUMBERS)


def forest_left_out(
    rows: csr_array,
    targets: NDArray[Any],
    classes: int,
    folds: NDArray[np.int64],
    seed: int,
    weights: Floats | None = None,
) -> Floats:
    """Return the scores (n, C) of rows by forests grown without their fold; 0 where that is -1.

    Out-of-bag predictions would be free, but with five labels of a class they are far too
    pessimistic: trees that have not seen a label have seen fewer of its class.
    """
    found = np.zeros((len(targets), max(classes, 1)))
    for fold in np.unique(folds[folds >= 0]):
        out, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        own = None if weights is None else weights[kept]
        grown = grow_forest(rows[kept], targets[kept], classes, seed, own, _TREES_PER_FOLD)
        found[out] = grown.scores(rows[out])
    return found
