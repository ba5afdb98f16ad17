"""Graphs in the one form that every room understands, and conversions to and from it.

The canonical adjacency matrix is a `scipy.sparse.csr_array` of float64: symmetric, zero diagonal,
sorted indices, no stored zeros. NetworkX, igraph, PyTorch Geometric and pandas are imported only
when one of their objects is wanted or given.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from truegraph import gate
from truegraph.data.containers import Features
from truegraph.errors import InputError
from truegraph.extras import import_extra

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas as pd
    from torch_geometric.data import Data

NodeNames = Sequence[Hashable] | NDArray[Any]

_MOST_NODES = 2**31 - 1  # the product of two node numbers must fit into 64 bits


def as_adjacency(
    graph: Any, n_nodes: int | None = None, *, node_names: NodeNames | None = None
) -> sparse.csr_array:
    """Return the canonical adjacency matrix of a graph in any of the usual forms.

    Direction is ignored: an edge's weight is the larger one of both directions. Self-loops and
    zero weights are dropped. The input is not changed.

    Parameters
    ----------
    graph : sparse matrix, ndarray, networkx.Graph, igraph.Graph, torch_geometric.data.Data or \
DataFrame
        A square matrix; or a NetworkX or igraph graph (weights in the edge attribute "weight", 1 if
        absent); or PyG data (weights in `edge_weight` or a one-column `edge_attr`); or a table with
        the columns "source", "target" and optionally "weight".
    n_nodes : int, optional
        Number of rows that the nodes must fit; by default the size of the matrix or graph, or one
        more than the largest node number of a table. A graph whose nodes have other names than
        0 to n - 1 or 1 to n then needs `node_names`.
    node_names : sequence, optional
        Names of the nodes in the order of the rows. By default nodes called 0 to n - 1, or 1 to n,
        are in the order of their numbers, and others in the order of the graph (see
        `graph_names`); a table holds node numbers.

    Returns
    -------
    adjacency : csr_array of float64, shape (n_nodes, n_nodes)

    Raises
    ------
    InputError
        If the form is unknown, a weight is negative or not finite, or sizes do not fit.
    """
    libraries = _libraries(graph)
    if sparse.issparse(graph) or isinstance(graph, np.ndarray) or "torch" in libraries:
        adjacency = _from_matrix(gate.plain("graph", graph))
    elif libraries & {"networkx", "igraph"}:
        adjacency = _from_library(graph, _wanted_names(graph, n_nodes, node_names))
    elif "torch_geometric" in libraries:
        adjacency = _from_pyg(graph)
    elif "pandas" in libraries:
        adjacency = _from_pandas(graph, n_nodes, node_names)
    else:
        raise InputError(
            f"graph has type {type(graph).__name__}, which cannot be read as a graph; give a "
            "SciPy sparse matrix, a square NumPy array, a NetworkX or igraph graph, PyTorch "
            "Geometric data or a pandas table with the columns source and target."
        )
    if n_nodes is not None and adjacency.shape[0] != n_nodes:
        raise InputError(f"graph has {adjacency.shape[0]} nodes, but {n_nodes} are expected.")
    return adjacency


def graph_names(graph: Any) -> list[Any] | None:
    """Return the names that a graph gives its nodes, in the order of `as_adjacency`'s rows.

    They are the nodes of a NetworkX graph, the vertex attribute "name" of an igraph graph, or the
    ends in a table of edges, sorted. None where nodes are the numbers 0 to n - 1.
    """
    libraries = _libraries(graph)
    if libraries & {"networkx", "igraph"}:
        names = _own_names(graph)
        numbers = set(range(len(names) + 1))
        if set(names) == numbers - {len(names)}:
            return None
        return sorted(names) if set(names) == numbers - {0} else names
    if "pandas" not in libraries or not {"source", "target"} <= set(graph.columns):
        return None
    ends = [graph[column] for column in ("source", "target")]
    if all(end.dtype.kind in "iu" for end in ends):
        return None
    return sorted(import_module("pandas").unique(np.concatenate([list(end) for end in ends])))


def _libraries(graph: Any) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(graph).__mro__}


def _own_names(graph: Any) -> list[Any]:
    """Return the nodes of a NetworkX graph; names of an igraph graph, numbers if it has none."""
    if "networkx" in _libraries(graph):
        return list(graph.nodes)
    return list(graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount()))


def _wanted_names(graph: Any, n_nodes: int | None, given: NodeNames | None) -> list[Any]:
    """Return the names of the rows, which only numbers, or the caller, can put into an order."""
    if given is not None:
        return list(given)
    names = graph_names(graph)
    if names is None:
        return list(range(len(_own_names(graph))))
    if n_nodes is not None and set(names) != set(range(1, len(names) + 1)):
        raise InputError(
            f"the nodes of graph have names such as {names[0]!r}, which do not say which row each "
            "is; call them 0 to n - 1, or give a table whose index has these names."
        )
    return names


def adjacency_from_edges(
    sources: NDArray[np.integer],
    targets: NDArray[np.integer],
    weights: NDArray[np.floating] | None,
    n_nodes: int,
) -> sparse.csr_array:
    """Build the canonical adjacency matrix from lists of edge ends.

    Direction is ignored, self-loops are dropped, and an edge that is listed more than once keeps
    its largest weight.
    """
    n_nodes = gate.whole_number("n_nodes", n_nodes, at_most=_MOST_NODES)
    first, second = (
        gate.indices(name, ends, n_nodes)
        for name, ends in (("sources", sources), ("targets", targets))
    )
    if first.size != second.size:
        raise InputError(f"sources has {first.size} nodes and targets {second.size}; give edges.")
    low, high = np.minimum(first, second), np.maximum(first, second)
    real = low != high
    keys, position = np.unique(low[real] * n_nodes + high[real], return_inverse=True)
    values = np.ones(len(keys))
    if weights is not None:
        values[:] = 0.0
        checked = _checked_weights(weights)
        if checked.shape != low.shape:
            raise InputError(
                f"weights has shape {checked.shape} for {low.size} edges; give one per edge."
            )
        np.maximum.at(values, position, checked[real])
    low, high = np.divmod(keys, max(n_nodes, 1))
    upper = sparse.coo_array((values, (low, high)), shape=(n_nodes, n_nodes))
    return _canonical(sparse.csr_array(upper + upper.T))


def _canonical(adjacency: sparse.csr_array) -> sparse.csr_array:
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    return adjacency


def _checked_weights(weights: ArrayLike) -> NDArray[np.float64]:
    values = gate.as_floats("edge weights", weights)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise InputError(
            f"edge weights must be finite and not negative, but one is {values[bad].flat[0]}; "
            "remove or correct these edges."
        )
    return values


def _from_matrix(graph: Any) -> sparse.csr_array:
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"graph has shape {graph.shape}; an adjacency matrix must be square.")
    directed = sparse.csr_array(gate.table("graph", graph, finite=False))
    _checked_weights(directed.data)
    adjacency = sparse.csr_array(directed.maximum(directed.T))
    # A copy, so that the caller's matrix keeps its diagonal.
    entries = sparse.coo_array(adjacency)
    real = entries.row != entries.col
    ends = entries.row[real], entries.col[real]
    return _canonical(sparse.csr_array((entries.data[real], ends), shape=adjacency.shape))


def _from_library(graph: Any, names: list[Any]) -> sparse.csr_array:
    """Return the matrix of a NetworkX or igraph graph, its nodes in the order of `names`."""
    number = {name: place for place, name in enumerate(names)}
    own = _own_names(graph)
    unknown = next((name for name in own if name not in number), None)
    if unknown is not None:
        raise InputError(f"node {unknown!r} of the graph is not in node_names.")
    weights: Any = None
    if "networkx" in _libraries(graph):
        edges = list(graph.edges(data="weight", default=1.0))
        ends = [(number[i], number[j]) for i, j, _ in edges]
        weights = gate.as_floats("edge weights", np.array([w for *_, w in edges], dtype=object))
    else:
        ends = [(number[own[i]], number[own[j]]) for i, j in graph.get_edgelist()]
        weights = np.array(graph.es["weight"]) if graph.is_weighted() else None
    sources, targets = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return adjacency_from_edges(sources, targets, weights, len(names))


def _from_pyg(data: Any) -> sparse.csr_array:
    if data.edge_index is None:
        raise InputError("the PyTorch Geometric data has no edge_index; set it, or pass no graph.")
    sources, targets = data.edge_index.detach().cpu().numpy()
    weights = getattr(data, "edge_weight", None)
    weights = data.edge_attr if weights is None else weights
    if weights is not None:
        weights = weights.detach().cpu().numpy()
        if weights.size != len(sources):
            raise InputError(
                f"edge_attr has shape {weights.shape}, but a graph needs one weight per edge; "
                "set edge_weight, or remove edge_attr."
            )
        weights = weights.reshape(-1)
    return adjacency_from_edges(sources, targets, weights, int(data.num_nodes))


def _from_pandas(table: Any, n_nodes: int | None, node_names: NodeNames | None) -> sparse.csr_array:
    if not {"source", "target"} <= set(table.columns):
        raise InputError(
            "the edge table needs the columns source and target; found "
            f"{list(table.columns)}; rename its columns."
        )
    columns = table["source"], table["target"]
    if node_names is not None:
        names = import_module("pandas").Index(node_names)
        ends = [names.get_indexer(column) for column in columns]
        for column, end in zip(columns, ends, strict=True):
            if (end < 0).any():
                unknown = column.iloc[int(np.argmax(end < 0))]
                raise InputError(f"{column.name} {unknown!r} of the graph is not in node_names.")
        n_nodes = len(names)
    elif all(column.dtype.kind in "iu" for column in columns):
        ends = [column.to_numpy() for column in columns]
    else:
        raise InputError("the edge table holds names, not node numbers; give node_names too.")
    if n_nodes is None:
        n_nodes = max((int(end.max()) + 1 for end in ends if len(end)), default=0)
    weights = table["weight"].to_numpy() if "weight" in table.columns else None
    return adjacency_from_edges(ends[0], ends[1], weights, n_nodes)


def to_networkx(adjacency: sparse.csr_array, node_names: NodeNames | None = None) -> networkx.Graph:
    """Return a NetworkX graph with the edge attribute "weight", of a symmetric matrix.

    Nodes have the given names, by default their numbers.
    """
    adjacency = gate.sparse_matrix("adjacency", adjacency)
    graph = import_extra("networkx").Graph()
    names = _names(adjacency, node_names)
    graph.add_nodes_from(names)
    rows, columns, weights = _upper(adjacency)
    graph.add_weighted_edges_from(
        (names[i], names[j], weight)
        for i, j, weight in zip(rows.tolist(), columns.tolist(), weights.tolist(), strict=True)
    )
    return graph


def to_igraph(adjacency: sparse.csr_array, node_names: NodeNames | None = None) -> igraph.Graph:
    """Return an igraph graph with the edge attribute "weight", as leidenalg takes it."""
    rows, columns, weights = _upper(adjacency)
    graph = import_extra("igraph").Graph(
        n=adjacency.shape[0],
        edges=np.column_stack([rows, columns]),
        edge_attrs={"weight": weights.tolist()},
    )
    if node_names is not None:
        graph.vs["name"] = _names(adjacency, node_names)
    return graph


def to_pyg(
    adjacency: sparse.csr_array,
    features: Features | None = None,
    labels: NDArray[np.int64] | None = None,
) -> Data:
    """Return PyTorch Geometric data with `edge_index` (both directions) and `edge_weight`.

    Parameters
    ----------
    adjacency : csr_array, shape (n_nodes, n_nodes)
        Symmetric adjacency matrix.
    features : csr_array or ndarray, shape (n_nodes, n_features), optional
        Becomes the dense `x`.
    labels : ndarray of int, shape (n_nodes,), optional
        Becomes `y`.
    """
    data_class = import_extra("torch_geometric.data").Data
    torch = import_module("torch")
    entries = sparse.coo_array(gate.sparse_matrix("adjacency", adjacency))
    nodes = int(adjacency.shape[0])
    data = data_class(
        edge_index=torch.tensor(np.stack([entries.row, entries.col]), dtype=torch.int64),
        edge_weight=torch.tensor(entries.data, dtype=torch.float32),
        num_nodes=adjacency.shape[0],
    )
    if features is not None:
        rows = gate.table("features", features, shape=(nodes, None))
        dense = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
        data.x = torch.tensor(dense, dtype=torch.float32)
        gate.check_finite("features as float32", data.x.numpy())
    if labels is not None:
        data.y = torch.tensor(gate.whole_numbers("labels", labels, length=nodes))
    return data


def to_pandas(adjacency: sparse.csr_array, node_names: NodeNames | None = None) -> pd.DataFrame:
    """Return a table with the columns source, target and weight, each undirected edge once.

    Nodes have the given names, by default their numbers.
    """
    import pandas as pd

    adjacency = gate.sparse_matrix("adjacency", adjacency)
    rows, columns, weights = _upper(adjacency)
    names = np.asarray(_names(adjacency, node_names))
    return pd.DataFrame({"source": names[rows], "target": names[columns], "weight": weights})


def _upper(adjacency: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    entries = sparse.coo_array(sparse.triu(adjacency, k=1, format="csr"))
    return entries.row, entries.col, entries.data


def _names(adjacency: sparse.csr_array, node_names: NodeNames | None) -> list[Any]:
    if node_names is None:
        return list(range(adjacency.shape[0]))
    if len(node_names) != adjacency.shape[0]:
        raise InputError(f"node_names has {len(node_names)} names for {adjacency.shape[0]} nodes.")
    return node_names.tolist() if isinstance(node_names, np.ndarray) else list(node_names)
