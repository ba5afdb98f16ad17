"""The table of pairs that the regression is fitted to: every score of a pair on one graph."""

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
from truegraph.links.local_scale import LocalScale, learned_scale, neighbour_scale
from truegraph.links.similarities import (
    SIMILARITIES,
    NodeFeatures,
    Vectors,
    graph_vectors,
    similarity_scores,
    smoothed_vectors,
    smoothing,
)
from truegraph.links.walks import WALKS, WalkGraph, walk_graph, walk_scores
from truegraph.saving import savable

_POINTS = 64  # dimensions of the points of the local scale; lab/choose/link_scale.py
_BLOCK = 1 << 18  # pairs scored at a time, in about 50 MB


@savable
@dataclass(eq=False)
class PairColumns:
    """Scores of pairs on one graph.

    Attributes
    ----------
    graph : csr_array of float64, shape (N, N)
    first : ndarray of float32, shape (N, d)
        R: the features in few dimensions, or leading eigenvectors of the graph.
    rows : csr_array of float32, shape (N, F), or None
        Features as unit rows.
    smoothed : tuple of ndarray of float32, shape (N, d)
        R, SR, S^2 R and S^3 R, rows of length 1 (or 0).
    scale : LocalScale or None
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
    def walks(self) -> WalkGraph:
        """The graph, prepared for walks."""
        return walk_graph(self.graph)

    def of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return all scores of pairs (n, 2), (n, columns)."""
        parts = [
            walk_scores(self.walks, pairs),
            similarity_scores(self.rows, self.smoothed, self.graph, pairs),
        ]
        if self.scale is not None:
            parts.append(self.scale.scores(pairs)[:, None])
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
    """Prepare the scores of pairs on a graph.

    Parameters
    ----------
    graph : csr_array of float64, shape (N, N)
    features : NodeFeatures or None
        None: vectors come from the graph alone.
    options : mapping
        Of it "scale" ("slack", "neighbours" or "off") and "rank" (dimensions of the vectors that
        come from the graph).
    seed : int
    """
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
        first = graph_vectors(smoother, rank, seed) if reduced is None else reduced
        return first, smoothed_vectors(first, smoother)


def _points(blocks: tuple[Vectors, ...]) -> NDArray[np.float64]:
    """Return [R, SR, S^2 R] in few dimensions, by their leading right singular vectors, (N, d)."""
    with threadpool_limits(1):
        gram = np.block([[a.T @ b for b in blocks] for a in blocks]).astype(np.float64)
        _, directions = np.linalg.eigh(gram)
        wanted = directions[:, ::-1][:, : min(_POINTS, len(gram))]
        parts = np.split(wanted, len(blocks))
        return np.asarray(sum(a @ part for a, part in zip(blocks, parts, strict=True)))
