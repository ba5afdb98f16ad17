"""Points are read in parts from files, memory maps, Dask arrays, zarr and Parquet folders."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning.partitioned.sources import as_source

POINTS = np.random.default_rng(0).normal(size=(100, 3))


def check(source, dtype: type = np.float64) -> None:
    again = pickle.loads(pickle.dumps(source))
    assert source.shape == again.shape == (100, 3)
    assert source.dtype == dtype
    np.testing.assert_array_equal(again.read(17, 63), POINTS.astype(dtype)[17:63])
    assert again.description() == source.description()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_npy_files_and_memory_maps(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "points.npy"
    np.save(path, POINTS.astype(dtype))
    check(as_source("X", path), dtype)
    check(as_source("X", str(path)), dtype)
    mapped = np.load(path, mmap_mode="r")
    assert as_source("X", mapped).path == str(path)
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


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int16])
def test_small_numbers_are_read_as_they_are_block_by_block(tmp_path: Path, dtype: type) -> None:
    points = (10 * POINTS).astype(dtype)
    np.save(tmp_path / "points.npy", points)
    read = as_source("X", tmp_path / "points.npy").read(17, 63)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, points[17:63].astype(np.float64))


@pytest.mark.parametrize("size", [3, -1])
def test_a_column_of_lists_is_a_block_of_numbers(tmp_path: Path, size: int) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kind = pyarrow.list_(pyarrow.float32(), size)
    columns = {"own": POINTS[:, 0], "vector": pyarrow.array(POINTS.tolist(), kind)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet", row_group_size=33)
    source = as_source("X", tmp_path / "t.parquet")
    assert source.shape == (100, 4)
    expected = np.column_stack([POINTS[:, 0], POINTS.astype(np.float32)])
    np.testing.assert_array_equal(source.read(20, 90), expected[20:90])


def test_damaged_parquet_files_are_named(tmp_path: Path) -> None:
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    pd.DataFrame(POINTS, columns=["a", "b", "c"]).to_parquet(path, row_group_size=20)
    sound = path.read_bytes()
    for _ in range(60):
        content = bytearray(sound)
        for place in rng.integers(0, len(sound), size=4):
            content[place] = int(rng.integers(256))
        path.write_bytes(bytes(content))
        try:
            source = as_source("X", path)
            source.read(0, source.shape[0])
        except InputError:
            pass


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
