"""What a user may rely on when files are missing, broken or hostile, and when a write fails."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from truegraph.data.storage import (
    atomic_write,
    csr_from_arrays,
    csr_to_arrays,
    read_json,
    read_npz,
    write_json,
    write_npz,
    write_text,
)
from truegraph.errors import InputError, WriteError


class Touch:
    """A pickle of this object creates a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_npz_comes_back_equal_and_parents_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.npz"
    arrays = {"x": np.arange(6.0).reshape(2, 3), "names": np.array(["ä", "b"])}
    write_npz(path, arrays)
    back = read_npz(path)
    assert set(back) == {"x", "names"}
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)
    assert os.listdir(path.parent) == ["x.npz"]


def test_npz_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        write_npz(tmp_path / name, {"x": np.arange(100)})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_write_refuses_objects_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_npz(path, {"x": np.arange(3)})
    with pytest.raises(InputError, match="dtype object"):
        write_npz(path, {"x": np.array([{}, None], dtype=object)})
    assert np.array_equal(read_npz(path)["x"], np.arange(3))


def test_missing_file_folder_and_empty_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.npz: no such file"):
        read_npz(tmp_path / "nothing.npz")
    with pytest.raises(InputError, match="is a folder"):
        read_npz(tmp_path)
    (tmp_path / "empty.npz").touch()
    with pytest.raises(InputError, match="it is empty"):
        read_npz(tmp_path / "empty.npz")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_truncated_npz(tmp_path: Path, share: float) -> None:
    path = tmp_path / "x.npz"
    write_npz(path, {"x": np.random.default_rng(0).normal(size=1000)})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"x\.npz: damaged or truncated"):
        read_npz(path)


def test_flipped_bytes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_npz(path, {"x": np.random.default_rng(0).normal(size=1000)})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_npz(path)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickle_renamed_to_npz_runs_nothing(tmp_path: Path, protocol: int) -> None:
    path, trap = tmp_path / "x.npz", tmp_path / "trap"
    path.write_bytes(pickle.dumps(Touch(trap), protocol=protocol))
    with pytest.raises(InputError, match="not an npz file"):
        read_npz(path)
    assert not trap.exists()


def test_objects_inside_an_npz_run_nothing(tmp_path: Path) -> None:
    path, trap = tmp_path / "x.npz", tmp_path / "trap"
    np.savez(path, x=np.array([Touch(trap)], dtype=object))
    with pytest.raises(InputError, match="pickled objects"):
        read_npz(path)
    assert not trap.exists()


def test_npy_renamed_to_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "x.npy").rename(tmp_path / "x.npz")
    with pytest.raises(InputError, match=r"single \.npy array"):
        read_npz(tmp_path / "x.npz")


def test_failed_write_keeps_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def write_half() -> None:
        with atomic_write(path) as temporary:
            temporary.write_text("half of the ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_written_file_obeys_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_text(tmp_path / "x.txt", "text")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x.txt").stat().st_mode) == 0o644


def test_json_comes_back_equal_and_refuses_nan(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": [1, 2.5, None], "name": "Zürich"})
    assert read_json(path) == {"a": [1, 2.5, None], "name": "Zürich"}
    with pytest.raises(ValueError, match="Out of range"):
        write_json(path, {"a": float("nan")})
    path.write_text('{"a": 1,\n "b": }')
    with pytest.raises(InputError, match="line 2 column 7"):
        read_json(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="not valid JSON"):
        read_json(path)


def test_csr_comes_back_equal(tmp_path: Path) -> None:
    matrix = sparse.csr_array(sparse.random_array((20, 30), density=0.1, rng=0))
    write_npz(tmp_path / "m.npz", csr_to_arrays(matrix, "m"))
    back = csr_from_arrays(read_npz(tmp_path / "m.npz"), "m")
    assert back.shape == (20, 30)
    assert abs(back - matrix).nnz == 0


def test_csr_without_data_is_binary_and_indices_may_be_small() -> None:
    matrix = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0]], dtype=np.float32))
    arrays = csr_to_arrays(matrix, "x")
    del arrays["x_data"]
    arrays["x_indices"] = arrays["x_indices"].astype(np.uint16)
    back = csr_from_arrays(arrays, "x")
    assert back.dtype == np.float32
    assert np.array_equal(back.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x_indices", np.array([0, 1, 99])),
        ("x_indices", np.array([0, -1, 1])),
        ("x_indptr", np.array([0, 2, 5])),
        ("x_indptr", np.array([0, 3, 2])),
        ("x_shape", np.array([2])),
    ],
)
def test_damaged_csr_is_refused(name: str, value: np.ndarray) -> None:
    matrix = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0]], dtype=np.float32))
    with pytest.raises(InputError, match=r"^(the sparse matrix '?x|x)"):
        csr_from_arrays({**csr_to_arrays(matrix, "x"), name: value}, "x")
    with pytest.raises(InputError, match=rf"{name}.*missing"):
        csr_from_arrays(
            {key: array for key, array in csr_to_arrays(matrix, "x").items() if key != name}, "x"
        )


def test_a_private_file_stays_private_and_what_is_no_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "private.json"
    path.write_text("{}")
    path.chmod(0o600)
    write_json(path, {"a": 1})
    assert path.stat().st_mode & 0o777 == 0o600
    with atomic_write(path) as temporary:  # private before anything is written
        assert temporary.stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WriteError, match="is no file, and would be replaced"):
        write_json(tmp_path / "pipe", {})
