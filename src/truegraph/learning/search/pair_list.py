"""Candidate pairs counted once, and matrices made of values per pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairList:
    """The pairs (i, j), i < j, stored in a symmetric matrix, row by row."""

    matrix: csr_array  # (n_nodes, n_nodes), symmetric in pattern, sorted, zero diagonal
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    entry: NDArray[np.int64]  # where the matrix stores (i, j)
    pair: NDArray[np.int64]  # of every stored entry

    @classmethod
    def of(cls, matrix: csr_array) -> PairList:
        """List the pairs of a matrix."""
        nodes = matrix.shape[0]
        row = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(matrix.indptr))
        entry = np.flatnonzero(row < matrix.indices)
        # The transpose of the entries' numbers tells where the other direction is stored.
        numbers = np.arange(matrix.nnz)
        mirror = csr_array((numbers, matrix.indices, matrix.indptr), shape=matrix.shape).T.tocsr()
        if 2 * entry.size != matrix.nnz or not (
            np.array_equal(mirror.indptr, matrix.indptr)
            and np.array_equal(mirror.indices, matrix.indices)
        ):
            raise InputError(
                "candidates must store every pair in both directions, in ascending order and "
                "without a diagonal; learn the graph again."
            )
        pair = np.empty(matrix.nnz, dtype=np.int64)
        pair[entry] = np.arange(entry.size)
        pair[mirror.data[entry]] = np.arange(entry.size)
        return cls(matrix, row[entry], matrix.indices[entry].astype(np.int32), entry, pair)

    def __len__(self) -> int:
        return self.entry.size

    def symmetric(self, values: NDArray[Any]) -> csr_array:
        """Return the symmetric matrix (n_nodes, n_nodes) with these values (n_pairs,)."""
        c = self.matrix
        return csr_array((values[self.pair], c.indices, c.indptr), shape=c.shape)

    def degrees(self, values: NDArray[np.floating[Any]]) -> Floats:
        """Return the sums (n_nodes,) of the values (n_pairs,) at each node."""
        nodes = self.matrix.shape[0]
        first, second = (np.bincount(ends, values, nodes) for ends in (self.first, self.second))
        return np.asarray(first + second, dtype=np.float64)
