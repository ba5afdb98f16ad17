"""Read the Planetoid files of a citation data set without trusting them.

A Planetoid data set is a folder of Python 2 pickles ``ind.<name>.{x,tx,allx,y,ty,ally,graph}`` and
the text file ``ind.<name>.test.index``. A pickle can name any function to call, so the reader
admits a fixed list of names, all of which only build arrays, lists and dictionaries; any other name
is an error and nothing is imported for it.

References
----------
Z. Yang, W. Cohen, R. Salakhutdinov, "Revisiting semi-supervised learning with graph embeddings",
ICML 2016.
"""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.containers import (
    UNLABELLED,
    NodeDataset,
    NodeSplit,
    largest_component_nodes,
)
from truegraph.data.storage import csr_from_arrays, existing_file
from truegraph.errors import InputError

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")

_VALIDATION_SIZE = 500  # of the public split: the nodes after those of x


class _PickledCsr:
    """Keeps the pickled state of a SciPy CSR matrix until it has been checked."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _number_dtype(spec: str, align: bool = False, copy: bool = True) -> np.dtype[Any]:
    # Always a copy: the pickle goes on to set its byte order, which must not reach numpy's own.
    dtype = np.dtype(spec, copy=True)
    if dtype.kind not in "biuf":
        raise pickle.UnpicklingError(f"an array of type {spec!r} instead of numbers")
    return dtype


def _empty_array(kind: type, shape: tuple[int, ...], typecode: Any) -> NDArray[Any]:
    # A pickled array starts as an empty one and gets shape and content afterwards.
    if kind is not np.ndarray or tuple(shape) != (0,):
        raise pickle.UnpicklingError("an array of an unknown kind")
    return np.ndarray((0,), dtype=np.int8)


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _number_dtype,
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    ("scipy.sparse.csr", "csr_matrix"): _PickledCsr,
    ("scipy.sparse._csr", "csr_matrix"): _PickledCsr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("__builtin__", "dict"): dict,
    ("builtins", "dict"): dict,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        try:
            return _ADMITTED[module_name, global_name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"{module_name}.{global_name}, which is not on the list of admitted names"
            ) from None


def read_array_pickle(path: str | os.PathLike[str]) -> Any:
    """Read a pickle of arrays, SciPy CSR matrices, lists and dictionaries; nothing is run."""
    with existing_file(path).open("rb") as stream:
        try:
            content = _ArrayUnpickler(stream, encoding="latin1").load()
            return _checked_csr(content) if isinstance(content, _PickledCsr) else content
        except pickle.UnpicklingError as error:
            raise InputError(
                f"{path}: refused, the pickle is damaged or asks for {error}. Only arrays, sparse "
                "matrices, lists and dictionaries are read; get the file from a source you trust."
            ) from error
        except (EOFError, MemoryError, AttributeError, IndexError, KeyError) as error:
            raise InputError(f"{path}: damaged or truncated pickle ({error!r}).") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{path}: damaged pickle ({error}).") from error


def _checked_csr(pickled: _PickledCsr) -> sparse.csr_array:
    state = pickled.state
    if not isinstance(state, dict):
        raise ValueError("a sparse matrix without content")
    arrays = {f"m_{part}": state[part] for part in ("data", "indices", "indptr")}
    if not all(isinstance(part, np.ndarray) for part in arrays.values()):
        raise ValueError("a sparse matrix with parts that are not arrays")
    return csr_from_arrays(arrays | {"m_shape": np.array(state["_shape"])}, "m")


def read_planetoid(folder: str | os.PathLike[str], name: str) -> NodeDataset:
    """Read a data set from its eight Planetoid files.

    Test nodes that the files leave out (15 in Citeseer) become nodes without features and labels.
    The component kept by `NodeDataset.largest_component` is that of the labelled nodes, which is
    how the paper's figures for Citeseer (2110 nodes, 3668 edges) arise.

    Parameters
    ----------
    folder : path-like
        Folder that holds ``ind.<name>.x`` and the other files.
    name : str
        Name of the data set in lower case, as in the file names.

    Returns
    -------
    dataset : NodeDataset
        With the public split: the nodes of ``x``, the 500 after them, and the test nodes.
    """
    folder = Path(folder)
    parts = {
        part: read_array_pickle(folder / f"ind.{name}.{part}")
        for part in ("x", "tx", "allx", "ty", "ally", "graph")
    }
    test = _read_test_index(folder / f"ind.{name}.test.index")
    try:
        return _assemble(name, parts, test)
    except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise InputError(
            f"{folder}: the files ind.{name}.* do not fit together ({error}); fetch them again."
        ) from error


def _read_test_index(path: Path) -> NDArray[np.int64]:
    try:
        index = np.array([int(line) for line in existing_file(path).read_text().split()])
    except ValueError as error:
        raise InputError(f"{path}: not a list of node numbers ({error}).") from error
    if len(index) == 0 or index.min() < 0 or len(np.unique(index)) != len(index):
        raise InputError(f"{path}: must list distinct node numbers, one per line.")
    return index


def _assemble(name: str, parts: Mapping[str, Any], test: NDArray[np.int64]) -> NodeDataset:
    n_train, n_known = parts["x"].shape[0], parts["allx"].shape[0]
    sources, targets = _edge_ends(parts["graph"])
    n_nodes = max(int(test.max()) + 1, n_known, len(parts["graph"]))
    # Row i of tx and ty belongs to node test[i]; nodes in neither file keep empty rows.
    place = np.concatenate([np.arange(n_known), test])
    labels = np.full(n_nodes, UNLABELLED, dtype=np.int64)
    labels[place] = _classes(np.vstack([parts["ally"], parts["ty"]]))
    graph = adjacency_from_edges(sources, targets, None, n_nodes)
    validation = np.arange(n_train, min(n_train + _VALIDATION_SIZE, n_known))
    return NodeDataset(
        name=name,
        labels=labels,
        features=_placed_rows(sparse.vstack([parts["allx"], parts["tx"]]), place, n_nodes),
        graph=graph,
        public_split=NodeSplit(np.arange(n_train), validation, np.sort(test)),
        component_nodes=largest_component_nodes(graph, among=labels != UNLABELLED),
    )


def _placed_rows(rows: Any, place: NDArray[np.int64], n_rows: int) -> sparse.csr_array:
    entries = sparse.coo_array(rows)
    placed = sparse.csr_array(
        (entries.data.astype(np.float32), (place[entries.row], entries.col)),
        shape=(n_rows, entries.shape[1]),
    )
    placed.sum_duplicates()
    return placed


def _classes(one_hot: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED)


def _edge_ends(neighbours: Mapping[int, list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts = [len(near) for near in neighbours.values()]
    sources = np.repeat(np.fromiter(neighbours.keys(), dtype=np.int64), counts)
    targets = np.fromiter((j for near in neighbours.values() for j in near), dtype=np.int64)
    return sources, targets
