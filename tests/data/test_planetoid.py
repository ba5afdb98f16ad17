"""The Planetoid reader: what it reads, and that no pickle gets it to run anything."""

from __future__ import annotations

import builtins
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from truegraph.data.planetoid import read_array_pickle, read_planetoid
from truegraph.errors import InputError


class Call:
    """Pickles as a call of any function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def global_call(module: str, name: str, argument: str) -> bytes:
    """Pickle of `module.name(argument)` written by hand, so that nothing has to be importable."""
    return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()


def test_reads_every_part(
    tmp_path: Path, citations: Any, write_planetoid: Callable[[Path, str], None]
) -> None:
    write_planetoid(tmp_path, "toy")
    dataset = read_planetoid(tmp_path, "toy")
    assert isinstance(dataset.features, sparse.csr_array)
    assert dataset.features.dtype == np.float32
    assert np.array_equal(dataset.features.toarray(), citations.features)
    assert np.array_equal(dataset.labels, citations.labels)
    assert dataset.graph is not None
    upper = sparse.triu(dataset.graph).tocoo()
    assert set(zip(upper.row.tolist(), upper.col.tolist(), strict=True)) == set(citations.edges)
    assert (dataset.graph.data == 1).all()


def test_public_split_and_component_of_labelled_nodes(
    tmp_path: Path, write_planetoid: Callable[[Path, str], None]
) -> None:
    write_planetoid(tmp_path, "toy")
    dataset = read_planetoid(tmp_path, "toy")
    assert dataset.public_split is not None
    assert dataset.public_split.train.tolist() == [0, 1, 2]
    assert dataset.public_split.validation.tolist() == [3, 4, 5, 6, 7]
    assert dataset.public_split.test.tolist() == [8, 10, 11]
    # Node 9 joins 0..4 to 5 and 6, but it has no label and goes first.
    assert dataset.component_nodes is not None
    assert dataset.component_nodes.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_reads_pickles_of_python_3(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "graph"
    path.write_bytes(pickle.dumps({0: [1], 1: [0]}, protocol=protocol))
    assert read_array_pickle(path) == {0: [1], 1: [0]}
    matrix = sparse.csr_matrix(np.eye(3))
    path.write_bytes(pickle.dumps(matrix, protocol=min(protocol, 4)))
    assert np.array_equal(read_array_pickle(path).toarray(), np.eye(3))


@pytest.mark.parametrize(
    "function", [os.system, os.mkdir, builtins.eval, builtins.exec, builtins.getattr, np.load]
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_calls_are_refused(tmp_path: Path, function: Any, protocol: int) -> None:
    path, trap = tmp_path / "x", tmp_path / "trap"
    path.write_bytes(pickle.dumps(Call(function, str(trap)), protocol=protocol))
    with pytest.raises(InputError, match=rf"x: refused.*{function.__name__}.*not on the list"):
        read_array_pickle(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("posix", "system"),
        ("__builtin__", "eval"),
        ("__builtin__", "__import__"),
        ("numpy", "load"),
        ("numpy", "fromfile"),
        ("numpy.f2py", "compile"),
        ("numpy.testing._private.utils", "runstring"),
        ("numpy.core.multiarray", "fromfile"),
        ("scipy.io", "loadmat"),
        ("scipy.sparse", "load_npz"),
        ("scipy.sparse.csr", "csr_matrix.__init__"),
        ("collections", "namedtuple"),
        ("module_that_does_not_exist", "thing"),
    ],
)
def test_names_off_the_list_are_refused_without_an_import(
    tmp_path: Path, module: str, name: str
) -> None:
    path, trap = tmp_path / "x", tmp_path / "trap"
    path.write_bytes(global_call(module, name, f"touch {trap}"))
    with pytest.raises(InputError, match="not on the list of admitted names"):
        read_array_pickle(path)
    assert not trap.exists()


def test_a_call_hidden_inside_an_admitted_object_is_refused(tmp_path: Path) -> None:
    path, trap = tmp_path / "graph", tmp_path / "trap"
    path.write_bytes(pickle.dumps({0: [1], 1: [Call(os.mkdir, str(trap))]}))
    with pytest.raises(InputError, match="refused"):
        read_array_pickle(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [np.array([{}], dtype=object), np.array(["text"]), np.zeros(2, dtype="i4,f8"), np.ma.ones(3)],
    ids=["objects", "text", "records", "subclass"],
)
def test_arrays_of_anything_but_numbers_are_refused(tmp_path: Path, content: np.ndarray) -> None:
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps(content, protocol=4))
    with pytest.raises(InputError):
        read_array_pickle(path)


def test_a_pickle_cannot_change_a_shared_dtype(tmp_path: Path) -> None:
    path = tmp_path / "x"
    # dtype('<f8') without copy, then its state is set to big-endian.
    path.write_bytes(b"cnumpy\ndtype\n(S'f8'\ntR(I3\nS'>'\nNNNI-1\nI-1\nI0\ntb.")
    read_array_pickle(path)
    assert np.dtype("f8").isnative
    assert np.zeros(1)[0] == 0


@pytest.mark.parametrize(
    "state",
    [{"data": np.ones(2), "indices": np.array([0, 99]), "indptr": np.array([0, 1, 2])}, {}],
    ids=["index out of range", "no parts"],
)
def test_damaged_sparse_matrices_are_refused(tmp_path: Path, state: dict[str, Any]) -> None:
    matrix = sparse.csr_matrix(np.eye(2))
    matrix.__dict__.update(state) if state else matrix.__dict__.clear()
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps(matrix, protocol=4))
    with pytest.raises(InputError, match="damaged"):
        read_array_pickle(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_truncated_pickles_are_refused(
    tmp_path: Path, write_planetoid: Callable[[Path, str], None], share: float
) -> None:
    write_planetoid(tmp_path, "toy")
    for part in ("allx", "graph", "ally"):
        path = tmp_path / f"ind.toy.{part}"
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(InputError, match=f"ind.toy.{part}"):
            read_array_pickle(path)


def test_files_that_do_not_fit_together(
    tmp_path: Path, write_planetoid: Callable[[Path, str], None]
) -> None:
    write_planetoid(tmp_path, "toy")
    index = tmp_path / "ind.toy.test.index"
    index.write_text("8\n10\n")
    with pytest.raises(InputError, match=r"ind\.toy\.\* do not fit together"):
        read_planetoid(tmp_path, "toy")
    index.write_text("8\nten\n")
    with pytest.raises(InputError, match="not a list of node numbers"):
        read_planetoid(tmp_path, "toy")
    index.write_text("8\n8\n9\n")
    with pytest.raises(InputError, match="distinct node numbers"):
        read_planetoid(tmp_path, "toy")
    with pytest.raises(InputError, match=r"ind\.other\.x: no such file"):
        read_planetoid(tmp_path, "other")
