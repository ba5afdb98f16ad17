"""Points are read in parts from files, memory maps, Dask arrays, zarr and Parquet folders."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning.partitioned.sources import NumpySource, as_source

POINTS = np.random.default_rng(0).normal(size=(100, 3))


def check(source, dtype: type = np.float64) -> None:
    again = pickle.loads(pickle.dumps(source))
    assert source.shape == again.shape == (100, 3)
    assert source.dtype == dtype
    np.testing.assert_array_equal(again.read(17, 63), POINTS.astype(dtype)[17:63])
    assert again.fingerprint() == source.fingerprint()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_npy_files_and_memory_maps(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "points.npy"
    np.save(path, POINTS.astype(dtype))
    check(as_source("X", path), dtype)
    check(as_source("X", str(path)), dtype)
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(as_source("X", mapped), NumpySource)
    check(as_source("X", mapped), dtype)
    part = as_source("X", mapped[10:])
    np.testing.assert_array_equal(part.read(0, 5), POINTS.astype(dtype)[10:15])


def test_dask_arrays() -> None:
    dask_array = pytest.importorskip("dask.array")
    check(as_source("X", dask_array.from_array(POINTS, chunks=(40, 2))))


def test_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(str(tmp_path / "points.zarr"), shape=(100, 3), dtype="f8")
    stored[:] = POINTS
    check(as_source("X", stored))
    check(as_source("X", tmp_path / "points.zarr"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parquet_folders(tmp_path: Path, dtype: type) -> None:
    frame = pd.DataFrame(POINTS.astype(dtype), columns=["a", "b", "c"])
    frame[:30].to_parquet(tmp_path / "0.parquet", row_group_size=7)
    frame[30:].to_parquet(tmp_path / "1.parquet", row_group_size=50)
    check(as_source("X", tmp_path), dtype)
    source = as_source("X", tmp_path)
    np.testing.assert_array_equal(source.read(0, 100), POINTS.astype(dtype))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        as_source("X", tmp_path / "absent.npy")
    with pytest.raises(InputError, match="X is sparse; give a dense table"):
        as_source("X", csr_array(POINTS))
    with pytest.raises(InputError, match="type list"):
        as_source("X", [[1.0]])
    with pytest.raises(InputError, match=r"X has shape \(3,\)"):
        as_source("X", np.zeros(3))
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(InputError, match=r"only \.npy, Parquet and zarr"):
        as_source("X", tmp_path / "a.csv")
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'b' holds no numbers"):
        as_source("X", tmp_path / "t.parquet").read(0, 2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        _ = as_source("X", tmp_path / "empty").shape
