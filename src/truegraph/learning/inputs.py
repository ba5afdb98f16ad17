"""Checks of what users pass in, with messages that name the argument, the value and the remedy."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph import gate
from truegraph.errors import InputError
from truegraph.gate import check_finite
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.learning.settings import Settings

_SMALLEST_DISTANCE = 1e-290  # the square of a smaller one would be zero


def check_threads(n_jobs: Any) -> None:
    """Check a number of threads."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(
            f"n_jobs={n_jobs!r} must be a number of threads, -1 for all cores, or None."
        )


def check_seed(random_state: Any) -> None:
    """Check a random_state."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    if not (isinstance(random_state, Integral) and 0 <= int(random_state) < 2**32):
        raise InputError(
            f"random_state={random_state!r} must be an integer from 0 to 2**32 - 1, a RandomState "
            "or None."
        )


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Check that a value is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}.")


def check_number(
    name: str, value: Any, *, above: float | None = None, at_least: float | None = None
) -> float:
    """Return a number as a float, after checking that it is finite and large enough."""
    wanted = f"> {above:g}" if above is not None else f">= {at_least:g}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    low = math.isfinite(number) and (
        number > above if above is not None else number >= (at_least or 0.0)
    )
    if not low:
        raise InputError(f"{name}={value!r} must be a finite number {wanted}.")
    return number


def most_edges(n_nodes: int, n_users: int | None) -> float:
    """Return the largest possible mean degree."""
    if n_users is None:
        return float(n_nodes - 1)
    return 2.0 * n_users * (n_nodes - n_users) / n_nodes


def check_points(name: str, points: Any) -> None:
    """Raise unless points is a finite table (n, d) with at least one column."""
    if points.ndim != 2:
        raise InputError(
            f"{name} must be a table of shape (nodes, features), but has shape {points.shape}; "
            "reshape it."
        )
    if points.shape[0] == 0:
        raise InputError(f"{name} is empty (shape {points.shape}); give at least two nodes.")
    if points.shape[1] == 0:
        raise InputError(f"{name} has no columns (shape {points.shape}); give a feature or more.")
    check_finite(name, points)


def check_two_nodes(n_nodes: int) -> None:
    """Raise when there is no pair of nodes at all."""
    if n_nodes < 2:
        raise InputError(
            f"the input has {counted(n_nodes, 'node')}; a graph needs at least two nodes."
        )


def check_input(name: str, X: Any, metric: str, settings: Settings) -> None:
    """Raise for every fault of the input that shows without a search.

    The learner finds them too; this finds them before the compiled code is imported.
    """
    if metric != "precomputed":
        check_points(name, X)
        check_two_nodes(X.shape[0])
        settings.within(X.shape[0] - 1, "that many nodes")
        return
    candidates = check_precomputed(X, name)
    check_two_nodes(candidates.shape[0])
    require_candidates(candidates)
    settings.within(candidates.nnz / candidates.shape[0], "the stored pairs")


def require_candidates(candidates: csr_array) -> None:
    """Raise when a node has no candidate pair at all, for then no graph exists."""
    empty = np.flatnonzero(np.diff(candidates.indptr) == 0)
    if empty.size:
        raise InputError(
            f"node {empty[0]} has no candidate pair ({empty.size} such nodes), but every node "
            "needs at least one; store a distance for it, add one with fixed_pairs, or forbid less."
        )


def check_precomputed(matrix: Any, name: str = "X") -> csr_array:
    """Return a precomputed distance matrix as candidates: symmetric CSR without diagonal.

    Stored entries, zeros included, are the candidate pairs; a dense matrix stores every pair.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{name} must be square for metric='precomputed', but has shape {matrix.shape}"
        )
    stored = _stored(matrix, name)
    off_diagonal = _row_numbers(stored) != stored.indices
    indptr = np.concatenate([[0], np.cumsum(off_diagonal)])[stored.indptr].astype(
        stored.indptr.dtype
    )
    candidates = csr_array(
        (stored.data[off_diagonal], stored.indices[off_diagonal], indptr), shape=stored.shape
    )
    _check_symmetric(candidates, name)
    return candidates


def check_rectangular(matrix: Any, name: str) -> csr_array:
    """Return precomputed user-item distances as candidates between users and items."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{name} must be a table of users by items, but has shape {matrix.shape}")
    stored = _stored(matrix, name)
    n_users, n_items = stored.shape
    back = csr_array(stored.T)
    back.sort_indices()
    return csr_array(
        (
            np.concatenate([stored.data, back.data]),
            np.concatenate([stored.indices + n_users, back.indices]),
            np.concatenate([stored.indptr, stored.nnz + back.indptr[1:]]),
        ),
        shape=(n_users + n_items, n_users + n_items),
    )


def _stored(matrix: Any, name: str) -> csr_array:
    """Return the stored entries as sorted CSR of float64, after checking their values."""
    if issparse(matrix):
        stored = gate.sparse_matrix(name, matrix, finite=False).copy()
        stored.sum_duplicates()
    else:
        dense = gate.table(name, matrix, finite=False)
        rows, columns = dense.shape
        stored = csr_array(
            (
                dense.ravel().copy(),
                np.tile(np.arange(columns, dtype=np.int32), rows),
                np.arange(0, rows * columns + 1, columns),
            ),
            shape=dense.shape,
        )
    if max(stored.nnz, *stored.shape) <= np.iinfo(np.int32).max:
        stored.indices = stored.indices.astype(np.int32, copy=False)
        stored.indptr = stored.indptr.astype(np.int32, copy=False)
    check_finite(name, stored)
    largest = float(stored.data.max(initial=0.0))
    if 0.0 < largest < _SMALLEST_DISTANCE:
        raise InputError(
            f"{name} has no distance larger than {largest:g}, too small for float64; scale the "
            "distances up."
        )
    if stored.nnz and stored.data.min() < 0.0:
        entry = int(np.flatnonzero(stored.data < 0.0)[0])
        raise InputError(
            f"{name} contains the negative distance {stored.data[entry]:g} in row "
            f"{_row_numbers(stored)[entry]}, column {stored.indices[entry]}; "
            "distances must be >= 0."
        )
    return stored


def _row_numbers(matrix: csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _check_symmetric(matrix: csr_array, name: str) -> None:
    mirror = csr_array(matrix.T)
    mirror.sort_indices()
    same_pattern = np.array_equal(matrix.indptr, mirror.indptr) and np.array_equal(
        matrix.indices, mirror.indices
    )
    if same_pattern and np.array_equal(matrix.data, mirror.data):
        return
    row, column = _first_asymmetric(matrix, mirror, same_pattern)
    if same_pattern:
        raise InputError(
            f"{name} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ; "
            "make it so, for example with (X + X.T) / 2."
        )
    raise InputError(
        f"{name} is not symmetric: entry ({row}, {column}) is stored and ({column}, {row}) is not; "
        "store every pair in both directions."
    )


def _first_asymmetric(matrix: csr_array, mirror: csr_array, same_pattern: bool) -> tuple[int, int]:
    rows = _row_numbers(matrix)
    if same_pattern:
        entry = int(np.flatnonzero(matrix.data != mirror.data)[0])
    else:
        nodes = matrix.shape[0]
        keys = rows * nodes + matrix.indices
        entry = int(
            np.flatnonzero(~np.isin(keys, _row_numbers(mirror) * nodes + mirror.indices))[0]
        )
    return int(rows[entry]), int(matrix.indices[entry])
