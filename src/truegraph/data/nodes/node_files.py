"""Readers for users' own graphs: edges, features and labels, with any ids as node names.

=========  =========================================================================================
edges      header with the columns ``source`` and ``target``, and ``weight`` if edges have weights
features   one row per node: its id in the first column, numbers in the others; header optional
labels     header; the node's id in the first column and its class in the second
=========  =========================================================================================
"""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.graphs.adjacency import adjacency_from_edges
from truegraph.data.nodes.containers import UNLABELLED, IndexArray, NodeDataset
from truegraph.data.tables import CsvTable, Table, has_header, open_table, table_error
from truegraph.errors import InputError

PathLike = str | os.PathLike[str]
Names = NDArray[np.str_]


def read_features(path: PathLike) -> tuple[Names, NDArray[np.float32]]:
    """Read node features: ids in the first column, numbers in the others.

    Returns
    -------
    node_names : ndarray of str, shape (n_nodes,)
    features : ndarray of float32, shape (n_nodes, n_features)
    """
    table = open_table(path)
    if len(table.first) < 2:
        raise InputError(
            f"{path}: found the one column {table.first[0]!r}; "
            "give the node's id and at least one feature."
        )
    header = has_header(table.first)
    frame = table.columns([0], range(1, len(table.first)), header=header)
    names = frame[0].to_numpy(str)
    _check_ids(table, names, header=header)
    return names, frame.drop(columns=0).to_numpy(np.float32)


def read_labels(path: PathLike) -> dict[str, str]:
    """Read node labels: ids in the first column, classes in the second, under a header.

    Returns
    -------
    labels : dict of str to str
        Class of each node; "" and "-1" mean that it is not known.
    """
    table = open_table(path)
    if len(table.first) < 2:
        raise InputError(f"{path}: found the columns {table.first}; give node and label.")
    frame = table.columns([0, 1], [], header=True)
    names = frame[0].to_numpy(str)
    _check_ids(table, names, header=True)
    return dict(zip(names.tolist(), frame[1].tolist(), strict=True))


def read_edges(path: PathLike) -> pd.DataFrame:
    """Read edges: a header with the columns source and target, and weight if there are weights.

    Returns
    -------
    edges : DataFrame
        The columns source and target (str) and, if given, weight (float64), in the file's order.
    """
    table = open_table(path)
    position = {name.strip().lower(): i for i, name in enumerate(table.first)}
    missing = [name for name in ("source", "target") if name not in position]
    if missing:
        raise InputError(
            f"{path}: the columns {missing} are missing; the first line has {table.first}. It must "
            "be a header that names the columns source and target, and weight if there are weights."
        )
    ends = [position["source"], position["target"]]
    weight = [position["weight"]] if "weight" in position else []
    frame = table.columns(ends, weight, header=True)
    for column in ends:
        _check_not_blank(table, frame[column], column)
    for column in weight:
        negative = frame[column].to_numpy() < 0
        if negative.any():
            problem = "a weight must not be negative. Correct or remove the edge."
            raise table_error(table, int(negative.argmax()), column, problem, header=True)
    return frame.rename(columns={position[name]: name for name in position})


def read_node_data(
    edges: PathLike | None = None,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    *,
    name: str = "files",
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

    Returns
    -------
    dataset : NodeDataset
        `notes` tells how many self-loops were dropped and how many repeated edges were merged; of
        those the largest weight stays.
    """
    if edges is None and features is None:
        raise InputError("edges=None and features=None: give at least one of the two files.")
    edge_table = None if edges is None else read_edges(edges)
    class_of = {} if labels is None else read_labels(labels)
    if features is not None:
        node_names, matrix = read_features(features)
    else:
        assert edge_table is not None
        ends = edge_table[["source", "target"]].to_numpy().ravel()
        node_names, matrix = pd.unique(np.concatenate([ends, list(class_of)])).astype(str), None
    nodes = pd.Index(node_names)
    graph: sparse.csr_array | None = None
    notes: tuple[str, ...] = ()
    if edge_table is not None and edges is not None:
        graph, notes = _graph(edge_table, nodes, edges)
    numbers, class_names = _labels(class_of, nodes, labels)
    return NodeDataset(
        name=name,
        labels=numbers,
        features=matrix,
        graph=graph,
        class_names=class_names,
        node_names=node_names,
        notes=notes,
    )


def _graph(
    table: pd.DataFrame, nodes: pd.Index, path: PathLike
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    ends = [nodes.get_indexer(pd.Index(table[column])) for column in ("source", "target")]
    unknown = (ends[0] < 0) | (ends[1] < 0)
    if unknown.any():
        row = int(unknown.argmax())
        column = "source" if ends[0][row] < 0 else "target"
        raise InputError(
            f"{path}, {open_table(path).place(row, header=True)}, column {column!r}: node "
            f"{table[column][row]!r} is not in the features file. Add it there or remove the edge."
        )
    weights = table["weight"].to_numpy() if "weight" in table else None
    graph = adjacency_from_edges(ends[0], ends[1], weights, len(nodes))
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    zeros = 0 if weights is None else int(np.count_nonzero((weights == 0) & (ends[0] != ends[1])))
    repeated = len(table) - loops - zeros - graph.nnz // 2
    counts = {
        "self-loops dropped": loops,
        "edges of weight 0 dropped": zeros,
        "edges merged that are listed more than once": repeated,
    }
    return graph, tuple(f"{path}: {count} {what}" for what, count in counts.items() if count > 0)


def _labels(
    class_of: dict[str, str], nodes: pd.Index, path: PathLike | None
) -> tuple[IndexArray, tuple[str, ...] | None]:
    numbers = np.full(len(nodes), UNLABELLED, dtype=np.int64)
    if path is None:
        return numbers, None
    table = open_table(path)
    if isinstance(table, CsvTable) and table.first[0] in nodes:
        raise InputError(
            f"{path}, line 1: {table.first[0]!r} is a node, so the header is missing. "
            "Add the line: node,label"
        )
    place = nodes.get_indexer(pd.Index(list(class_of)))
    if (place < 0).any():
        row = int((place < 0).argmax())
        problem = f"node {list(class_of)[row]!r} is in neither the features nor the edges file."
        raise table_error(table, row, 0, problem, header=True)
    known = {label for label in class_of.values() if label not in ("", str(UNLABELLED))}
    class_names = tuple(sorted(known, key=_class_order))
    number = {label: i for i, label in enumerate(class_names)}
    numbers[place] = [number.get(label, UNLABELLED) for label in class_of.values()]
    return numbers, class_names


def _class_order(label: str) -> tuple[int, int, str]:
    return (0, int(label), label) if label.isdecimal() else (1, 0, label)


def _check_ids(table: Table, names: Names, *, header: bool) -> None:
    _check_not_blank(table, names, 0, header=header)
    repeated = pd.Index(names).duplicated()
    if repeated.any():
        row = int(repeated.argmax())
        first = table.place(int((names == names[row]).argmax()), header=header)
        problem = (
            f"node {str(names[row])!r} is listed twice, first on {first}. Remove one of the two."
        )
        raise table_error(table, row, 0, problem, header=header)


def _check_not_blank(
    table: Table, names: Names | pd.Series, column: int, *, header: bool = True
) -> None:
    blank = np.asarray(names == "")
    if blank.any():
        row = int(blank.argmax())
        raise table_error(table, row, column, "the node's id is missing.", header=header)
