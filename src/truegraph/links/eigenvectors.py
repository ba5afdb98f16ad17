"""Leading eigenvectors of a large symmetric sparse matrix, by powers of it on a random block.

What a randomised SVD finds (Halko, Martinsson and Tropp 2011), in time and memory linear in the
stored entries: the matrix is its own transpose, blocks are made orthonormal by their Gram matrices,
which are as small as a block is narrow, and two arrays are written in turn. The LU factors and
copies of scikit-learn's `randomized_svd` grow faster than the nodes once a block leaves the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.runtime.compiled import compiled

Block = NDArray[np.float32]

_MORE = 10  # columns beyond those wanted
_ROUNDS = 5  # of two products each
_ROWS = 8192  # of a block that are copied at a time
_LEAST = 1e-12  # squared length, against the largest, of a direction that is more than rounding


def leading_vectors(matrix: csr_array, size: int, seed: int) -> Block:
    """Return the leading eigenvectors, each times the size of its eigenvalue.

    The caller sees to it that BLAS takes one thread, or bits depend on their number.

    Parameters
    ----------
    matrix : csr_array of float32, shape (N, N)
        Symmetric.
    size : int
        How many, at most N.
    seed : int

    Returns
    -------
    vectors : ndarray of float32, shape (N, size)
    """
    nodes = matrix.shape[0]
    width = min(size + _MORE, nodes)
    block = np.random.default_rng(seed).standard_normal((nodes, width), dtype=np.float32)
    other = np.empty_like(block)
    for _ in range(_ROUNDS):
        times(matrix, block, other)
        times(matrix, other, block)
        _turn(block, _orthonormal(_gram(block)))
    times(matrix, block, other)
    squares, directions = np.linalg.eigh(_gram(other))
    best = np.argsort(-squares, kind="stable")[:size]
    _turn(block, directions[:, best] * np.sqrt(np.maximum(squares[best], 0.0)))
    return np.ascontiguousarray(block[:, :size])


def times(matrix: csr_array, block: Block, out: Block) -> None:
    """Write the product of a sparse matrix (N, N) and a block (N, d) to `out` (N, d)."""
    _times(matrix.indptr, matrix.indices, matrix.data, block, out)


def _gram(block: Block) -> NDArray[np.float64]:
    """Return the inner products of the columns, summed in double precision, (d, d)."""
    total = np.zeros((block.shape[1], block.shape[1]))
    for first in range(0, len(block), _ROWS):
        rows = block[first : first + _ROWS].astype(np.float64)
        total += rows.T @ rows
    return total


def _orthonormal(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what makes columns with these inner products orthonormal, (d, d); 0 for rounding."""
    squares, directions = np.linalg.eigh(gram)
    is_real = squares > _LEAST * squares.max(initial=0.0)
    return directions * np.where(is_real, 1.0 / np.sqrt(np.where(is_real, squares, 1.0)), 0.0)


def _turn(block: Block, matrix: NDArray[np.float64]) -> None:
    """Multiply a block (N, d) by a matrix (d, k), k <= d, in place; later columns stay."""
    for first in range(0, len(block), _ROWS):
        rows = block[first : first + _ROWS]
        rows[:, : matrix.shape[1]] = rows @ matrix.astype(np.float32)


@compiled(parallel=True)
def _times(indptr: Any, indices: Any, data: Any, block: Any, out: Any) -> None:
    for row in prange(indptr.size - 1):
        for column in range(block.shape[1]):
            out[row, column] = 0.0
        for e in range(indptr[row], indptr[row + 1]):
            for column in range(block.shape[1]):
                out[row, column] += data[e] * block[indices[e], column]
