"""The input of a classifier, completed where the user has no features or no graph.

Without a graph the observed graph is the nearest-neighbour graph of the features; without
features every node is its own feature, or on large graphs its degree is. The notes say
what was put in place of what.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, eye_array, vstack

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency, graph_names
from truegraph.data.operators import normalise_features
from truegraph.errors import InputError
from truegraph.learning.search.candidates import choose_engine
from truegraph.learning.search.distances import CosineDistance, Distance, EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.saving import savable

NEIGHBOURS = 10  # as many as is usual
LARGEST_IDENTITY = 20_000  # nodes up to which each is its own feature: a table as wide would be


@savable
@dataclass(frozen=True, eq=False)
class NodeInputs:
    """Features and observed graph of N nodes."""

    raw: csr_array  # (N, F), features as they were given
    graph: csr_array  # (N, N)
    features_from: str  # "given", "identity" or "degree"
    graph_from: str  # "given" or "neighbours"
    notes: tuple[str, ...]  # what was chosen for the user
    names: tuple[Any, ...] | None = None  # of the nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.graph.shape[0])

    @property
    def normalised_by(self) -> str:
        """How rows are normalised for networks: by "sum", or by "length" if some are negative."""
        return "sum" if self.raw.nnz == 0 or self.raw.data.min() >= 0.0 else "length"

    @property
    def features(self) -> csr_array:
        """The features (N, F) with rows normalised so."""
        return normalise_features(self.raw, by=self.normalised_by)

    def _check_saved(self) -> None:
        if self.raw.shape[0] != self.n_nodes or self.graph.shape[1] != self.n_nodes:
            raise InputError("features and graph are not of the same nodes.")
        if self.names is not None and len(self.names) != self.n_nodes:
            raise InputError("the nodes have names, but not each of them.")


def complete_inputs(
    features: Any, graph: Any, n_nodes: int, names: Sequence[Hashable] | None = None
) -> NodeInputs:
    """Check features and graph, and fill in what is missing; `names` are those of the features."""
    if features is None and graph is None:
        raise InputError("neither features nor a graph is given; give at least one of them.")
    notes = []
    rows = None if features is None else check_features(features, n_nodes)
    links = None
    if graph is not None:
        links, names = _named_adjacency(graph, n_nodes, names, has_rows=rows is not None)
    if rows is None:
        assert links is not None
        features_from = "identity" if n_nodes <= LARGEST_IDENTITY else "degree"
        rows = eye_array(n_nodes, format="csr") if features_from == "identity" else degrees(links)
        notes.append(f"no features given: {features_from} features are used")
    else:
        features_from = "given"
    if links is None:
        links, metric = neighbour_graph(rows)
        notes.append(
            f"no graph given: the graph of the {min(NEIGHBOURS, n_nodes - 1)} nearest neighbours "
            f"by {metric} distance of the features is used"
        )
    graph_from = "neighbours" if graph is None else "given"
    own = None if names is None else tuple(names)
    found = NodeInputs(csr_array(rows), links, features_from, graph_from, (), own)
    if found.normalised_by == "length":
        notes.append("features have negative values: rows are divided by length, not by sum")
    return replace(found, notes=tuple(notes))


def _named_adjacency(
    graph: Any, n_nodes: int, names: Sequence[Hashable] | None, has_rows: bool
) -> tuple[csr_array, Sequence[Hashable] | None]:
    """Return the graph (N, N) in the order of the rows, and the names of the nodes.

    Where rows and graph have names, they are matched by these. Whole numbers are sorted where rows
    have none; other names do not say which row each is.
    """
    own = graph_names(graph)
    if own is None and names is not None and hasattr(graph, "nodes"):
        own = list(graph.nodes) if set(graph.nodes) == set(names) else None
    if own is None:
        return as_adjacency(graph, n_nodes), names
    if names is None and has_rows:
        return as_adjacency(graph, n_nodes), own
    if names is None:
        names = sorted(own) if all(isinstance(name, int) for name in own) else own
    strange = next((name for name in own if name not in set(names)), None)
    if strange is not None:
        raise InputError(
            f"node {strange!r} of the graph is not in the index of X; give both the same names, or "
            "X.reset_index(drop=True) for rows in the order of the graph's nodes."
        )
    return as_adjacency(graph, n_nodes, node_names=names), names


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
    """Return log(1 + weighted degree) of every node beside a constant, shape (N, 2)."""
    degree = np.log1p(np.asarray(graph.sum(axis=1)).ravel())
    return csr_array(np.column_stack([degree, np.ones_like(degree)]))


def neighbour_graph(features: csr_array, k: int = NEIGHBOURS) -> tuple[csr_array, str]:
    """Link every node with its k nearest others, in either direction."""
    nodes = features.shape[0]
    if nodes < 2:
        raise InputError(f"{nodes} node has no neighbours; give at least two nodes, or a graph.")
    by_angle = _mostly_zero(features)
    graph = distance_graph(_distance(features, by_angle), k)
    return graph, "cosine" if by_angle else "Euclidean"


def distance_graph(distance: Distance, k: int) -> csr_array:
    """Link every node with its k nearest others by a distance, in either direction: 0/1 (N, N)."""
    nodes = distance.n_nodes
    engine, k = choose_engine("auto", nodes, distance), min(k, nodes - 1)
    found, _ = all_neighbours(distance.queries, distance.base, k, engine=engine, same=True)
    sources, targets = np.nonzero(found >= 0)[0], found[found >= 0]
    return adjacency_from_edges(sources, targets, None, nodes)


def nearest_fitted(features: csr_array, new: csr_array, k: int = NEIGHBOURS) -> NDArray[np.int64]:
    """Return the pairs (new node, one of its k nearest fitted nodes), shape (pairs, 2)."""
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


# --- nodes that join after the fit ----------------------------------------------------------------


def extend_inputs(inputs: NodeInputs, features: Any, edges: Any) -> NodeInputs:
    """Add new nodes, numbered N, N + 1, ..., to features and graph.

    Without features of their own they are known by their edges alone. Edges are rows of two node
    numbers, at least one of them new, optionally with a weight. None: no edges, or, if the graph is
    the neighbour graph of the features, from the nearest fitted nodes to them: new nodes learn from
    fitted ones, not the other way round, so that each is predicted alike in any company.
    """
    fitted = inputs.n_nodes
    table = None if edges is None else _checked_edges(edges, fitted)
    new = _new_features(inputs, features, table)
    count = new.shape[0]
    graph = _extended_graph(inputs.graph, table, count)
    if table is None and inputs.graph_from == "neighbours":
        own, near = nearest_fitted(inputs.raw, new).T
        graph = csr_array(graph + csr_array((np.ones(len(own)), (own, near)), shape=graph.shape))
    if inputs.features_from == "degree":
        raw = degrees(graph)
    else:
        raw = csr_array(vstack([inputs.raw, new], format="csr"))
    return replace(inputs, raw=raw, graph=graph)


def _checked_edges(edges: Any, fitted: int) -> NDArray[np.float64]:
    """Return edges as numbers, shape (E, 2) or (E, 3)."""
    table = gate.as_floats("edges", edges)
    if table.size == 0:
        return np.empty((0, 2))
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise InputError(f"edges has shape {table.shape}; give one pair (i, j) per row.")
    gate.check_finite("edges", table)
    ends = table[:, :2]
    if (ends != np.floor(ends)).any() or (ends < 0).any():
        raise InputError("edges must hold node numbers 0, 1, 2, ... in its pairs.")
    old = (ends < fitted).all(axis=1)
    if old.any():
        first, second = ends[old.argmax()].astype(int)
        raise InputError(
            f"edges joins the fitted nodes {first} and {second}; give edges of new nodes only, "
            f"which are numbered from {fitted} on."
        )
    return table


def _new_features(
    inputs: NodeInputs, features: Any, edges: NDArray[np.float64] | None
) -> csr_array:
    fitted, width = inputs.raw.shape
    if inputs.features_from == "given":
        if features is None:
            raise InputError(f"X is None; give the {width} features of each new node.")
        new = check_features(features, np.shape(features)[0] if np.ndim(features) else 0, "X")
        if new.shape[1] != width:
            raise InputError(
                f"X has {new.shape[1]} features, but the fitted nodes have {width}; give the same."
            )
        return new
    if features is not None:
        raise InputError("X is given, but the classifier was fitted without features; use X=None.")
    if edges is None or not len(edges):
        raise InputError("edges is empty; without features, new nodes are known by edges alone.")
    count = int(edges[:, :2].max()) + 1 - fitted
    if count > edges.shape[0] * 2:
        raise InputError(
            f"edges names node {fitted + count - 1}, but has too few edges for that many new nodes "
            f"without features; number them {fitted}, {fitted + 1}, ..."
        )
    return csr_array((count, width), dtype=np.float64)


def _extended_graph(graph: csr_array, edges: NDArray[np.float64] | None, count: int) -> csr_array:
    total = graph.shape[0] + count
    extended = csr_array(block_diag([graph, csr_array((count, count))], format="csr"))
    if edges is None or not len(edges):
        return extended
    weights = edges[:, 2] if edges.shape[1] == 3 else None
    sources, targets = edges[:, :2].astype(np.int64).T
    added = adjacency_from_edges(sources, targets, weights, total)
    return csr_array(extended + added)
