"""Readers for points, the input of graph learning, from arrays and tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.storage import csr_from_arrays, existing_file, read_npz
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.data.tables import Table

PathLike = str | os.PathLike[str]
Points = NDArray[np.float32] | NDArray[np.float64] | sparse.csr_array


def read_points(path: PathLike) -> tuple[Points, NDArray[np.str_] | None]:
    """Read points, one per row, from a file.

    Parameters
    ----------
    path : path-like
        .npy (an array); .npz (an array called ``x`` or ``X``, a single array of any name, a CSR
        matrix saved with `scipy.sparse.save_npz`, or a data set of
        `truegraph.data.nodes.archive`); .csv or .parquet (numbers, with or without a
        header, and the names of the points in the first column if that is text or called "id",
        "node", "node_id", "name" or "index").

    Returns
    -------
    points : ndarray or csr_array of float, shape (n_points, n_features)
    node_names : ndarray of str, shape (n_points,), or None
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        return _checked_points(path, _read_npy(path)), None
    if suffix == ".npz":
        return _checked_points(path, _points_in_npz(path)), None
    if suffix not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
        raise InputError(
            f"{path}: points cannot be read from {suffix or 'a file without an ending'}. "
            "Give a .npy, .npz, .csv or .parquet file."
        )
    return _points_in_table(path)


def _points_in_table(path: PathLike) -> tuple[Points, NDArray[np.str_] | None]:
    # Tables need pandas, whose import takes longer than reading a small array.
    from truegraph.data.nodes.node_files import read_features
    from truegraph.data.tables import has_header, open_table

    table = open_table(path)
    header = has_header(table.first)
    if not _first_column_names_points(table, header=header):
        every = range(len(table.first))
        return table.columns([], every, header=header).to_numpy(np.float64), None
    names, features = read_features(path)
    return features, names


def _first_column_names_points(table: Table, *, header: bool) -> bool:
    from truegraph.data.tables import ID_HEADERS, is_number

    if len(table.first) < 2:
        return False
    if header and table.first[0].strip().lower() in ID_HEADERS:
        return True
    return not is_number(table.first_value(header=header))


def _read_npy(path: PathLike) -> NDArray[Any]:
    file = existing_file(path)
    try:
        with file.open("rb") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{path}: not a readable .npy array ({error}). Save a plain number array with "
            "numpy.save; pickled objects are never loaded because loading them can run code."
        ) from error


def _points_in_npz(path: PathLike) -> Any:
    arrays = read_npz(path)
    if {"format", "shape", "data"} <= set(arrays):  # written by scipy.sparse.save_npz
        if arrays["format"].item() not in (b"csr", "csr"):
            raise InputError(
                f"{path}: holds a sparse matrix in {arrays['format'].item()!r} form. "
                "Save it as CSR: scipy.sparse.save_npz(path, matrix.tocsr())."
            )
        arrays = {f"x_{part}": value for part, value in arrays.items()}
    if "x_indices" in arrays:
        try:
            return csr_from_arrays(arrays, "x")
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    named = [arrays[key] for key in ("x", "X") if key in arrays] or list(arrays.values())
    if len(arrays) > 1 and not {"x", "X"} & set(arrays):
        raise InputError(
            f"{path}: holds the arrays {sorted(arrays)}, and none is called 'x'. "
            "Save the points alone, or under the name x."
        )
    if not named:
        raise InputError(f"{path}: holds no array. Save the points under the name x.")
    return named[0]


def _checked_points(path: PathLike, points: Any) -> Points:
    if points.ndim != 2 or points.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: holds an array of shape {points.shape} and type {points.dtype}; "
            "give numbers, one row per point."
        )
    single = points.dtype == np.float32
    return points.astype(np.float32 if single else np.float64, copy=False)
