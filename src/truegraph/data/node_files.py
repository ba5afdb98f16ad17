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
from scipy import sparse

from truegraph.data.column_plan import ColumnPlan
from truegraph.data.containers import UNLABELLED, IndexArray, NodeDataset
from truegraph.data.edge_files import EdgeTable, edge_notes, merge_edges, read_edge_table
from truegraph.data.feature_files import numbered, read_features
from truegraph.data.storage import PathLike
from truegraph.data.tables import CsvTable, Table, is_table_file, open_table
from truegraph.errors import InputError


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
    names = table.check_ids([0], once=True)[0].tolist()
    return dict(zip(names, table.columns([1])[1].tolist(), strict=True))


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
    found = None
    if features is not None:
        known = set(class_of)
        if not known and edges is not None:
            known = set(read_edge_table(edges, columns)[0]["source"])
        plan = _without_labels(plan, features, label_table)
        found = numbered(read_features(features, plan, known=known))
    node_names = np.array(list(class_of)) if found is None else np.asarray(found.names)
    listed = None
    if edges is not None:  # the names of all nodes tell a header from an edge
        listed = read_edge_table(edges, columns, set(node_names))
        if found is None:
            ends = listed[0][["source", "target"]].to_numpy().ravel()
            node_names = pd.unique(np.concatenate([ends, node_names])).astype(str)
    index = pd.Index(node_names)
    graph, notes = None, () if found is None else found.notes
    if listed is not None:
        graph, more = _graph(listed, index, duplicates, directed)
        notes += more
    numbers, class_names = _labels(class_of, index, label_table)
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


def _graph(
    listed: EdgeTable, nodes: pd.Index, duplicates: str, directed: str
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    frame, table, place = listed
    sources, targets = (nodes.get_indexer(pd.Index(frame[end])) for end in ("source", "target"))
    unknown = (sources < 0) | (targets < 0)
    if unknown.any():
        row = int(unknown.argmax())
        end = "source" if sources[row] < 0 else "target"
        problem = (
            f"node {frame[end][row]!r} is not in the features file ({int(unknown.sum()):,} of "
            f"{len(unknown):,} edges name such nodes; its nodes are called {nodes[0]!r}, ...); add "
            "it there or remove the edge."
        )
        raise table.error(row, place[end], problem)
    weights = frame["weight"].to_numpy() if "weight" in frame else None
    ends = sources.astype(np.int64), targets.astype(np.int64)
    graph, notes = merge_edges(*ends, weights, len(nodes), duplicates=duplicates, directed=directed)
    return graph, edge_notes(table, place) + tuple(f"{table.path}: {note}" for note in notes)


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
