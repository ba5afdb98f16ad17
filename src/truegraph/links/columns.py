"""The table of pairs that the regression is fitted to: every score of a pair on one graph.

R holds the features in few dimensions, S = (D + I)^-1/2 (A + I) (D + I)^-1/2 smooths them over the
graph; pairs are scored by cosines of R, SR, S^2 R, S^3 R. A graph without features takes R from the
leading eigenvectors of S, from powers of S on a random block (Halko, Martinsson and Tropp 2011), in
time and memory linear in the stored entries. The LU factors and copies of scikit-learn's
`randomized_svd` grow faster than the nodes once a block leaves the cache.

One score says how near two nodes are for their surroundings: a distance against what is usual at
its ends,

    score_ij = (s_i + s_j) / 2 - factor * |z_i - z_j|^2

With the multipliers of a learned graph as s this is the slack of a pair, the weight of a learned
edge and below zero elsewhere; with the mean squared distance to the nearest neighbours it needs no
learned graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from truegraph.data.link_splits import Pairs
from truegraph.data.row_products import row_products
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import ExactSearch, all_neighbours
from truegraph.learning.search.points import squared_distances
from truegraph.learning.settings import Settings
from truegraph.links.walks import MOST_NEIGHBOURS, WALKS, Walks, walk_graph, walk_scores
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import one_blas_thread
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
_MORE = 10  # columns of a random block beyond those wanted
_ROUNDS = 5  # of two products each
_ROWS = 8192  # of a block that are copied at a time
_NOTHING = 1e-12  # squared length, against the largest, of a direction that is mere rounding
SCALES = ("slack", "neighbours", "off")
DEGREE = 10  # edges, or neighbours, per node; lab/choose/link_scale.py
_POINTS = 64  # dimensions of the points of the local scale; lab/choose/link_scale.py
_EXACT_NODES = 20_000  # as of the graph learner
_QUERIES = 256  # searched for at a time, at least: enough for all threads
_BLOCK = 1 << 18  # pairs scored at a time, in about 50 MB


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
    """Features (N, F), weights (F,) of their columns, and directions (F, d) of few dimensions."""

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
    with one_blas_thread():  # sums of several threads would come in another order
        _, _, right = randomized_svd(found.rows, size, n_iter=4, random_state=seed)
    found.directions = np.ascontiguousarray(right.T, dtype=np.float32)
    return found


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
    rows: csr_array | None,
    smoothed: tuple[Vectors, ...],
    points: NDArray[np.float64],
    graph: csr_array,
    pairs: Pairs,
) -> NDArray[np.float64]:
    """Return squared distances of points (N, d), and similarities as in `SIMILARITIES`, (n, 10).

    `rows` (N, F) are features as unit rows; without them the first similarity is missing.
    `smoothed` are those of `smoothed_vectors`; the neighbours are those of `graph`.
    """
    product = np.zeros((len(pairs), 0))
    if rows is not None:
        product = row_products(rows, rows, pairs)[:, None]
    found = np.empty((len(pairs), 9))
    _similarities(smoothed, points, graph.indptr, graph.indices, pairs, found)
    return np.hstack([found[:, :1], product, found[:, 1:]])


@compiled(parallel=True)
def _similarities(
    smoothed: Any, points: Any, indptr: Any, indices: Any, pairs: Any, out: Any
) -> None:
    zero, one, two, three = smoothed
    for p in prange(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        distance = 0.0
        for d in range(points.shape[1]):
            difference = points[i, d] - points[j, d]
            distance += difference * difference
        out[p, 0] = distance
        out[p, 1] = _alike(zero, zero, i, j)
        out[p, 2] = _alike(one, one, i, j)
        out[p, 3] = _alike(two, two, i, j)
        out[p, 4] = _alike(zero, one, i, j)
        out[p, 5] = _alike(zero, two, i, j)
        out[p, 6] = _alike(one, three, i, j)
        first = _best_of(zero, i, j, indptr, indices)
        second = _best_of(zero, j, i, indptr, indices)
        out[p, 7], out[p, 8] = max(first, second), min(first, second)


@compiled
def _alike(first: Any, second: Any, i: int, j: int) -> float:
    """Return the mean of a_i . b_j and a_j . b_i."""
    total = 0.0
    for d in range(first.shape[1]):
        total += first[i, d] * second[j, d] + first[j, d] * second[i, d]
    return 0.5 * total


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


def leading_vectors(matrix: csr_array, size: int, seed: int) -> Vectors:
    """Return leading eigenvectors of a symmetric matrix, times their eigenvalues' size, (N, size).

    The caller sees to it that BLAS takes one thread, or bits depend on their number.
    """
    nodes = matrix.shape[0]
    width = min(size + _MORE, nodes)
    block = np.random.default_rng(seed).standard_normal((nodes, width), dtype=np.float32)
    other = np.empty_like(block)
    for _ in range(_ROUNDS):
        times(matrix, block, other)
        times(matrix, other, block)
        _turn(block, _orthonormal(_gram(block)))
    times(matrix, block, other)
    squares, directions = np.linalg.eigh(_gram(other))
    best = np.argsort(-squares, kind="stable")[:size]
    _turn(block, directions[:, best] * np.sqrt(np.maximum(squares[best], 0.0)))
    return np.ascontiguousarray(block[:, :size])


def times(matrix: csr_array, block: Vectors, out: Vectors) -> None:
    """Write the product of a sparse matrix (N, N) and a block (N, d) to `out` (N, d)."""
    _times(matrix.indptr, matrix.indices, matrix.data, block, out)


def _gram(block: Vectors) -> NDArray[np.float64]:
    """Return the inner products of the columns, summed in double precision, (d, d)."""
    total = np.zeros((block.shape[1], block.shape[1]))
    for first in range(0, len(block), _ROWS):
        rows = block[first : first + _ROWS].astype(np.float64)
        total += rows.T @ rows
    return total


def _orthonormal(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what makes columns with these inner products orthonormal, (d, d); 0 for rounding."""
    squares, directions = np.linalg.eigh(gram)
    is_real = squares > _NOTHING * squares.max(initial=0.0)
    return directions * np.where(is_real, 1.0 / np.sqrt(np.where(is_real, squares, 1.0)), 0.0)


def _turn(block: Vectors, matrix: NDArray[np.float64]) -> None:
    """Multiply a block (N, d) by a matrix (d, k), k <= d, in place; later columns stay."""
    for first in range(0, len(block), _ROWS):
        rows = block[first : first + _ROWS]
        rows[:, : matrix.shape[1]] = rows @ matrix.astype(np.float32)


@compiled(parallel=True)
def _times(indptr: Any, indices: Any, data: Any, block: Any, out: Any) -> None:
    for row in prange(indptr.size - 1):
        for column in range(block.shape[1]):
            out[row, column] = 0.0
        for e in range(indptr[row], indptr[row + 1]):
            for column in range(block.shape[1]):
                out[row, column] += data[e] * block[indices[e], column]


@savable
@dataclass(frozen=True, eq=False)
class LocalScale:
    """Points (N, d) with what distance is usual around each (N,), and pairs (n, 2) of near points.

    `graph` is where the scale comes from, if that is a learned graph.
    """

    points: NDArray[np.float64]
    usual: NDArray[np.float64]
    factor: float
    near: Pairs
    graph: LearnedGraph | None = None

    def scores(self, pairs: Pairs, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2) of points at a squared distance (n,), (n,)."""
        return 0.5 * (self.usual[pairs[:, 0]] + self.usual[pairs[:, 1]]) - self.factor * distance


def learned_scale(points: NDArray[np.float64]) -> LocalScale:
    """Return the scale of the graph that is learned from points (N, d)."""
    degree = min(float(DEGREE), (len(points) - 1) / 2.0)
    learned = learn(EmbeddingDistance(points), Settings(degree=degree))
    certificate = learned.certificate
    upper = learned.candidates.tocoo()
    is_upper = upper.row < upper.col
    near = np.column_stack([upper.row[is_upper], upper.col[is_upper]]).astype(np.int64)
    usual = certificate.scale * learned.multipliers
    return LocalScale(points, usual, certificate.scale * certificate.theta, near, learned)


def neighbour_scale(points: NDArray[np.float64]) -> LocalScale:
    """Return the scale of the nearest neighbours of points (N, d)."""
    nodes, count = len(points), min(DEGREE, len(points) - 1)
    rows, own = np.repeat(np.arange(nodes), count), np.arange(nodes)
    if nodes <= _EXACT_NODES:
        search = ExactSearch(points)
        distance, lists = np.empty((nodes, count)), np.empty((nodes, count), dtype=np.int32)

        def run(first: int, last: int) -> None:
            part = slice(first, last)
            distance[part], lists[part] = search.nearest(points[part], own[part], count)

        in_parts(nodes, run, least=_QUERIES)
    else:
        lists, _ = all_neighbours(points, points, count, engine="ivf", same=True)
        distance = squared_distances(points, rows, np.maximum(lists.ravel(), 0))
    columns, found = lists.ravel().astype(np.int64), lists.ravel() >= 0
    rows, columns = rows[found], columns[found]
    total = np.bincount(rows, weights=distance.ravel()[found], minlength=nodes)
    usual = total / np.maximum(np.bincount(rows, minlength=nodes), 1)
    near = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
    return LocalScale(points, usual, 1.0, near)


@savable
@dataclass(eq=False)
class PairColumns:
    """Scores of pairs on one graph (N, N).

    `first` (N, d) is R, the features in few dimensions or leading eigenvectors; `rows` (N, F) are
    features as unit rows; `smoothed` R, SR, S^2 R and S^3 R, rows of length 1 (or 0).
    """

    graph: csr_array
    first: Vectors
    rows: csr_array | None
    smoothed: tuple[Vectors, ...]
    scale: LocalScale | None = None
    _unsaved = ("rows", "smoothed", "walks")

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        similarities = SIMILARITIES if self.rows is not None else SIMILARITIES[1:]
        scale = () if self.scale is None else ("local scale",)
        return (*WALKS, *similarities, *scale)

    @cached_property
    def walks(self) -> Walks:
        """The graph, prepared for walks."""
        return walk_graph(self.graph)

    def of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return all scores of pairs (n, 2), (n, columns)."""
        scale, graph = self.scale, self.graph
        points = np.zeros((graph.shape[0], 0)) if scale is None else scale.points
        found = similarity_scores(self.rows, self.smoothed, points, graph, pairs)
        parts = [walk_scores(self.walks, pairs), found[:, 1:]]
        if scale is not None:
            parts.append(scale.scores(pairs, found[:, 0])[:, None])
        return np.hstack(parts)

    def weighed(
        self, pairs: Pairs, weigh: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return one number per pair (n, 2), made of its columns, some pairs at a time, (n,)."""
        starts = range(0, len(pairs), _BLOCK)
        found = [weigh(self.of(pairs[begin : begin + _BLOCK])) for begin in starts]
        return np.concatenate(found) if found else np.zeros(0)


def pair_columns(
    graph: csr_array, features: NodeFeatures | None, options: Mapping[str, Any], seed: int
) -> PairColumns:
    """Prepare the scores of pairs on a graph (N, N); options are those of the default model."""
    reduced = None if features is None else features.reduced
    first, smoothed = vectors_on(graph, reduced, options["rank"], seed)
    columns = PairColumns(graph, first, None if features is None else features.rows, smoothed)
    if options["scale"] != "off":
        points = _points(smoothed[:3])
        is_learned = options["scale"] == "slack"
        columns.scale = learned_scale(points) if is_learned else neighbour_scale(points)
    return columns


def vectors_on(
    graph: csr_array, reduced: Vectors | None, rank: int, seed: int
) -> tuple[Vectors, tuple[Vectors, ...]]:
    """Return R (N, d), from the graph unless the reduced features are given, and all smoothed."""
    smoother = smoothing(graph)
    with one_blas_thread():  # sums of several threads would come in another order
        if reduced is None:
            reduced = leading_vectors(smoother, min(rank, graph.shape[0] - 1), seed)
        return reduced, smoothed_vectors(reduced, smoother)


def _points(blocks: tuple[Vectors, ...]) -> NDArray[np.float64]:
    """Return [R, SR, S^2 R] in few dimensions, by their leading right singular vectors, (N, d)."""
    with one_blas_thread():
        gram = np.block([[a.T @ b for b in blocks] for a in blocks]).astype(np.float64)
        _, directions = np.linalg.eigh(gram)
        wanted = directions[:, ::-1][:, : min(_POINTS, len(gram))]
        parts = np.split(wanted, len(blocks))
        return np.asarray(sum(a @ part for a, part in zip(blocks, parts, strict=True)))
