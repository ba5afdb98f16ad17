"""Readers for points, the input of graph learning, from files of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.storage import PathLike, csr_from_arrays, existing_file, read_npz
from truegraph.errors import InputError

Points = NDArray[np.float32] | NDArray[np.float64] | sparse.csr_array

_IDS = ("ids", "node_names", "names", "index")  # arrays beside the points that name them


def read_array(path: PathLike) -> tuple[Points, NDArray[np.str_] | None]:
    """Read points and their ids, if there are any, from a .npy or .npz file."""
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        return _npy_points(path), None
    if suffix == ".npz":
        return _points_and_ids(path)
    raise InputError(
        f"{path}: features cannot be read from {suffix or 'a file without an ending'}; "
        "give a .csv, .parquet, .npz or .npy file."
    )


def _points_and_ids(path: PathLike) -> tuple[Points, NDArray[np.str_] | None]:
    arrays = read_npz(path)
    inside = next((name for name in _IDS if name in arrays), None)
    ids = None if inside is None else arrays.pop(inside)
    points = _npz_points(path, arrays)
    beside = Path(path).with_suffix(".ids.txt")
    if ids is None and beside.exists():
        ids = np.array(beside.read_text(encoding="utf-8").splitlines())
    if ids is None:
        return points, None
    names = np.array([str(value) for value in ids.tolist()], dtype=str)
    if names.shape != (points.shape[0],):
        raise InputError(
            f"{path} has {len(names)} ids for {points.shape[0]} rows; give one per row."
        )
    different, counts = np.unique(names, return_counts=True)
    if len(different) < len(names):
        twice = str(different[counts.argmax()])
        raise InputError(f"{path}: the id {twice!r} stands for two rows; remove one.")
    return points, names


def _npy_points(path: PathLike) -> Points:
    file = existing_file(path)
    try:
        with file.open("rb") as stream:
            points = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{path}: not a readable .npy array ({error}); save a plain number array with "
            "numpy.save; pickled objects are never loaded because loading them can run code."
        ) from error
    return _checked_points(path, points)


def _npz_points(path: PathLike, arrays: dict[str, NDArray[Any]]) -> Points:
    """Return the array x or X, the only array, or the CSR matrix of SciPy or of a data set."""
    if {"format", "shape", "data"} <= set(arrays):  # written by scipy.sparse.save_npz
        if arrays["format"].item() not in (b"csr", "csr"):
            raise InputError(
                f"{path} holds a sparse matrix in {arrays['format'].item()!r} form; "
                "save it as CSR: scipy.sparse.save_npz(path, matrix.tocsr())."
            )
        arrays = {f"x_{part}": value for part, value in arrays.items()}
    if "x_indices" in arrays:
        try:
            return _checked_points(path, csr_from_arrays(arrays, "x"))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    named = [arrays[key] for key in ("x", "X") if key in arrays] or list(arrays.values())
    if len(arrays) > 1 and not {"x", "X"} & set(arrays):
        raise InputError(
            f"{path} holds the arrays {sorted(arrays)}, and none is called 'x'; "
            "save the points alone, or under the name x."
        )
    if not named:
        raise InputError(f"{path} holds no array; save the points under the name x.")
    return _checked_points(path, named[0])


def _checked_points(path: PathLike, points: Any) -> Points:
    if points.ndim != 2 or points.dtype.kind not in "biuf":
        raise InputError(
            f"{path} holds an array of shape {points.shape} and type {points.dtype}; "
            "give numbers, one row per point."
        )
    single = points.dtype == np.float32
    return points.astype(np.float32 if single else np.float64, copy=False)
