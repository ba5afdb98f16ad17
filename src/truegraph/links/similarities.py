"""Scores of pairs from their nodes: cosines of features, smoothed over the graph.

R holds the features in few dimensions, S = (D + I)^-1/2 (A + I) (D + I)^-1/2 smooths them over the
graph. A graph without features takes R from the leading eigenvectors of S itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from truegraph.data.link_splits import Pairs
from truegraph.data.row_products import row_products
from truegraph.links.eigenvectors import leading_vectors, times
from truegraph.runtime.compiled import compiled
from truegraph.saving import savable

SIMILARITIES = (
    "features",
    "reduced features",
    "once smoothed features",
    "twice smoothed features",
    "features and once smoothed",
    "features and twice smoothed",
    "once and three times smoothed",
    "larger best similarity to a neighbour",
    "smaller best similarity to a neighbour",
)
Vectors = NDArray[np.float32]

_STEPS = 3  # as many as the last of the similarities takes
MOST_NEIGHBOURS = 128  # looked at per node, evenly spaced where there are more: bounds the work


def smoothing(graph: csr_array) -> csr_array:
    """Return S = (D + I)^-1/2 (A + I) (D + I)^-1/2 for weights in units of their mean, (N, N)."""
    unit = graph * (1.0 / graph.data.mean()) if graph.nnz else graph
    found = csr_array(unit + eye_array(graph.shape[0], format="csr"))
    root = 1.0 / np.sqrt(np.asarray(found.sum(axis=1)).ravel())
    found.data *= np.repeat(root, np.diff(found.indptr))
    found.data *= root[found.indices]
    return found.astype(np.float32)


@savable
@dataclass(eq=False)
class NodeFeatures:
    """Features of the nodes, as unit rows and as these in few dimensions.

    Attributes
    ----------
    given : csr_array of float64, shape (N, F)
    rarity : ndarray of float64, shape (F,)
        Weight of each column: large for columns that few nodes have.
    directions : ndarray of float32, shape (F, d)
        Of the few dimensions.
    """

    given: csr_array
    rarity: NDArray[np.float64]
    directions: Vectors
    _unsaved = ("rows", "reduced")

    @cached_property
    def rows(self) -> csr_array:
        """Unit rows of the nodes, (N, F)."""
        return self.rows_of(self.given)

    @cached_property
    def reduced(self) -> Vectors:
        """R, the same in few dimensions, (N, d)."""
        return self.reduced_of(self.rows)

    def rows_of(self, features: csr_array) -> csr_array:
        """Return features (n, F) as weighed rows of length 1 (or 0), (n, F)."""
        weighed = csr_array(features).astype(np.float64) @ diags_array(self.rarity)
        rows = csr_array(normalize(csr_array(weighed))).astype(np.float32)
        rows.sort_indices()
        return rows

    def reduced_of(self, rows: csr_array) -> Vectors:
        """Return unit rows (n, F) in few dimensions, (n, d)."""
        return np.asarray(rows @ self.directions)


def node_features(features: csr_array, rank: int, seed: int) -> NodeFeatures:
    """Weigh columns, and find the leading directions of features (N, F).

    Whole numbers >= 0 count as counts and are weighed by how rare their columns are (tf-idf);
    anything else is taken as it is. Directions come from a randomised SVD.
    """
    rarity = np.ones(features.shape[1])
    values = features.data
    if len(values) and values.min() >= 0.0 and (values == np.rint(values)).all():
        present = np.bincount(features.indices, minlength=features.shape[1])
        rarity = np.log((1.0 + features.shape[0]) / (1.0 + present)) + 1.0
    found = NodeFeatures(features, rarity, np.eye(0, dtype=np.float32))
    size = min(rank, min(features.shape) - 1)
    if size < 1 or features.shape[1] <= size + 1:
        found.directions = np.eye(features.shape[1], dtype=np.float32)
        return found
    with threadpool_limits(1):  # sums of several threads would come in another order
        _, _, right = randomized_svd(found.rows, size, n_iter=4, random_state=seed)
    found.directions = np.ascontiguousarray(right.T, dtype=np.float32)
    return found


def graph_vectors(smoother: csr_array, rank: int, seed: int) -> Vectors:
    """Return R of a graph without features: leading eigenvectors of S, weighed, (N, d)."""
    return leading_vectors(smoother, min(rank, smoother.shape[0] - 1), seed)


def smoothed_vectors(first: Vectors, smoother: csr_array) -> tuple[Vectors, ...]:
    """Return R, SR, S^2 R and S^3 R of R (N, d), rows of length 1 (or 0)."""
    smoothed = [first]
    for _ in range(_STEPS):
        smoothed.append(np.empty_like(first))
        times(smoother, smoothed[-2], smoothed[-1])
    return tuple(unit_rows(rows) for rows in smoothed)


def unit_rows(rows: Vectors) -> Vectors:
    """Return rows (n, d) scaled to length 1; those of length 0 stay."""
    return np.asarray(normalize(rows), dtype=np.float32)


def similarity_scores(
    rows: csr_array | None, smoothed: tuple[Vectors, ...], graph: csr_array, pairs: Pairs
) -> NDArray[np.float64]:
    """Return the similarities of pairs, one column per name of `SIMILARITIES`.

    Parameters
    ----------
    rows : csr_array of float32, shape (N, F), or None
        Features as unit rows.
    smoothed : tuple of ndarray of float32, shape (N, d)
        As of `smoothed_vectors`.
    graph : csr_array, shape (N, N)
        Whose neighbours count.
    pairs : ndarray of int64, shape (n, 2)

    Returns
    -------
    scores : ndarray of float64, shape (n, 9), or (n, 8) without features
    """
    zero, one, two, three = smoothed
    columns = [] if rows is None else [row_products(rows, rows, pairs)]
    alike = ((zero, zero), (one, one), (two, two), (zero, one), (zero, two), (one, three))
    columns += [_products(first, second, pairs) for first, second in alike]
    best = np.zeros((len(pairs), 2))
    _best_of_neighbours(zero, graph.indptr, graph.indices, pairs, best)
    best.sort(axis=1)
    return np.column_stack([*columns, best[:, ::-1]])


def _products(first: Vectors, second: Vectors, pairs: Pairs) -> NDArray[np.float64]:
    """Return the mean of a_i . b_j and a_j . b_i for pairs (i, j), (n,)."""
    out = np.empty(len(pairs))
    _inner(first, second, pairs, out)
    return out


@compiled(parallel=True)
def _inner(first: Any, second: Any, pairs: Any, out: Any) -> None:
    for p in prange(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        total = 0.0
        for d in range(first.shape[1]):
            total += first[i, d] * second[j, d] + first[j, d] * second[i, d]
        out[p] = 0.5 * total


@compiled
def _best_of(vectors: Any, node: int, other: int, indptr: Any, indices: Any) -> float:
    """Return the largest cosine of a node with the other's neighbours, 0 if it has none."""
    begin, count = indptr[other], indptr[other + 1] - indptr[other]
    looked = min(count, MOST_NEIGHBOURS)
    best = -1.0 if count > 0 else 0.0
    for k in range(looked):
        neighbour = indices[begin + k * count // looked]
        if neighbour == node:
            continue
        total = 0.0
        for d in range(vectors.shape[1]):
            total += vectors[node, d] * vectors[neighbour, d]
        best = max(best, total)
    return max(best, 0.0)


@compiled(parallel=True)
def _best_of_neighbours(vectors: Any, indptr: Any, indices: Any, pairs: Any, out: Any) -> None:
    for p in prange(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        out[p, 0] = _best_of(vectors, i, j, indptr, indices)
        out[p, 1] = _best_of(vectors, j, i, indptr, indices)
