"""What the explorer shows of a graph, by its size: all edges, those of a selection, or clusters."""

from __future__ import annotations

import base64
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph import gate
from truegraph.data.columns.vectorising import is_table, vectorised
from truegraph.data.graphs.adjacency import as_adjacency
from truegraph.data.identifiers import check_names, unknown_id
from truegraph.errors import InputError
from truegraph.learning import LearnedGraph
from truegraph.report.explorer.clusters import clusters
from truegraph.report.explorer.columns import (
    NO_VALUE,
    Column,
    Predictions,
    category_column,
    number_column,
    read_predictions,
    table_columns,
)
from truegraph.report.explorer.edges import Edges, gather_edges, shared_features
from truegraph.report.explorer.layout import layout
from truegraph.report.explorer.next_labels import label_next

ALL_NODES, ALL_EDGES = 5_000, 50_000  # up to here every edge is drawn
MOST_NODES = 50_000  # up to here every node is
_MOST_EDGES = 1_000_000
_EGO_NODES = 2_000
_CLASSES_SHOWN = 5
_REPRESENTATIVES = 12
_MOST_FEATURES = 60_000  # what 16 bits count

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beside the graph, checked; of all its nodes."""

    names: Sequence[Hashable] | None = None
    columns: list[Column] = field(default_factory=list)
    labels: Column | None = None
    predictions: Predictions | None = None
    features: Any = None
    feature_names: Sequence[str] = ()
    observed: csr_array | None = None


def check_known(
    graph: LearnedGraph, labels: Any, names: Any, features: Any, predictions: Any, observed: Any
) -> Known:
    """Check what `LearnedGraph.explore` is given."""
    size = graph.n_nodes
    own = graph.names if names is None else check_names(names, size)
    label = None if labels is None else category_column("label", labels, size)
    columns, points, feature_names = _checked_features(features, size)
    found = None
    if predictions is not None:
        classes = [] if label is None else list(label.categories or ())
        found = read_predictions(predictions, own, size, classes)
    seen = None
    if observed is not None:
        seen = as_adjacency(observed)
        if seen.shape[0] != size:
            raise InputError(
                f"observed has {seen.shape[0]} nodes, but the graph has {size}; give the graph of "
                "the same nodes."
            )
    return Known(own, columns, label, found, points, feature_names, seen)


def _checked_features(features: Any, size: int) -> tuple[list[Column], Any, list[str]]:
    if features is None:
        return [], None, []
    columns = []
    if is_table(features):
        from truegraph.data.columns.frames import as_pandas

        frame = as_pandas(features)
        if len(frame) != size:
            raise InputError(f"features has {len(frame)} rows for {size} nodes; give one each.")
        columns = table_columns(frame)
        points, plan = vectorised(features, None)
        names = [str(name) for name in plan.get_feature_names_out()] if plan is not None else []
    else:
        points = gate.table("features", features, shape=(size, None))
        names = [f"column {number}" for number in range(points.shape[1])]
        if not issparse(points):
            columns = [number_column(name, points[:, at]) for at, name in enumerate(names[:24])]
    if points.shape[1] > _MOST_FEATURES:
        raise InputError(
            f"features has {points.shape[1]} columns, more than {_MOST_FEATURES}; pass fewer, such "
            "as those that occur in more than one node."
        )
    return columns, points, names


def content(graph: LearnedGraph, known: Known, centre: Hashable | None, title: str) -> dict:
    """Return what the page shows, as JSON holds it; arrays are in base64."""
    if centre is not None:
        nodes = _ego(graph, _number(centre, known.names, graph.n_nodes))
    elif graph.n_nodes > MOST_NODES:
        return _cluster_content(graph, known, title)
    else:
        nodes = np.arange(graph.n_nodes)
    return _node_content(graph, known, nodes, title)


def _number(name: Hashable, names: Sequence[Hashable] | None, size: int) -> int:
    known = range(size) if names is None else names
    for number, other in enumerate(known):
        if other == name or str(other) == str(name):
            return number
    raise unknown_id(name, list(known), "centre")


def _ego(graph: LearnedGraph, centre: int) -> Integers:
    """Return a node, its neighbours and theirs, the nearest by weight if they are many."""
    near: dict[int, float] = {centre: np.inf}
    front = {centre: np.inf}
    for _ in range(2):
        reached: dict[int, float] = {}
        for node, strength in front.items():
            part = slice(graph.adjacency.indptr[node], graph.adjacency.indptr[node + 1])
            for other, weight in zip(
                graph.adjacency.indices[part].tolist(),
                graph.adjacency.data[part].tolist(),
                strict=True,
            ):
                if other not in near:
                    reached[other] = max(reached.get(other, 0.0), min(weight, strength))
        best = sorted(reached, key=lambda node: (-reached[node], node))[: _EGO_NODES - len(near)]
        front = {node: reached[node] for node in best}
        near |= front
    return np.array(sorted(near), dtype=np.int64)


def _node_content(graph: LearnedGraph, known: Known, nodes: Integers, title: str) -> dict:
    inside = csr_array(graph.memberships()[nodes][:, nodes])
    edges = gather_edges(graph, known.observed, nodes, _MOST_EDGES)
    columns = _node_columns(graph, known, nodes, inside)
    draws_all = len(nodes) <= ALL_NODES and len(edges) <= ALL_EDGES
    notes = [] if draws_all else ["Edges of the selected node are drawn; all would hide the nodes."]
    names = None if known.names is None else [str(known.names[node]) for node in nodes]
    if names is None and nodes.size < graph.n_nodes:
        names = [str(node) for node in nodes]
    return {
        "title": title,
        "unit": "node",
        "drawsAll": draws_all,
        "count": int(nodes.size),
        "names": names,
        "places": _packed(layout(inside).astype(np.float32)),
        "columns": [_packed_column(column) for column in columns],
        "features": len(known.columns),
        "classes": _packed_classes(known.predictions, nodes),
        "edges": _packed_edges(edges, known, nodes),
        "hasObserved": known.observed is not None,
        "featureNames": list(known.feature_names),
        "next": _next(graph, known, nodes),
        "notes": notes,
        "members": None,
    }


def _node_columns(
    graph: LearnedGraph, known: Known, nodes: Integers, inside: csr_array
) -> list[Column]:
    columns = [] if known.labels is None else [known.labels]
    if known.predictions is not None:
        columns += known.predictions.columns
    columns = [Column(c.name, c.values[nodes], c.categories) for c in columns]
    group = clusters(inside)
    names = [f"cluster {number + 1}" for number in range(int(group.max()) + 1)]
    codes = np.where(group < NO_VALUE, group, NO_VALUE).astype(np.uint16)
    columns.append(Column("cluster", codes, names))
    degree = np.diff(graph.adjacency.indptr)[nodes]
    columns.append(number_column("edges", degree))
    columns.append(number_column("weight of edges", graph.adjacency.sum(axis=1)[nodes]))
    return columns + [Column(c.name, c.values[nodes], c.categories) for c in known.columns]


def _next(graph: LearnedGraph, known: Known, nodes: Integers) -> dict[str, Any]:
    """Return the nodes to label next, among those shown, and by what they were chosen."""
    by_prediction = known.predictions is not None
    uncertainty = np.ones(graph.n_nodes)
    if known.predictions is not None:
        uncertainty = np.maximum(known.predictions.uncertainty, 0.0)
    labelled = None if known.labels is None else known.labels.values != NO_VALUE
    all_known = labelled is None or bool(labelled.all())
    if labelled is not None and not all_known:
        uncertainty = np.where(labelled, 0.0, uncertainty)
    inside = csr_array(graph.adjacency[nodes][:, nodes])
    reason = (
        "Uncertain nodes whose labels would settle most of their neighbours' uncertainty."
        if by_prediction
        else "Nodes whose labels would tell about most other nodes, through their edges."
    )
    if labelled is not None and all_known:
        reason += " Every node has a label; they are ranked as if none had."
    return {"nodes": label_next(inside, uncertainty[nodes]), "reason": reason}


def _cluster_content(graph: LearnedGraph, known: Known, title: str) -> dict:
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
    for column in [c for c in (known.labels, *_predicted(known)) if c is not None]:
        columns += _per_cluster(column, group, count)
    edges = between.tocoo()
    ahead = edges.row < edges.col
    degree = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    order = np.lexsort((np.arange(group.size), -degree, group))
    starts = np.searchsorted(group[order], np.arange(count))
    shown = known.names
    members = [
        [
            str(node if shown is None else shown[node])
            for node in order[start : start + min(_REPRESENTATIVES, sizes[number])]
        ]
        for number, start in enumerate(starts)
    ]
    drawn = Edges(
        edges.row[ahead].astype(np.int64),
        edges.col[ahead].astype(np.int64),
        edges.data[ahead],
        np.ones(int(ahead.sum()), dtype=np.uint8),
        *([np.full(int(ahead.sum()), np.nan)] * 4),
    )
    return {
        "title": title,
        "unit": "cluster",
        "drawsAll": len(drawn) <= ALL_EDGES,
        "count": count,
        "names": [f"cluster {number + 1}: {sizes[number]:,} nodes" for number in range(count)],
        "places": _packed(layout(between).astype(np.float32)),
        "columns": [_packed_column(column) for column in columns],
        "features": 0,
        "classes": None,
        "edges": _packed_edges(drawn, Known(), np.arange(count)),
        "hasObserved": False,
        "featureNames": [],
        "next": {"nodes": [], "reason": ""},
        "notes": [
            f"{graph.n_nodes:,} nodes, more than {MOST_NODES:,}: every dot is a cluster. Pass "
            "centre= (--centre) and a node's name to see its neighbourhood."
        ],
        "members": members,
    }


def _predicted(known: Known) -> Sequence[Column]:
    return () if known.predictions is None else known.predictions.columns[:1]


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


def _packed_edges(edges: Edges, known: Known, nodes: Integers) -> dict[str, Any]:
    found: dict[str, Any] = {
        "count": len(edges),
        "source": _packed(edges.source.astype(np.uint32)),
        "target": _packed(edges.target.astype(np.uint32)),
        "kind": _packed(edges.kind),
    }
    for name in ("weight", "probability", "lower", "upper", "distance"):
        values = getattr(edges, name)
        known_values = np.isfinite(values).any()
        found[name] = _packed(values.astype(np.float32)) if known_values else None
    found["shared"] = None
    if known.features is not None and known.features.shape[1] > 1:
        ends = nodes[edges.source], nodes[edges.target]
        found["shared"] = _packed(shared_features(known.features, *ends))
    return found
