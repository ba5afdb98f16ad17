"""The columns of the refined predictor: every score of a pair on one graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.data.graphs.link_splits import Pairs
from truegraph.extras import import_extra
from truegraph.tasks.links.refined.folds import fair_non_links, folds_of
from truegraph.tasks.links.refined.local_scale import LocalScale, learned_scale, neighbour_scale
from truegraph.tasks.links.refined.pair_network import PairNetwork
from truegraph.tasks.links.refined.similarities import (
    SIMILARITIES,
    NodeVectors,
    graph_vectors,
    node_vectors,
    similarity_scores,
    smoothing,
)
from truegraph.tasks.links.refined.walks import WALKS, WalkGraph, walk_graph, walk_scores

_POINTS = 64  # dimensions of the points that a graph is learned from
_PARTS = 5  # of the links, that the network is trained to find


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
    network : PairNetwork or None
    """

    graph: csr_array
    vectors: NodeVectors
    scale: LocalScale | None
    first: NDArray[np.float32]
    network: PairNetwork | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        similarities = SIMILARITIES if self.vectors.features is not None else SIMILARITIES[1:]
        scale = () if self.scale is None else ("local scale",)
        network = () if self.network is None else ("network",)
        return (*WALKS, *similarities, *scale, *network)

    @cached_property
    def walks(self) -> WalkGraph:
        """The graph, prepared for walks."""
        return walk_graph(self.graph)

    def of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return all scores of pairs (n, 2), (n, columns)."""
        parts = [
            walk_scores(self.walks, pairs),
            similarity_scores(self.vectors, self.graph, pairs),
        ]
        if self.scale is not None:
            parts.append(self.scale.scores(pairs)[:, None])
        if self.network is not None:
            parts.append(self.network.logits(pairs)[:, None])
        return np.hstack(parts)


def pair_columns(
    graph: csr_array,
    features: csr_array | None,
    reduced: NDArray[np.float32] | None,
    *,
    scale: str,
    rank: int,
    encoder: bool,
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
    encoder : bool
        Whether to train a network, whose vectors are then the points of the scale.
    seed : int
    """
    vectors, first = _vectors_on(graph, features, reduced, rank, seed)
    network = _trained(graph, vectors, reduced, rank, seed) if encoder else None
    if scale == "off":
        return PairColumns(graph, vectors, None, first, network)
    points = _points(vectors.smoothed[:3] if network is None else (network.vectors,))
    found = learned_scale(points) if scale == "slack" else neighbour_scale(points)
    return PairColumns(graph, vectors, found, first, network)


def _vectors_on(
    graph: csr_array,
    features: csr_array | None,
    reduced: NDArray[np.float32] | None,
    rank: int,
    seed: int,
) -> tuple[NodeVectors, NDArray[np.float32]]:
    """Return the vectors of the nodes on a graph (N, N), and R (N, d), which they come from."""
    smoother = smoothing(graph)
    with threadpool_limits(1):  # sums of several threads would come in another order
        first = graph_vectors(smoother, rank, seed) if reduced is None else reduced
        return node_vectors(features, first, smoother), first


def _points(blocks: tuple[NDArray[np.float32], ...]) -> NDArray[np.float64]:
    """Return [R, SR, S^2 R] in few dimensions, by their leading right singular vectors, (N, d)."""
    with threadpool_limits(1):
        gram = np.block([[a.T @ b for b in blocks] for a in blocks]).astype(np.float64)
        _, directions = np.linalg.eigh(gram)
        wanted = directions[:, ::-1][:, : min(_POINTS, len(gram))]
        parts = np.split(wanted, len(blocks))
        return np.asarray(sum(a @ part for a, part in zip(blocks, parts, strict=True)))


def _trained(
    graph: csr_array,
    vectors: NodeVectors,
    reduced: NDArray[np.float32] | None,
    rank: int,
    seed: int,
) -> PairNetwork:
    """Train the network to find each part of the links on the graph without it."""
    import_extra("torch")
    from truegraph.tasks.links.refined.network_training import TrainingPart, train_pair_network

    parts = []
    for rest, links, _ in folds_of(graph, graph, _PARTS, seed):
        on_rest, _ = _vectors_on(rest, None, reduced, rank, seed)
        parts.append(TrainingPart(links, np.hstack(on_rest.smoothed[:3])))
    return train_pair_network(
        parts,
        np.hstack(vectors.smoothed[:3]),
        lambda count, rng: fair_non_links(graph, graph, count, rng),
        seed,
    )
