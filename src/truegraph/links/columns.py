"""The table of pairs that the regression is fitted to: every score of a pair on one graph.

One of them says how near two nodes are for their surroundings: a distance against what is usual at
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
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.data.link_splits import Pairs
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import ExactSearch, all_neighbours
from truegraph.learning.search.points import squared_distances
from truegraph.learning.settings import Settings
from truegraph.links.similarities import (
    SIMILARITIES,
    NodeFeatures,
    Vectors,
    leading_vectors,
    similarity_scores,
    smoothed_vectors,
    smoothing,
)
from truegraph.links.walks import WALKS, Walks, walk_graph, walk_scores
from truegraph.runtime.interrupts import in_parts
from truegraph.saving import savable

SCALES = ("slack", "neighbours", "off")
DEGREE = 10  # edges, or neighbours, per node; lab/choose/link_scale.py
_POINTS = 64  # dimensions of the points of the local scale; lab/choose/link_scale.py
_EXACT_NODES = 20_000  # as of the graph learner
_QUERIES = 256  # searched for at a time, at least: enough for all threads
_BLOCK = 1 << 18  # pairs scored at a time, in about 50 MB


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
    with threadpool_limits(1):  # sums of several threads would come in another order
        if reduced is None:
            reduced = leading_vectors(smoother, min(rank, graph.shape[0] - 1), seed)
        return reduced, smoothed_vectors(reduced, smoother)


def _points(blocks: tuple[Vectors, ...]) -> NDArray[np.float64]:
    """Return [R, SR, S^2 R] in few dimensions, by their leading right singular vectors, (N, d)."""
    with threadpool_limits(1):
        gram = np.block([[a.T @ b for b in blocks] for a in blocks]).astype(np.float64)
        _, directions = np.linalg.eigh(gram)
        wanted = directions[:, ::-1][:, : min(_POINTS, len(gram))]
        parts = np.split(wanted, len(blocks))
        return np.asarray(sum(a @ part for a, part in zip(blocks, parts, strict=True)))
