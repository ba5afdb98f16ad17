"""The dense step of EASE and its relatives: a Gram matrix, inverted in place.

Memory is that of one matrix of items x items (two while a graph is applied), in single precision
where that is safe, beside the weights themselves. One thread does it, so bits do not depend on the
number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csc_array, csr_array, diags_array
from threadpoolctl import threadpool_limits

from truegraph.errors import InputError

MOST_ITEMS = 15_000  # a dense matrix of this size has 0.9 GB in single precision
_DOUBLE_UP_TO = 4_000  # items; below, time and memory of double precision do not matter
_SAFE_CONDITION = 1e4  # errors of the weights stay below 1e-3 in single precision
_BLOCK = 512
_AT_ONCE = 2_048  # rows that LAPACK inverts in one call, during which no interrupt is heard


def dense_gram(
    matrix: csr_array,
    user_weights: NDArray[np.float64] | None = None,
    mixing: csr_array | None = None,
) -> NDArray[Any]:
    """Return M' X' diag(w) X M, made in blocks of columns.

    Parameters
    ----------
    matrix : csr_array of shape (n_users, n_items)
        X.
    user_weights : ndarray of shape (n_users,), optional
        w; ones by default.
    mixing : csr_array of shape (n_items, n_items), optional
        M; the identity by default.

    Returns
    -------
    gram : ndarray of shape (n_items, n_items)
        Of float64 up to 4,000 items, else of float32.
    """
    n_items = int(matrix.shape[1])
    if n_items > MOST_ITEMS:
        raise InputError(
            f"a dense matrix of {n_items} x {n_items} items is too large; up to {MOST_ITEMS} are "
            "possible; regress every item on its nearest items (local_weights) instead."
        )
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

    Parameters
    ----------
    gram : ndarray of shape (n_items, n_items)
        Symmetric, positive semi-definite; its memory is used.
    ridge : ndarray of float64, shape (n_items,)
        Above zero.

    Returns
    -------
    weights : ndarray of float32, shape (n_items, n_items)
    """
    if gram.dtype == np.float32 and not _is_single_safe(gram, ridge):
        gram = gram.astype(np.float64)
    gram = np.ascontiguousarray(gram)
    gram[np.diag_indices_from(gram)] += ridge.astype(gram.dtype)
    with threadpool_limits(1):  # sums of several threads would come in another order
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
    _mirror(matrix)
    return not failed


def _is_single_safe(gram: NDArray[Any], ridge: NDArray[np.float64]) -> bool:
    """Whether single precision suffices, by a bound on the condition after scaling.

    A positive matrix scaled to ones on its diagonal has eigenvalues up to its largest row sum;
    the ridge's share of the diagonal bounds the smallest from below.
    """
    diagonal = np.diag(gram).astype(np.float64) + ridge
    scale = 1.0 / np.sqrt(diagonal)
    with threadpool_limits(1):
        largest = float((scale * (gram @ scale.astype(gram.dtype))).max())
    return largest / float((ridge / diagonal).min()) < _SAFE_CONDITION


def _mirror(matrix: NDArray[Any]) -> None:
    """Copy the upper triangle to the lower one, block by block."""
    for start in range(0, len(matrix), _BLOCK):
        stop = start + _BLOCK
        here = matrix[start:stop, start:stop]
        matrix[start:stop, start:stop] = np.triu(here) + np.triu(here, 1).T
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
