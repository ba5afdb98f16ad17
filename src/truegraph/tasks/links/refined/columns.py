"""The columns of the refined predictor: every score of a pair on one graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.data.graphs.link_splits import Pairs
from truegraph.tasks.links.refined.local_scale import LocalScale, learned_scale, neighbour_scale
from truegraph.tasks.links.refined.similarities import (
    SIMILARITIES,
    NodeVectors,
    graph_vectors,
    node_vectors,
    similarity_scores,
    smoothing,
)
from truegraph.tasks.links.refined.walks import WALKS, walk_scores

_POINTS = 64  # dimensions of the points that a graph is learned from


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Scores of pairs on one graph.

    Attributes
    ----------
    graph : csr_array of float64, shape (N, N)
    vectors : NodeVectors
    scale : LocalScale or None
    first : ndarray of float32, shape (N, d)
        R, from which the vectors come.
    """

    graph: csr_array
    vectors: NodeVectors
    scale: LocalScale | None
    first: NDArray[np.float32]

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        similarities = SIMILARITIES if self.vectors.features is not None else SIMILARITIES[1:]
        return (*WALKS, *similarities, *(() if self.scale is None else ("local scale",)))

    def of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return all scores of pairs (n, 2), (n, columns)."""
        parts = [
            walk_scores(self.graph, pairs),
            similarity_scores(self.vectors, self.graph, pairs),
        ]
        if self.scale is not None:
            parts.append(self.scale.scores(pairs)[:, None])
        return np.hstack(parts)


def pair_columns(
    graph: csr_array,
    features: csr_array | None,
    reduced: NDArray[np.float32] | None,
    *,
    scale: str,
    rank: int,
    seed: int,
) -> PairColumns:
    """Prepare the scores of pairs on a graph.

    Parameters
    ----------
    graph : csr_array of float64, shape (N, N)
    features : csr_array of float32, shape (N, F), or None
        Unit rows; None: vectors come from the graph alone.
    reduced : ndarray of float32, shape (N, d), or None
        The features in few dimensions.
    scale : {"slack", "neighbours", "off"}
    rank : int
        Dimensions of the vectors that come from the graph.
    seed : int
    """
    smoother = smoothing(graph)
    with threadpool_limits(1):  # sums of several threads would come in another order
        first = graph_vectors(smoother, rank, seed) if reduced is None else reduced
        vectors = node_vectors(features, first, smoother)
        points = None if scale == "off" else _points(vectors)
    if points is None:
        return PairColumns(graph, vectors, None, first)
    found = learned_scale(points) if scale == "slack" else neighbour_scale(points)
    return PairColumns(graph, vectors, found, first)


def _points(vectors: NodeVectors) -> NDArray[np.float64]:
    """Return [R, SR, S^2 R] in few dimensions, by their leading right singular vectors, (N, d)."""
    blocks = vectors.smoothed[:3]
    gram = np.block([[a.T @ b for b in blocks] for a in blocks]).astype(np.float64)
    _, directions = np.linalg.eigh(gram)
    wanted = directions[:, ::-1][:, : min(_POINTS, len(gram))]
    parts = np.split(wanted, len(blocks))
    return np.asarray(sum(a @ part for a, part in zip(blocks, parts, strict=True)))
