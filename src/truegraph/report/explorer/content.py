"""What the explorer shows of a graph, by its size: all edges, those of a selection, or clusters."""

from __future__ import annotations

import base64
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph import gate
from truegraph.data.adjacency import as_adjacency
from truegraph.data.frames import as_pandas
from truegraph.data.identifiers import check_names, unknown_id
from truegraph.data.vectorising import is_table, vectorised
from truegraph.errors import InputError
from truegraph.learning import LearnedGraph
from truegraph.learning.clusters import clusters
from truegraph.report.explorer.columns import (
    NO_VALUE,
    Column,
    Predictions,
    category_column,
    number_column,
    read_predictions,
    table_columns,
)
from truegraph.report.explorer.edges import gather_edges, shared_features
from truegraph.report.explorer.layout import layout

ALL_NODES, ALL_EDGES = 5_000, 50_000  # up to here every edge is drawn
MOST_NODES = 50_000  # up to here every node is
_MOST_EDGES = 1_000_000
_NEAR_NODES = 2_000  # around a centre
_CLASSES_SHOWN = 5
_REPRESENTATIVES = 12  # of a cluster
_NEXT = 20  # nodes to label next
_MOST_FEATURES = 60_000  # what 16 bits count

_NOTHING: dict[str, Any] = {  # what a page may lack
    **{"features": 0, "featureNames": [], "classes": None, "hasObserved": False, "members": None},
    "next": {"nodes": [], "reason": ""},
}

Integers = NDArray[np.int64]


class Known(NamedTuple):
    """What is known of all nodes beside the graph, checked."""

    names: Sequence[Hashable] | None
    labels: Column | None
    predictions: Predictions | None
    columns: Sequence[Column]  # of the features
    features: Any  # as numbers (n_nodes, n_features)
    feature_names: Sequence[str]
    observed: csr_array | None


def check_known(
    graph: LearnedGraph,
    labels: Any = None,
    names: Any = None,
    features: Any = None,
    predictions: Any = None,
    observed: Any = None,
) -> Known:
    """Check the arguments of `LearnedGraph.explore`."""
    size = graph.n_nodes
    own = graph.names if names is None else check_names(names, size)
    label = None if labels is None else category_column("label", labels, size)
    classes = list((label.categories if label is not None else None) or ())
    found = None if predictions is None else read_predictions(predictions, own, size, classes)
    seen = None if observed is None else as_adjacency(observed)
    if seen is not None and seen.shape[0] != size:
        raise InputError(
            f"observed has {seen.shape[0]} nodes, but the graph has {size}; give the graph of "
            "the same nodes."
        )
    return Known(own, label, found, *_checked_features(features, size), seen)


def _checked_features(features: Any, size: int) -> tuple[list[Column], Any, list[str]]:
    """Return columns to show, the features as numbers, and the names of these."""
    if features is None:
        return [], None, []
    columns: list[Column] = []
    if is_table(features):
        frame = as_pandas(features)
        if len(frame) != size:
            raise InputError(f"features has {len(frame)} rows for {size} nodes; give one each.")
        columns = table_columns(frame)
        points, plan = vectorised(features, None)
        names = [] if plan is None else [str(name) for name in plan.get_feature_names_out()]
    else:
        points = gate.table("features", features, shape=(size, None))
        names = [f"column {number}" for number in range(points.shape[1])]
        if not issparse(points):
            columns = table_columns(pd.DataFrame(points, columns=names))
    if points.shape[1] > _MOST_FEATURES:
        raise InputError(
            f"features has {points.shape[1]} columns, more than {_MOST_FEATURES}; pass fewer, such "
            "as those that occur in more than one node."
        )
    return columns, points, names


def content(graph: LearnedGraph, known: Known, centre: Hashable | None, title: str) -> dict:
    """Return what the page shows, as JSON holds it; arrays are in base64."""
    if centre is None and graph.n_nodes > MOST_NODES:
        return {"title": title, **_cluster_content(graph, known)}
    nodes = np.arange(graph.n_nodes)
    if centre is not None:
        nodes = _near(graph.adjacency, _number(centre, known.names, graph.n_nodes))
    return {"title": title, **_node_content(graph, known, nodes)}


def _number(name: Hashable, names: Sequence[Hashable] | None, size: int) -> int:
    known = range(size) if names is None else names
    for number, other in enumerate(known):
        if other == name or str(other) == str(name):
            return number
    raise unknown_id(name, list(known), "centre")


def _near(adjacency: csr_array, centre: int) -> Integers:
    """Return a node, its neighbours and theirs, the nearest by weight if they are many."""
    near = np.array([centre])
    strength = np.array([np.inf])  # smallest weight on the way to each of the last ones found
    last = near
    for _ in range(2):
        rows = adjacency[last].tocoo()
        reached = np.minimum(rows.data, strength[rows.row])
        best = pd.Series(reached).groupby(rows.col).max()
        best = best[~best.index.isin(near)].sort_values(ascending=False, kind="stable")
        best = best.head(_NEAR_NODES - near.size)
        last, strength = best.index.to_numpy(), best.to_numpy()
        near = np.concatenate([near, last])
    return np.sort(near).astype(np.int64)


def _node_content(graph: LearnedGraph, known: Known, nodes: Integers) -> dict[str, Any]:
    inside = csr_array(graph.memberships()[nodes][:, nodes])
    edges = gather_edges(graph, known.observed, nodes, _MOST_EDGES)
    draws_all = len(nodes) <= ALL_NODES and len(edges) <= ALL_EDGES
    names = known.names
    if names is None and nodes.size < graph.n_nodes:
        names = range(graph.n_nodes)
    shared = None
    if known.features is not None and known.features.shape[1] > 1:
        ends = (nodes[edges[name].to_numpy()] for name in ("source", "target"))
        shared = _packed(shared_features(known.features, *ends))
    return _NOTHING | {
        "unit": "node",
        "drawsAll": draws_all,
        "count": int(nodes.size),
        "names": None if names is None else [str(names[node]) for node in nodes],
        "places": _packed(layout(inside).astype(np.float32)),
        "columns": [_packed_column(one) for one in _node_columns(graph, known, nodes, inside)],
        "features": len(known.columns),
        "classes": _packed_classes(known.predictions, nodes),
        "edges": _packed_edges(edges) | {"shared": shared},
        "hasObserved": known.observed is not None,
        "featureNames": list(known.feature_names),
        "next": _next(graph, known, nodes),
        "notes": [] if draws_all else ["Only the edges of the selected node are drawn."],
    }


def _node_columns(
    graph: LearnedGraph, known: Known, nodes: Integers, inside: csr_array
) -> list[Column]:
    columns = [] if known.labels is None else [known.labels]
    columns += [] if known.predictions is None else known.predictions.columns
    group = clusters(inside)
    names = [f"cluster {number + 1}" for number in range(int(group.max()) + 1)]
    codes = np.where(group < NO_VALUE, group, NO_VALUE).astype(np.uint16)
    return [
        *(column.of(nodes) for column in columns),
        Column("cluster", codes, names),
        number_column("edges", np.diff(graph.adjacency.indptr)[nodes]),
        number_column("weight of edges", graph.adjacency.sum(axis=1)[nodes]),
        *(column.of(nodes) for column in known.columns),
    ]


def _next(graph: LearnedGraph, known: Known, nodes: Integers) -> dict[str, Any]:
    """Return the nodes without a label to label next, among those shown, and their order."""
    rank: NDArray[Any] = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    reason = "Nodes with the heaviest edges."
    if known.predictions is not None:
        rank = known.predictions.uncertainty
        reason = "Nodes whose prediction is the least certain: mutual information, else entropy."
    labelled = None if known.labels is None else known.labels.values != NO_VALUE
    if labelled is not None and not labelled.all():
        rank = np.where(labelled, 0.0, rank)
    order = np.argsort(-rank[nodes], kind="stable")[:_NEXT]
    return {"nodes": order[rank[nodes][order] > 0.0].tolist(), "reason": reason}


def _cluster_content(graph: LearnedGraph, known: Known) -> dict[str, Any]:
    """Return clusters in place of nodes, with their largest nodes to begin from."""
    group = clusters(graph.adjacency)
    count = int(group.max()) + 1
    member = csr_array((np.ones(group.size), (np.arange(group.size), group)))
    between = csr_array(member.T @ graph.adjacency @ member)
    inner = between.diagonal() / np.maximum(np.asarray(between.sum(axis=1)).ravel(), 1e-300)
    between.setdiag(0.0)
    between.eliminate_zeros()
    sizes = np.bincount(group, minlength=count)
    columns = [number_column("nodes", sizes), number_column("share of weight inside", inner)]
    predicted = () if known.predictions is None else known.predictions.columns[:1]
    for column in [c for c in (known.labels, *predicted) if c is not None]:
        columns += _per_cluster(column, group, count)
    ends = between.tocoo()
    ahead = ends.row < ends.col
    edges = pd.DataFrame({"source": ends.row, "target": ends.col, "weight": ends.data})[ahead]
    return _NOTHING | {
        "unit": "cluster",
        "drawsAll": len(edges) <= ALL_EDGES,
        "count": count,
        "names": [f"cluster {number + 1}: {sizes[number]:,} nodes" for number in range(count)],
        "places": _packed(layout(between).astype(np.float32)),
        "columns": [_packed_column(column) for column in columns],
        "edges": _packed_edges(edges.assign(kind=1)) | {"shared": None},
        "notes": [
            f"{graph.n_nodes:,} nodes, more than {MOST_NODES:,}: every dot is a cluster. Pass "
            "centre= (--centre) and a node's name to see its neighbourhood."
        ],
        "members": _largest(graph.adjacency, group, known.names),
    }


def _largest(
    adjacency: csr_array, group: Integers, names: Sequence[Hashable] | None
) -> list[list[str]]:
    """Return the names of the nodes of each cluster that have the heaviest edges."""
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    order = np.lexsort((np.arange(group.size), -degree, group))
    parts = np.split(order, np.cumsum(np.bincount(group))[:-1])
    known = range(group.size) if names is None else names
    return [[str(known[node]) for node in part[:_REPRESENTATIVES]] for part in parts]


def _per_cluster(column: Column, group: Integers, count: int) -> list[Column]:
    """Return the most frequent category of each cluster, and its share."""
    categories = list(column.categories or ())
    has = column.values != NO_VALUE
    table = np.zeros((count, len(categories)))
    np.add.at(table, (group[has], column.values[has].astype(np.int64)), 1.0)
    total = table.sum(axis=1)
    main = np.where(total > 0, table.argmax(axis=1), NO_VALUE).astype(np.uint16)
    share = table.max(axis=1, initial=0.0) / np.where(total > 0, total, np.nan)
    return [
        Column(f"most frequent {column.name}", main, categories),
        number_column(f"share of most frequent {column.name}", share),
    ]


# --- packed ---------------------------------------------------------------------------------------


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _packed_column(column: Column) -> dict[str, Any]:
    categories = None if column.categories is None else list(column.categories)
    return {"name": column.name, "values": _packed(column.values), "categories": categories}


def _packed_classes(predictions: Predictions | None, nodes: Integers) -> dict[str, Any] | None:
    """Return the most probable classes of each node."""
    if predictions is None or predictions.probabilities is None:
        return None
    shown = predictions.probabilities[nodes]
    order = np.argsort(-shown, axis=1, kind="stable")[:, :_CLASSES_SHOWN]
    values = np.take_along_axis(shown, order, axis=1)
    return {
        "names": list(predictions.classes),
        "perNode": order.shape[1],
        "codes": _packed(order.astype(np.uint16)),
        "values": _packed(values.astype(np.float32)),
    }


def _packed_edges(edges: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of edges; None for those of which nothing is known."""
    found: dict[str, Any] = {"count": len(edges)}
    for name, kind in (("source", np.uint32), ("target", np.uint32), ("kind", np.uint8)):
        found[name] = _packed(edges[name].to_numpy(kind))
    for name in ("weight", "probability", "lower", "upper", "distance"):
        is_known = name in edges and bool(edges[name].notna().any())
        found[name] = _packed(edges[name].to_numpy(np.float32)) if is_known else None
    return found
