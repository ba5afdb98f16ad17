"""The input of a classifier, completed where the user has no features or no graph.

Without a graph the observed graph is the nearest-neighbour graph of the features; without
features every node is its own feature, or on large graphs its degree is. The notes say
what was put in place of what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency
from truegraph.data.operators import normalise_features
from truegraph.errors import InputError
from truegraph.learning.search.candidates import choose_engine
from truegraph.learning.search.distances import CosineDistance, Distance, EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.saving import savable

NEIGHBOURS = 10
LARGEST_IDENTITY = 20_000  # nodes up to which each is its own feature


@savable
@dataclass(frozen=True, eq=False)
class NodeInputs:
    """Features and observed graph of N nodes.

    Attributes
    ----------
    raw : csr_array of float64, shape (N, F)
        Features as they were given, for the embedding.
    features : csr_array of float32, shape (N, F)
        The same with normalised rows, for the classifiers.
    graph : csr_array of float64, shape (N, N)
    features_from : {"given", "identity", "degree"}
    graph_from : {"given", "neighbours"}
    normalised_by : {"sum", "length"}
    notes : tuple of str
        What was chosen for the user.
    """

    raw: csr_array
    features: csr_array
    graph: csr_array
    features_from: str
    graph_from: str
    normalised_by: str
    notes: tuple[str, ...]

    _unsaved = ("features",)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.graph.shape[0])

    def _check_saved(self) -> None:
        if self.raw.shape[0] != self.n_nodes or self.graph.shape[1] != self.n_nodes:
            raise InputError("features and graph are not of the same nodes.")
        if self.normalised_by not in ("sum", "length"):
            raise InputError(f"normalised_by={self.normalised_by!r} must be 'sum' or 'length'.")

    def _after_load(self) -> None:
        features = normalise_features(self.raw, by=self.normalised_by)
        object.__setattr__(self, "features", features)


def complete_inputs(features: Any, graph: Any, n_nodes: int) -> NodeInputs:
    """Check features and graph, and fill in what is missing.

    Parameters
    ----------
    features : array-like or sparse matrix of shape (N, F), or None
    graph : anything that `truegraph.data.as_adjacency` understands, or None
    n_nodes : int
        Number N of nodes that both must have.
    """
    if features is None and graph is None:
        raise InputError("neither features nor a graph is given; give at least one of them.")
    notes = []
    rows = None if features is None else check_features(features, n_nodes)
    links = None if graph is None else as_adjacency(graph, n_nodes)
    if rows is None:
        assert links is not None
        features_from = "identity" if n_nodes <= LARGEST_IDENTITY else "degree"
        raw = eye_array(n_nodes, format="csr") if features_from == "identity" else degrees(links)
        notes.append(f"no features given: {features_from} features are used")
    else:
        features_from, raw = "given", rows
    if links is None:
        links, metric = neighbour_graph(raw)
        notes.append(
            f"no graph given: the graph of the {min(NEIGHBOURS, n_nodes - 1)} nearest neighbours "
            f"by {metric} distance of the features is used"
        )
    normalised_by = "sum" if raw.nnz == 0 or raw.data.min() >= 0.0 else "length"
    if normalised_by == "length":
        notes.append("features have negative values: rows are divided by length, not by sum")
    return NodeInputs(
        csr_array(raw),
        normalise_features(raw, by=normalised_by),
        links,
        features_from,
        "given" if graph is not None else "neighbours",
        normalised_by,
        tuple(notes),
    )


def check_features(features: Any, n_nodes: int, name: str = "features") -> csr_array:
    """Return features as a CSR matrix (N, F) of float64 after checking them."""
    rows = gate.table(name, features)
    if rows.shape[1] == 0:
        raise InputError(
            f"{name} has 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required."
        )
    if rows.shape[0] != n_nodes:
        raise InputError(
            f"{name} has shape {rows.shape}, but there are {n_nodes} nodes; give one row per node."
        )
    return csr_array(rows)


def degrees(graph: csr_array) -> csr_array:
    """Return log(1 + weighted degree) of every node beside a constant, shape (N, 2).

    The constant keeps the degree visible after rows are normalised.
    """
    degree = np.log1p(np.asarray(graph.sum(axis=1)).ravel())
    return csr_array(np.column_stack([degree, np.ones_like(degree)]))


def neighbour_graph(features: csr_array, k: int = NEIGHBOURS) -> tuple[csr_array, str]:
    """Link every node with its k nearest others, in either direction.

    Features that are mostly zero (words, for instance) are compared by cosine distance, others by
    Euclidean distance.

    Returns
    -------
    graph : csr_array of float64, shape (N, N)
        0/1, symmetric.
    metric : {"cosine", "Euclidean"}
    """
    nodes = features.shape[0]
    if nodes < 2:
        raise InputError(f"{nodes} node has no neighbours; give at least two nodes, or a graph.")
    by_angle = _mostly_zero(features)
    graph = distance_graph(_distance(features, by_angle), k)
    return graph, "cosine" if by_angle else "Euclidean"


def distance_graph(distance: Distance, k: int) -> csr_array:
    """Link every node with its k nearest others by a distance, in either direction: 0/1 (N, N)."""
    nodes = distance.n_nodes
    engine, k = choose_engine("auto", nodes), min(k, nodes - 1)
    found, _ = all_neighbours(distance.queries, distance.base, k, engine=engine, same=True)
    sources = np.repeat(np.arange(nodes), found.shape[1])
    return adjacency_from_edges(sources, found.ravel(), None, nodes)


def nearest_fitted(features: csr_array, new: csr_array, k: int = NEIGHBOURS) -> NDArray[np.int64]:
    """Return the pairs (new node, one of its k nearest fitted nodes), shape (pairs, 2).

    New nodes are numbered after the fitted ones.
    """
    fitted = features.shape[0]
    everyone = csr_array(vstack([features, new], format="csr"))
    distance = _distance(everyone, _mostly_zero(features))
    found, _ = all_neighbours(distance.queries[fitted:], distance.base[:fitted], min(k, fitted))
    sources = fitted + np.repeat(np.arange(new.shape[0]), found.shape[1])
    return np.column_stack([sources, found.ravel()]).astype(np.int64)


def _mostly_zero(features: csr_array) -> bool:
    return bool(2 * features.nnz < features.shape[0] * features.shape[1])


def _distance(features: csr_array, by_angle: bool) -> CosineDistance | EmbeddingDistance:
    # An array is searched faster and more exactly than a sparse matrix without zeros.
    return CosineDistance(features) if by_angle else EmbeddingDistance(features.toarray())
