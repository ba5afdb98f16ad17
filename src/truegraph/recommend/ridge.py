"""Ridge regression of every item on others: all of them (dense), or each item's nearest (sparse).

Dense: a Gram matrix, inverted in place, by one thread, so that bits do not depend on the number of
threads. Memory is that of one matrix of items x items (two while a graph is applied), in single
precision where that is safe, beside the weights themselves.

Sparse: with A = X M the columns of users' (augmented) histories and w their weights, column i of B
solves (G_CC + ridge) b = G_Ci on the candidates C of item i. G = A' diag(w) A is never formed: only
the entries between an item's own candidates are, one item at a time. With all other items as
candidates it is the dense B, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csc_array, csr_array, diags_array

from truegraph.errors import InputError
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import one_blas_thread, thread_count

MOST_ITEMS = 15_000  # a dense matrix of this size has 0.9 GB in single precision
_DOUBLE_UP_TO = 4_000  # items; below, time and memory of double precision do not matter
_SAFE_CONDITION = 1e4  # errors of the weights stay below 1e-3 in single precision
_BLOCK = 512  # columns whose products are in memory beside the matrix
_AT_ONCE = 2_048  # rows that LAPACK inverts in one call, during which no interrupt is heard
_CHUNKS = 256  # of items, at least; each has working memory of its own
_ITEMS_AT_ONCE = 64  # so many are solved for in a moment


def dense_gram(
    matrix: csr_array,
    user_weights: NDArray[np.float64] | None = None,
    mixing: csr_array | None = None,
) -> NDArray[Any]:
    """Return M' X' diag(w) X M (n_items, n_items), made in blocks of columns.

    Of float64 up to 4,000 items, else of float32; w are ones and M the identity by default.
    """
    n_items = int(matrix.shape[1])
    kind: Any = np.float64 if n_items <= _DOUBLE_UP_TO else np.float32
    rows = matrix.astype(kind)
    if user_weights is not None:
        rows = csr_array(diags_array(np.sqrt(user_weights).astype(kind)) @ rows)
    turned, columns = csr_array(rows.T), csc_array(rows)
    gram = np.empty((n_items, n_items), dtype=kind)
    for start in range(0, n_items, _BLOCK):
        part = slice(start, start + _BLOCK)
        gram[:, part] = (turned @ csr_array(columns[:, part])).toarray()
    if mixing is None:
        return gram
    turned_mixing = csr_array(mixing.T.astype(kind))
    half = turned_mixing @ gram  # M' G, whose transpose is G M since G is symmetric
    for start in range(0, n_items, _BLOCK):
        part = slice(start, start + _BLOCK)
        gram[:, part] = turned_mixing @ np.ascontiguousarray(half[part].T)
    return gram


def dense_weights(gram: NDArray[Any], ridge: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return B = I - P diag(P)^-1 with P = (gram + diag(ridge))^-1: zero on its diagonal.

    Column j is the ridge regression of item j on all the others.

    gram (n_items, n_items) is symmetric, positive semi-definite, and its memory is used; ridge
    (n_items,) is above zero.
    """
    if gram.dtype == np.float32 and not _is_single_safe(gram, ridge):
        gram = gram.astype(np.float64)
    gram = np.ascontiguousarray(gram)
    gram[np.diag_indices_from(gram)] += ridge.astype(gram.dtype)
    with one_blas_thread():  # sums of several threads would come in another order
        if not _invert(gram):
            raise InputError(
                f"penalty={ridge.min():g} is too small for these interactions; raise it."
            )
    gram /= -np.diag(gram).copy()
    np.fill_diagonal(gram, 0.0)
    return np.ascontiguousarray(gram, dtype=np.float32)


def _invert(matrix: NDArray[Any]) -> bool:
    """Invert a symmetric positive definite matrix in place; return whether it is one.

    Larger ones by halves: with S = C - B' A^-1 B the inverse of [A B; B' C] has S^-1 at its end.
    """
    size = len(matrix)
    if size > _AT_ONCE:
        half = size // 2
        first, corner, last = matrix[:half, :half], matrix[:half, half:], matrix[half:, half:]
        if not _invert(first):
            return False
        mapped = first @ corner
        last -= corner.T @ mapped
        if not _invert(last):
            return False
        np.matmul(mapped, last, out=corner)
        first += corner @ mapped.T
        corner *= -1.0
        matrix[half:, :half] = corner.T
        return True
    kind = "s" if matrix.dtype == np.float32 else "d"
    factor, failed = getattr(lapack, f"{kind}potrf")(matrix.T, lower=1)
    if failed:
        return False
    inverse, failed = getattr(lapack, f"{kind}potri")(factor, lower=1, overwrite_c=1)
    matrix[:] = inverse.T
    for start in range(0, size, _BLOCK):  # the upper triangle becomes the lower one
        stop = start + _BLOCK
        here = np.triu(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = here + np.triu(here, 1).T
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
    return not failed


def _is_single_safe(gram: NDArray[Any], ridge: NDArray[np.float64]) -> bool:
    """Whether single precision suffices, by a bound on the condition after scaling.

    A positive matrix scaled to ones on its diagonal has eigenvalues up to its largest row sum;
    the ridge's share of the diagonal bounds the smallest from below.
    """
    diagonal = np.diag(gram).astype(np.float64) + ridge
    scale = 1.0 / np.sqrt(diagonal)
    with one_blas_thread():
        largest = float((scale * (gram @ scale.astype(gram.dtype))).max())
    return largest / float((ridge / diagonal).min()) < _SAFE_CONDITION


# --- sparse ---------------------------------------------------------------------------------------


def local_weights(
    columns: csc_array,
    user_weights: NDArray[np.float64],
    candidates: NDArray[np.int64],
    penalties: NDArray[np.float64],
    diagonal_share: float,
) -> list[csr_array]:
    """Return B (n_items, n_items) for each of several penalties.

    Parameters
    ----------
    columns : csc_array of float32, shape (n_users, n_items)
        A.
    user_weights : ndarray of shape (n_users,)
    candidates : ndarray of int64, shape (n_items, m)
        Items that each item is regressed on, never itself; -1 where a list has ended.
    penalties : ndarray of shape (p,)
    diagonal_share : float
        The ridge is penalty + diagonal_share * diag(G).
    """
    n_items = int(columns.shape[1])
    solved = np.zeros((n_items, len(penalties), candidates.shape[1]), dtype=np.float32)
    weighted = (
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        columns.data.astype(np.float32),
        user_weights.astype(np.float64),
    )
    given = (weighted, candidates, penalties.astype(np.float64), diagonal_share)
    chunks = max(_CHUNKS, n_items // _ITEMS_AT_ONCE)
    in_parts(
        chunks,
        lambda first, last: _solve_chunks(first, last, chunks, given, solved),
        least=thread_count(),
    )
    row, place = np.nonzero(candidates >= 0)
    ends = (candidates[row, place], row)
    return [
        csr_array((solved[row, number, place], ends), shape=(n_items, n_items))
        for number in range(len(penalties))
    ]


def strongest_entries(matrix: csr_array, most: NDArray[np.int64]) -> csr_array:
    """Return a matrix with the `most` (n,) largest entries of each row; equal ones all stay."""
    kept = np.ones(matrix.nnz, dtype=np.bool_)
    for row in np.flatnonzero(np.diff(matrix.indptr) > most):
        own = slice(matrix.indptr[row], matrix.indptr[row + 1])
        kept[own] = matrix.data[own] >= np.sort(matrix.data[own])[-most[row]]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[kept]
    return csr_array((matrix.data[kept], (rows, matrix.indices[kept])), shape=matrix.shape)


@compiled(parallel=True)
def _solve_chunks(
    first_chunk: int, last_chunk: int, chunks: int, given: Any, solved: np.ndarray
) -> None:
    columns, candidates, penalties, diagonal_share = given
    n_items, most = candidates.shape
    for chunk in prange(first_chunk, last_chunk):
        place_of = np.full(columns[3].size, -1, np.int32)
        gram = np.empty((most + 1, most + 1))
        factor = np.empty((most + 1, most + 1))
        own = np.empty(most + 1, np.int64)
        first, last = chunk * n_items // chunks, (chunk + 1) * n_items // chunks
        for item in range(first, last):
            count = 0
            for place in range(most):
                if candidates[item, place] >= 0:
                    own[count] = candidates[item, place]
                    count += 1
            own[count] = item
            _gram(columns, own[: count + 1], place_of, gram)
            filled = 0
            for number in range(penalties.size):
                _ridge(gram, count, penalties[number], diagonal_share, factor)
                filled = 0
                for place in range(most):
                    if candidates[item, place] >= 0:
                        solved[item, number, place] = factor[count, filled]
                        filled += 1


@compiled
def _gram(columns: Any, own: np.ndarray, place_of: np.ndarray, gram: np.ndarray) -> None:
    """Fill the lower triangle of the Gram matrix of some columns."""
    starts, users, values, user_weights = columns
    # The entries of these columns are put in the order of their users, then each user's are
    # multiplied with each other.
    size = own.size
    total = 0
    for one in range(size):
        total += starts[own[one] + 1] - starts[own[one]]
    met = np.empty(total, np.int32)
    counts = np.zeros(total + 1, np.int64)
    different = 0
    for one in range(size):
        for place in range(starts[own[one]], starts[own[one] + 1]):
            user = users[place]
            if place_of[user] < 0:
                place_of[user] = different
                met[different] = user
                different += 1
            counts[place_of[user] + 1] += 1
    for number in range(different):
        counts[number + 1] += counts[number]
    column = np.empty(total, np.int32)
    value = np.empty(total, np.float32)
    filled = counts[:different].copy()
    for one in range(size):
        for place in range(starts[own[one]], starts[own[one] + 1]):
            target = filled[place_of[users[place]]]
            column[target], value[target] = one, values[place]
            filled[place_of[users[place]]] += 1
    gram[:size, :size] = 0.0
    for number in range(different):
        weight = user_weights[met[number]]
        for later in range(counts[number], counts[number + 1]):
            row = gram[column[later]]
            scaled = weight * value[later]
            for earlier in range(counts[number], later + 1):  # columns ascend within a user
                row[column[earlier]] += scaled * value[earlier]
    for number in range(different):
        place_of[met[number]] = -1


@compiled
def _ridge(
    gram: np.ndarray, count: int, penalty: float, diagonal_share: float, factor: np.ndarray
) -> None:
    """Solve for the last column on the first `count`; row `count` of `factor` is the solution."""
    for row in range(count):  # Cholesky, row by row
        for column in range(row + 1):
            total = gram[row, column]
            if row == column:
                total += penalty + diagonal_share * gram[row, row]
            for k in range(column):
                total -= factor[row, k] * factor[column, k]
            if row == column:
                factor[row, row] = np.sqrt(total)
            else:
                factor[row, column] = total / factor[column, column]
    for row in range(count):
        total = gram[count, row]
        for k in range(row):
            total -= factor[row, k] * factor[count, k]
        factor[count, row] = total / factor[row, row]
    for row in range(count - 1, -1, -1):
        total = factor[count, row]
        for k in range(row + 1, count):
            total -= factor[k, row] * factor[count, k]
        factor[count, row] = total / factor[row, row]
