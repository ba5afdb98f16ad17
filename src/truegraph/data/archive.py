"""The npz layout of a node data set: one file ``<name>/<name>.npz`` per data set.

================================================  ==================================================
``edge_index`` int, (2, n_edges)                  undirected edges, each once, no self-loops
``x_indices, x_indptr, x_shape`` (``x_data``)     sparse features; without ``x_data`` they are 0/1
``x`` number, (n_nodes, n_features)               dense features, instead of the sparse ones
``y`` int, (n_nodes,)                             classes
``has_label`` bool, (n_nodes,)                    False where the class is unknown
``idx_train, idx_val, idx_test`` int              the public split
``lcc`` int                                       nodes of the component that the paper describes
``class_names, node_names`` str                   names
================================================  ==================================================

Every array but ``y`` may be missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.containers import UNLABELLED, Features, IndexArray, NodeDataset, NodeSplit
from truegraph.data.storage import csr_from_arrays, csr_to_arrays, read_npz, write_npz
from truegraph.errors import InputError

Arrays = Mapping[str, NDArray[Any]]


def read_node_dataset(path: str | os.PathLike[str], name: str) -> NodeDataset:
    """Read a node data set from an npz file of the layout above."""
    arrays = read_npz(path)
    if "y" not in arrays:
        raise InputError(
            f"{path}: the array 'y' is missing; found {sorted(arrays)}. "
            "A data set file holds the classes of its nodes in 'y'."
        )
    try:
        return _from_arrays(arrays, name)
    except (InputError, ValueError, IndexError, TypeError) as error:
        raise InputError(f"{path}: not a usable data set: {error}") from error


def _from_arrays(arrays: Arrays, name: str) -> NodeDataset:
    labels = arrays["y"].astype(np.int64)
    if "has_label" in arrays:
        labels[~arrays["has_label"]] = UNLABELLED
    n_nodes = len(labels)
    names = arrays.get("class_names")
    return NodeDataset(
        name=name,
        labels=labels,
        features=_features(arrays),
        graph=_graph(arrays, n_nodes),
        class_names=None if names is None else tuple(str(label) for label in names),
        node_names=arrays.get("node_names"),
        public_split=_split(arrays, n_nodes),
        component_nodes=_nodes(arrays, "lcc", n_nodes) if "lcc" in arrays else None,
    )


def _features(arrays: Arrays) -> Features | None:
    if "x_indices" in arrays:
        matrix = csr_from_arrays(arrays, "x").astype(np.float32, copy=False)
        matrix.sum_duplicates()
        return matrix
    return arrays["x"].astype(np.float32) if "x" in arrays else None


def _graph(arrays: Arrays, n_nodes: int) -> sparse.csr_array | None:
    if "edge_index" not in arrays:
        return None
    ends = _nodes(arrays, "edge_index", n_nodes)
    return adjacency_from_edges(ends[0], ends[1], None, n_nodes)


def _split(arrays: Arrays, n_nodes: int) -> NodeSplit | None:
    names = ("idx_train", "idx_val", "idx_test")
    if not all(name in arrays for name in names):
        return None
    return NodeSplit(*(_nodes(arrays, name, n_nodes) for name in names))


def _nodes(arrays: Arrays, name: str, n_nodes: int) -> IndexArray:
    nodes = arrays[name].astype(np.int64)
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < n_nodes:
        raise InputError(f"{name!r} names nodes outside 0 to {n_nodes - 1}.")
    return nodes


def write_node_dataset(path: str | os.PathLike[str], dataset: NodeDataset) -> None:
    """Write a node data set as an npz file of the layout above, with the smallest integer types."""
    arrays: dict[str, NDArray[Any]] = {"y": np.maximum(dataset.labels, 0)}
    arrays["has_label"] = dataset.labels != UNLABELLED
    if dataset.graph is not None:
        upper = sparse.coo_array(sparse.triu(dataset.graph, format="csr"))
        arrays["edge_index"] = np.stack([upper.row, upper.col])
    if isinstance(dataset.features, sparse.csr_array):
        arrays |= csr_to_arrays(dataset.features, "x")
        if np.all(dataset.features.data == 1):
            del arrays["x_data"]
    elif dataset.features is not None:
        arrays["x"] = dataset.features
    arrays |= _optional_arrays(dataset)
    write_npz(path, {name: _smallest_type(array) for name, array in arrays.items()})


def _optional_arrays(dataset: NodeDataset) -> dict[str, NDArray[Any]]:
    split = dataset.public_split
    optional = {
        "idx_train": None if split is None else split.train,
        "idx_val": None if split is None else split.validation,
        "idx_test": None if split is None else split.test,
        "lcc": dataset.component_nodes,
        "class_names": None if dataset.class_names is None else np.array(dataset.class_names),
        "node_names": dataset.node_names,
    }
    return {name: array for name, array in optional.items() if array is not None}


def _smallest_type(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "iu" or array.size == 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())))
