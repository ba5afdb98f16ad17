"""Points as rows, dense or sparse: checked, scaled to length one, and their distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning.inputs import check_points
from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]
Points = NDArray[Any] | csr_array

_SMALLEST_POINTS = 1e-150
_ROWS = 4096  # of points scaled at a time

_compiled = compiled(parallel=True)


@_compiled
def _pairs_dense(points: Any, rows: Any, columns: Any, out: Any) -> None:
    """Sum in the order of the columns, of four pairs side by side: one alone waits for itself."""
    for group in prange((rows.size + 3) // 4):
        e0 = 4 * group
        e1 = min(e0 + 1, rows.size - 1)
        e2, e3 = min(e0 + 2, rows.size - 1), min(e0 + 3, rows.size - 1)
        i0, i1, i2, i3 = rows[e0], rows[e1], rows[e2], rows[e3]
        j0, j1, j2, j3 = columns[e0], columns[e1], columns[e2], columns[e3]
        t0 = t1 = t2 = t3 = 0.0
        for d in range(points.shape[1]):
            x0 = np.float64(points[i0, d]) - np.float64(points[j0, d])
            x1 = np.float64(points[i1, d]) - np.float64(points[j1, d])
            x2 = np.float64(points[i2, d]) - np.float64(points[j2, d])
            x3 = np.float64(points[i3, d]) - np.float64(points[j3, d])
            t0 += x0 * x0
            t1 += x1 * x1
            t2 += x2 * x2
            t3 += x3 * x3
        out[e3], out[e2], out[e1], out[e0] = t3, t2, t1, t0


@_compiled
def _pairs_sparse(indptr: Any, indices: Any, data: Any, rows: Any, columns: Any, out: Any) -> None:
    """Merge two rows of ascending indices; differences are squared, so nothing cancels."""
    for e in prange(rows.size):
        a, a_end = indptr[rows[e]], indptr[rows[e] + 1]
        b, b_end = indptr[columns[e]], indptr[columns[e] + 1]
        total = 0.0
        while a < a_end or b < b_end:
            difference = 0.0
            take_a = b == b_end or (a < a_end and indices[a] <= indices[b])
            take_b = a == a_end or (b < b_end and indices[b] <= indices[a])
            if take_a:
                difference += data[a]
                a += 1
            if take_b:
                difference -= data[b]
                b += 1
            total += difference * difference
        out[e] = total


def checked_points(points: ArrayLike | csr_array, name: str = "points") -> Points:
    """Return checked points as CSR with sorted rows, or a contiguous array; float32 stays."""
    if issparse(points):
        matrix = gate.sparse_matrix(name, points, finite=False)
        check_points(name, matrix)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # it may share its arrays with the caller's
            matrix.sum_duplicates()
        return matrix
    given = points if isinstance(points, np.ndarray) else np.asarray(points)
    is_single = given.dtype == np.float32
    dense = np.ascontiguousarray(given if is_single else gate.as_floats(name, points))
    check_points(name, dense)
    return dense


def check_squares(points: Points) -> None:
    """Raise when a squared distance between the points could overflow."""
    data = points.data if isinstance(points, csr_array) else points
    check_range(max(float(data.max(initial=0.0)), -float(data.min(initial=0.0))), points.shape[1])


def check_range(largest: float, columns: int) -> None:
    """Raise when points with so large entries have squared distances beyond float64."""
    if largest > np.sqrt(np.finfo(np.float64).max / (4.0 * columns)):
        raise InputError(
            f"points has values as large as {largest:g}, whose squared distances overflow; "
            "scale the points down."
        )
    if 0.0 < largest < _SMALLEST_POINTS:
        raise InputError(
            f"points has no value larger than {largest:g}, whose squared distances are too small "
            "for float64; scale the points up."
        )


def squared_distances(points: Points, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
    """Return |x_i - x_j|^2 of the pairs (rows[e], columns[e]), shape (pairs,)."""
    rows, columns = as_nodes(rows, columns)
    out = np.empty(rows.size)
    if isinstance(points, csr_array):
        _pairs_sparse(points.indptr, points.indices, points.data, rows, columns, out)
    else:
        _pairs_dense(points, rows, columns, out)
    return out


def as_nodes(*ends: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Yield node numbers as contiguous int64: loops are compiled for one kind of array only."""
    return (np.ascontiguousarray(end, dtype=np.int64) for end in ends)


def checked_ends(
    rows: Any, columns: Any, n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of pairs as node numbers, as many rows as columns."""
    first, second = gate.indices("rows", rows, n_nodes), gate.indices("columns", columns, n_nodes)
    if first.size != second.size:
        raise InputError(f"rows has {first.size} nodes and columns {second.size}; give pairs.")
    return first, second


def unit_rows(points: Points) -> Points:
    """Scale rows to length one, of float64; rows of zeros point along an extra axis.

    Dense points take one array of float64 beside themselves, whatever they are made of.
    """
    if isinstance(points, csr_array):
        rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        # Divided by its largest entry first, no row is too short or too long to be squared.
        largest, squares = np.zeros(points.shape[0]), np.zeros(points.shape[0])
        np.maximum.at(largest, rows, np.abs(points.data))
        data = points.data / _divisor(largest)[rows]
        np.add.at(squares, rows, data**2)
        data = data / _divisor(np.sqrt(squares))[rows]
        unit = csr_array((data, points.indices, points.indptr), shape=points.shape)
        empty = largest == 0.0
        return csr_array(hstack([unit, csr_array(empty[:, None] * 1.0)])) if empty.any() else unit
    count, columns = points.shape
    largest = np.maximum(points.max(axis=1), -points.min(axis=1)).astype(np.float64)
    empty = largest == 0.0
    out = np.zeros((count, columns + bool(empty.any())))
    out[empty, columns:] = 1.0
    for first in range(0, count, _ROWS):
        block = slice(first, first + _ROWS)
        part = points[block].astype(np.float64) / _divisor(largest[block])[:, None]
        lengths = np.sqrt(np.add.reduce(np.abs(part**2), axis=1))
        out[block, :columns] = part / _divisor(lengths)[:, None]
    return out


def _divisor(lengths: Floats) -> Floats:
    return np.where(lengths == 0.0, 1.0, lengths)


def stacked(first: Any, second: Any) -> Any:
    """Return the rows of two tables of points in one table, sparse if one of them is."""
    if issparse(first) or issparse(second):
        return csr_array(vstack([csr_array(first), csr_array(second)]))
    return np.vstack([first, second])


def same_points(first: Any, second: Any) -> bool:
    """Return whether two tables of points, both dense or both sparse, hold the same values."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    if not (issparse(first) and issparse(second)):
        return False
    one: Any = first
    other: Any = second
    return bool(one.shape == other.shape and (one != other).nnz == 0)
