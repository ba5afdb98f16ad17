"""What a data set is: nodes with features, labels and an observed graph, each of them optional."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.data.column_plan import ColumnPlan

UNLABELLED = -1

Features = sparse.csr_array | NDArray[np.float32] | NDArray[np.float64]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """Three disjoint sets of nodes.

    Attributes
    ----------
    train, validation, test : ndarray of int64
        Node numbers.
    """

    train: IndexArray
    validation: IndexArray
    test: IndexArray


@dataclass(frozen=True, eq=False)
class NodeDataset:
    """Nodes with features, labels and a graph.

    Attributes
    ----------
    name : str
        Name of the data set.
    labels : ndarray of int64, shape (n_nodes,)
        Class of every node; -1 where it is not known.
    features : csr_array or ndarray of float32 or float64, shape (n_nodes, n_features), or None
        One row per node.
    graph : csr_array of float64, shape (n_nodes, n_nodes), or None
        Observed graph: symmetric, zero diagonal, sorted indices, no stored zeros; 0/1 unless the
        edges carry weights.
    class_names : tuple of str, or None
        Name of each class.
    node_names : ndarray of str, shape (n_nodes,), or None
        Name of each node.
    public_split : NodeSplit or None
        The split that the data set was published with.
    component_nodes : ndarray of int64, or None
        Nodes of the component that `largest_component` keeps; None means the plain largest one.
    origin, licence : str
        Where the data come from and under which terms.
    source : str
        Where this copy was found: "data_home", "TRUEGRAPH_DATA", "embedded", "scikit-learn",
        "download" or "files".
    notes : tuple of str
        What was changed on reading, for instance dropped self-loops.
    plan : ColumnPlan or None
        How the columns of the user's table became features.
    """

    name: str
    labels: IndexArray
    features: Features | None = None
    graph: sparse.csr_array | None = None
    class_names: tuple[str, ...] | None = None
    node_names: NDArray[np.str_] | None = None
    public_split: NodeSplit | None = None
    component_nodes: IndexArray | None = None
    origin: str = ""
    licence: str = ""
    source: str = "files"
    notes: tuple[str, ...] = ()
    plan: ColumnPlan | None = None

    def __post_init__(self) -> None:
        gate.whole_numbers("labels", self.labels)
        n_nodes = len(self.labels)
        if self.graph is not None:
            gate.sparse_matrix("graph", self.graph, shape=(n_nodes, n_nodes), nonnegative=True)
        if self.features is not None:
            gate.table("features", self.features, shape=(n_nodes, None))
        if self.node_names is not None and len(self.node_names) != n_nodes:
            raise InputError(
                f"{len(self.node_names)} node_names for {n_nodes} labels; give as many."
            )
        if self.component_nodes is not None:
            gate.indices("component_nodes", self.component_nodes, self.n_nodes)
        if self.public_split is not None:
            for part in ("train", "validation", "test"):
                nodes = getattr(self.public_split, part)
                gate.indices(f"{part} nodes of public_split", nodes, self.n_nodes)
        most = np.inf if self.class_names is None else len(self.class_names)
        if n_nodes and not UNLABELLED <= self.labels.min() <= self.labels.max() < most:
            raise InputError(
                f"data set {self.name!r}: labels must lie between -1 (unlabelled) and the number "
                f"of classes; found {self.labels.min()} to {self.labels.max()}."
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        if self.class_names is not None:
            return len(self.class_names)
        return int(self.labels.max(initial=UNLABELLED)) + 1

    def restrict(self, nodes: IndexArray) -> NodeDataset:
        """Return the data set of the given nodes, numbered in the given order.

        Parameters
        ----------
        nodes : ndarray of int64, shape (n_kept,)
            Distinct node numbers. Nodes of the public split that are not kept leave it.
        """
        nodes = gate.indices("nodes", nodes, self.n_nodes)
        position = np.full(self.n_nodes, -1, dtype=np.int64)
        position[nodes] = np.arange(len(nodes))
        split = self.public_split
        if split is not None:
            places = (position[part] for part in (split.train, split.validation, split.test))
            split = NodeSplit(*(place[place >= 0] for place in places))
        return replace(
            self,
            labels=self.labels[nodes],
            features=None if self.features is None else self.features[nodes],
            graph=None if self.graph is None else self.graph[nodes][:, nodes].sorted_indices(),
            node_names=None if self.node_names is None else self.node_names[nodes],
            public_split=split,
            component_nodes=None,
        )

    def largest_component(self) -> NodeDataset:
        """Return the data set of the largest connected component, nodes in the old order."""
        if self.graph is None:
            raise InputError(
                f"data set {self.name!r} has no graph, so it has no components. "
                'Use component="full".'
            )
        if self.component_nodes is not None:
            return self.restrict(self.component_nodes)
        return self.restrict(largest_component_nodes(self.graph))

    def statistics(self) -> dict[str, int | float | None]:
        """Return the numbers that describe the data set.

        Returns
        -------
        statistics : dict
            nodes, edges (undirected), features, classes, unlabelled (nodes), isolated (nodes
            without an edge) and homophily (share of the edges between labelled nodes that join
            equal labels); None where there is no graph or there are no features.
        """
        graph = self.graph
        return {
            "nodes": self.n_nodes,
            "edges": None if graph is None else graph.nnz // 2,
            "features": None if self.features is None else int(self.features.shape[1]),
            "classes": self.n_classes,
            "unlabelled": int(np.count_nonzero(self.labels == UNLABELLED)),
            "isolated": None if graph is None else int((np.diff(graph.indptr) == 0).sum()),
            "homophily": None if graph is None else homophily(graph, self.labels),
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of features, labels, graph and public split; names and origin do not count."""
        digest = hashlib.sha256()
        for label, array in self._content():
            digest.update(f"{label}:{array.dtype.str}:{array.shape};".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _content(self) -> list[tuple[str, NDArray[Any]]]:
        parts: list[tuple[str, NDArray[Any]]] = [("labels", self.labels)]
        for name, matrix in (("features", self.features), ("graph", self.graph)):
            if isinstance(matrix, sparse.csr_array):
                parts += _csr_content(name, matrix)
            elif matrix is not None:
                parts.append((name, matrix))
        if self.public_split is not None:
            split = self.public_split
            for name in ("train", "validation", "test"):
                parts.append((name, getattr(split, name)))
        return parts


def _csr_content(name: str, matrix: sparse.csr_array) -> list[tuple[str, NDArray[Any]]]:
    # The width of the index type depends on how the matrix was made; the content does not.
    return [
        (f"{name}.shape", np.asarray(matrix.shape, dtype=np.int64)),
        (f"{name}.indptr", matrix.indptr.astype(np.int64)),
        (f"{name}.indices", matrix.indices.astype(np.int64)),
        (f"{name}.data", matrix.data),
    ]


def homophily(graph: sparse.csr_array, labels: IndexArray) -> float | None:
    """Return the share of the edges between labelled nodes that join equal labels."""
    ends = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    known = (ends[0] != UNLABELLED) & (ends[1] != UNLABELLED)
    return float(np.mean(ends[0][known] == ends[1][known])) if known.any() else None


def largest_component_nodes(
    graph: sparse.csr_array, among: NDArray[np.bool_] | None = None
) -> IndexArray:
    """Return the nodes of the largest connected component, ascending."""
    from scipy.sparse import csgraph  # slow to import, and rarely needed

    nodes = np.arange(graph.shape[0]) if among is None else np.flatnonzero(among)
    if len(nodes) == 0:
        return nodes
    _, component = csgraph.connected_components(graph[nodes][:, nodes], directed=False)
    return nodes[component == np.bincount(component).argmax()]
