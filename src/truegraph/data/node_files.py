"""Users' own graphs put together: edges, features and labels, with any ids as node names.

=========  =========================================================================================
edges      two columns of ids, and ``weight`` if edges have weights; see `data.edge_files`
features   one row per node; see `data.feature_files`
labels     header; the node's id in the first column and its class in the second
=========  =========================================================================================
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.column_plan import ColumnPlan
from truegraph.data.containers import UNLABELLED, IndexArray, NodeDataset
from truegraph.data.edge_files import EdgeTable, merge_edges, read_edge_table
from truegraph.data.feature_files import NodeFeatures, check_ids, numbered, read_features
from truegraph.data.storage import PathLike
from truegraph.data.tables import CsvTable, Table, is_table_file, open_table
from truegraph.errors import InputError

Names = NDArray[np.str_]


def read_labels(path: PathLike) -> dict[str, str]:
    """Read node labels: ids in the first column, classes in the second, under a header.

    Returns
    -------
    labels : dict of str to str
        Class of each node; "" and "-1" mean that it is not known.
    """
    return _labels_of(_label_table(path))


def _label_table(path: PathLike) -> Table:
    table = open_table(path, lambda table: True)
    if len(table.names) < 2:
        raise InputError(f"{path}: found the columns {table.names}; give node and label.")
    table.check_named_once([0, 1])
    return table


def _labels_of(table: Table) -> dict[str, str]:
    frame = table.columns([0, 1])
    names = frame[0].to_numpy(str)
    check_ids(table, names, 0, remedy=".")
    return dict(zip(names.tolist(), frame[1].tolist(), strict=True))


def read_node_data(
    edges: PathLike | None = None,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    *,
    name: str = "files",
    plan: ColumnPlan | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    duplicates: str = "max",
    directed: str = "any",
) -> NodeDataset:
    """Put a data set together from a user's files.

    Nodes are numbered in the order of the features file, and every edge and label must name one of
    its nodes. Without a features file they are numbered as they first appear, in the edges first.

    Parameters
    ----------
    edges, features, labels : path-like, optional
        The files; at least one of `edges` and `features`. Labels may cover some nodes only.
    name : str, default="files"
        Name of the data set.
    plan : ColumnPlan, optional
        What to do with the columns of a features table; see `read_features`.
    source, target, weight : str, optional
        Columns of the edges; see `read_edges`.
    duplicates, directed
        What becomes of edges listed more than once or in one direction; see `merge_edges`.

    Returns
    -------
    dataset : NodeDataset
        `notes` says what was recognised, dropped and merged; `plan` holds the fitted plan.
    """
    if edges is None and features is None:
        raise InputError("edges=None and features=None: give at least one of the two files.")
    label_table = None if labels is None else _label_table(labels)
    class_of = {} if label_table is None else _labels_of(label_table)
    columns = {"source": source, "target": target, "weight": weight}
    edge_table = None if edges is None else read_edge_table(edges, nodes=class_of, **columns)
    found = None
    if features is not None:
        known = set(class_of) or set([] if edge_table is None else edge_table.frame["source"])
        plan = _without_labels(plan, features, label_table)
        found = numbered(read_features(features, plan, known=known))
        if edges is not None:  # the names of all nodes tell a header from an edge
            edge_table = read_edge_table(edges, nodes=set(_named(found)), **columns)
    node_names = _node_names(found, edge_table, class_of)
    nodes = pd.Index(node_names)
    graph, notes = None, () if found is None else found.notes
    if edge_table is not None:
        graph, more = _graph(edge_table, nodes, duplicates, directed)
        notes += more
    numbers, class_names = _labels(class_of, nodes, label_table)
    return NodeDataset(
        name=name,
        labels=numbers,
        features=None if found is None else found.matrix(),
        graph=graph,
        class_names=class_names,
        node_names=node_names,
        notes=notes,
        plan=None if found is None else found.plan,
    )


def _without_labels(
    plan: ColumnPlan | None, features: PathLike, labels: Table | None
) -> ColumnPlan | None:
    """Leave out of the features the column that the labels file names as the class.

    It would give the answer away.
    """
    if labels is None or hasattr(plan, "encoders_") or not is_table_file(features):
        return plan
    answer = labels.names[1]
    if answer not in open_table(features).names:
        return plan
    wanted = ColumnPlan() if plan is None else plan
    if answer in (wanted.columns or ()):
        raise InputError(
            f"columns: {answer!r} is the column of {labels.path} with the classes, so it would "
            "give the answer away; leave it out."
        )
    params = wanted.get_params(deep=False)
    return ColumnPlan(**{**params, "drop": (*dict.fromkeys((*wanted.drop, answer)),)})


def _named(features: NodeFeatures) -> Names:
    assert features.names is not None  # `numbered` gave them some
    return features.names


def _node_names(
    features: NodeFeatures | None, edges: EdgeTable | None, class_of: dict[str, str]
) -> Names:
    if features is not None:
        return _named(features)
    assert edges is not None
    ends = edges.frame[["source", "target"]].to_numpy().ravel()
    return pd.unique(np.concatenate([ends, list(class_of)])).astype(str)


def _graph(
    edges: EdgeTable, nodes: pd.Index, duplicates: str, directed: str
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    ends = [nodes.get_indexer(pd.Index(edges.frame[name])) for name in ("source", "target")]
    unknown = (ends[0] < 0) | (ends[1] < 0)
    if unknown.any():
        row = int(unknown.argmax())
        end = 0 if ends[0][row] < 0 else 1
        node = edges.frame[("source", "target")[end]][row]
        name = edges.table.names[edges.ends[end]]
        raise InputError(
            f"{edges.table.path}, {edges.table.place(row)}, column {name!r}: node {node!r} is not "
            f"in the features file ({int(unknown.sum()):,} of {len(unknown):,} edges name such "
            f"nodes; its nodes are called {nodes[0]!r}, ...); add it there or remove the edge."
        )
    weights = edges.frame["weight"].to_numpy() if "weight" in edges.frame else None
    graph, notes = merge_edges(
        ends[0].astype(np.int64),
        ends[1].astype(np.int64),
        weights,
        len(nodes),
        duplicates=duplicates,
        directed=directed,
    )
    return graph, (*edges.notes, *(f"{edges.table.path}: {note}" for note in notes))


def _labels(
    class_of: dict[str, str], nodes: pd.Index, table: Table | None
) -> tuple[IndexArray, tuple[str, ...] | None]:
    numbers = np.full(len(nodes), UNLABELLED, dtype=np.int64)
    if table is None:
        return numbers, None
    if isinstance(table, CsvTable) and table.names[0] in nodes:
        raise InputError(
            f"{table.path}, line 1: {table.names[0]!r} is a node, so the header is missing; "
            "add the line: node,label"
        )
    place = nodes.get_indexer(pd.Index(list(class_of)))
    if (place < 0).any():
        row = int((place < 0).argmax())
        problem = f"node {list(class_of)[row]!r} is in neither the features nor the edges file."
        raise table.error(row, 0, problem)
    known = {label for label in class_of.values() if label not in ("", str(UNLABELLED))}
    class_names = tuple(sorted(known, key=_class_order))
    number = {label: i for i, label in enumerate(class_names)}
    numbers[place] = [number.get(label, UNLABELLED) for label in class_of.values()]
    return numbers, class_names


def _class_order(label: str) -> tuple[int, int, str]:
    return (0, int(label), label) if label.isdecimal() else (1, 0, label)
