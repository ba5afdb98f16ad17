"""One small ridge regression per item, on the items near it: EASE without a dense matrix.

With A = X M the columns of users' (augmented) histories and w their weights, column i of B solves
(G_CC + ridge) b = G_Ci on the candidates C of item i, where G = A' diag(w) A is never formed: only
the entries between an item's own candidates are, one item at a time. With all other items as
candidates it is EASE's B, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count

_CHUNKS = 256  # of items, at least; each has working memory of its own
_ITEMS_AT_ONCE = 64  # so many are solved for in a moment


def local_weights(
    columns: csc_array,
    user_weights: NDArray[np.float64],
    candidates: NDArray[np.int64],
    penalties: NDArray[np.float64],
    diagonal_share: float,
) -> list[csr_array]:
    """Return B for each of several penalties.

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

    Returns
    -------
    weights : list of p csr_array of float32, shape (n_items, n_items)
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
    """Return a matrix with only the largest entries of each row.

    Parameters
    ----------
    matrix : csr_array of shape (n, m)
    most : ndarray of int64, shape (n,)
        How many entries each row keeps; of equal ones at the end all stay.
    """
    kept = np.empty(matrix.nnz, dtype=np.bool_)
    _mark(matrix.indptr.astype(np.int64), matrix.data, most, kept)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[kept]
    return csr_array((matrix.data[kept], (rows, matrix.indices[kept])), shape=matrix.shape)


@compiled
def _mark(starts: np.ndarray, values: np.ndarray, most: np.ndarray, kept: np.ndarray) -> None:
    for row in range(most.size):
        own = values[starts[row] : starts[row + 1]]
        if own.size <= most[row]:
            kept[starts[row] : starts[row + 1]] = True
        else:
            least = np.sort(own)[own.size - most[row]]
            for place in range(own.size):
                kept[starts[row] + place] = own[place] >= least


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
