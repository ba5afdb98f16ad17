"""Points from every kind of file, and clear errors for files that hold none."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truegraph.data import ColumnPlan, read_features
from truegraph.errors import InputError

PLAIN = ColumnPlan("none")
POINTS = np.random.default_rng(0).normal(size=(5, 3))


def read_points(path: Path, plan: ColumnPlan | None = None) -> tuple[Any, Any]:
    found = read_features(path, plan)
    return found.matrix(), found.names


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    points, names = read_points(tmp_path / "p.npy")
    assert np.array_equal(points, POINTS)
    assert names is None
    np.save(tmp_path / "p.npy", np.arange(6, dtype=np.uint8).reshape(3, 2))
    assert read_points(tmp_path / "p.npy")[0].dtype == np.float64
    np.save(tmp_path / "p.npy", POINTS.astype(np.float32))
    assert read_points(tmp_path / "p.npy")[0].dtype == np.float32


def test_npz_with_several_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", x=POINTS, y=np.arange(5))
    assert np.array_equal(read_points(tmp_path / "p.npz")[0], POINTS)
    np.savez(tmp_path / "p.npz", a=POINTS, b=np.arange(5))
    with pytest.raises(InputError, match=r"holds the arrays \['a', 'b'\], and none is called 'x'"):
        read_points(tmp_path / "p.npz")
    np.savez(tmp_path / "p.npz")
    with pytest.raises(InputError, match="holds no array"):
        read_points(tmp_path / "p.npz")


def test_npz_sparse(tmp_path: Path) -> None:
    matrix = sparse.csr_array(sparse.random_array((6, 4), density=0.5, rng=0))
    sparse.save_npz(tmp_path / "p.npz", matrix)
    points, _ = read_points(tmp_path / "p.npz")
    assert isinstance(points, sparse.csr_array)
    assert np.array_equal(points.toarray(), matrix.toarray())
    sparse.save_npz(tmp_path / "p.npz", matrix.tocoo())
    with pytest.raises(InputError, match=r"b'coo' form; save it as CSR"):
        read_points(tmp_path / "p.npz")


def test_damaged_sparse_npz(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "p.npz",
        format=np.array(b"csr"),
        shape=np.array([2, 2]),
        indices=np.array([0, 99]),
        indptr=np.array([0, 1, 2]),
        data=np.ones(2),
    )
    with pytest.raises(InputError, match=r"p\.npz: x is a damaged sparse matrix"):
        read_points(tmp_path / "p.npz")


def test_csv_as_pandas_and_numpy_write_it(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    pd.DataFrame(POINTS).to_csv(path)
    points, names = read_points(path, PLAIN)
    assert points.shape == (5, 3)
    assert names is not None
    assert names.tolist() == ["0", "1", "2", "3", "4"]
    pd.DataFrame(POINTS).to_csv(path, index=False)
    points, names = read_points(path, PLAIN)
    assert points.shape == (5, 3)
    assert names is None
    np.savetxt(path, POINTS, delimiter=",")
    points, names = read_points(path, PLAIN)
    assert np.allclose(points, POINTS)
    assert names is None


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(3.0), r"shape \(3,\)"),
        (np.array([["a"]]), "type <U1"),
        (np.eye(2, dtype=complex), "type"),
    ],
)
def test_arrays_that_are_no_points(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "p.npy", array)
    np.savez(tmp_path / "p.npz", x=array)
    for name in ("p.npy", "p.npz"):
        with pytest.raises(InputError, match=rf"{name} holds an array of .*{message}"):
            read_points(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    content = (tmp_path / "p.npy").read_bytes()
    (tmp_path / "p.npy").write_bytes(content[:-7])
    with pytest.raises(InputError, match=r"p\.npy: not a readable \.npy array"):
        read_points(tmp_path / "p.npy")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Trap(tmp_path / "trap")))
    with pytest.raises(InputError, match=r"p\.npy: not a readable \.npy array"):
        read_points(tmp_path / "p.npy")
    np.save(tmp_path / "p.npy", np.array([Trap(tmp_path / "trap")], dtype=object))
    with pytest.raises(InputError, match="pickled objects are never loaded"):
        read_points(tmp_path / "p.npy")
    assert not (tmp_path / "trap").exists()
    with pytest.raises(InputError, match="no such file"):
        read_points(tmp_path / "nothing.npy")
    with pytest.raises(InputError, match=r"features cannot be read from \.mat"):
        read_points(tmp_path / "p.mat")
    with pytest.raises(InputError, match="a file without an ending"):
        read_points(tmp_path / "points")
