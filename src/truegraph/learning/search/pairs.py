"""Pairs of nodes: counted once, in another order, and those that are fixed or forbidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.runtime.compiled import compiled


def restored_matrix(matrix: csr_array, order: NDArray[np.int64]) -> csr_array:
    """Return a matrix of nodes order[0], order[1], ... in the order 0, 1, ..."""
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    indptr = np.zeros_like(matrix.indptr)
    np.cumsum(np.diff(matrix.indptr)[rank], out=indptr[1:])
    indices, data = np.empty_like(matrix.indices), np.empty_like(matrix.data)
    old = (matrix.indptr, matrix.indices, matrix.data)
    _fill(old, order, rank, indptr, indices, data)
    return csr_array((data, indices, indptr), shape=matrix.shape)


@compiled(parallel=True)
def _fill(old: Any, order: Any, rank: Any, indptr: Any, indices: Any, data: Any) -> None:
    old_start, old_indices, old_data = old
    for i in prange(rank.size):
        from_row = slice(old_start[rank[i]], old_start[rank[i] + 1])
        to_row = slice(indptr[i], indptr[i + 1])
        columns = order[old_indices[from_row]]
        by_column = np.argsort(columns)
        indices[to_row] = columns[by_column]
        data[to_row] = old_data[from_row][by_column]


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


Mask = csr_array | None


def check_masks(fixed: Any, forbidden: Any, n_nodes: int) -> tuple[Mask, Mask]:
    """Return both masks as symmetric boolean CSR without diagonal."""
    fixed_mask = _mask("fixed_pairs", fixed, n_nodes)
    forbidden_mask = _mask("forbidden_pairs", forbidden, n_nodes)
    if fixed_mask is not None and forbidden_mask is not None:
        both = csr_array(fixed_mask.multiply(forbidden_mask))
        if both.nnz:
            row, column = (int(part[0]) for part in both.nonzero())
            raise InputError(
                f"the pair ({row}, {column}) is both in fixed_pairs and in forbidden_pairs; "
                "take it out of one of them."
            )
    return fixed_mask, forbidden_mask


def _mask(name: str, mask: Any, n_nodes: int) -> csr_array | None:
    """Return a mask of pairs as a symmetric boolean CSR without diagonal."""
    if mask is None:
        return None
    matrix = csr_array(gate.table(name, mask, shape=(n_nodes, n_nodes)))
    pattern = matrix.astype(np.bool_)
    pattern.eliminate_zeros()
    pairs = csr_array(pattern.maximum(csr_array(pattern.T))).tocoo()
    keep = pairs.row != pairs.col
    return csr_array(
        (np.ones(int(keep.sum()), dtype=np.bool_), (pairs.row[keep], pairs.col[keep])),
        shape=matrix.shape,
    )


def masked_pattern(pattern: csr_array, fixed: Mask, forbidden: Mask) -> csr_array:
    """Return a boolean candidate pattern plus the fixed, minus the forbidden pairs."""
    if fixed is not None:
        pattern = csr_array(pattern.maximum(fixed))
    if forbidden is not None:
        pattern = csr_array(pattern > forbidden)
    pattern.sort_indices()
    return _short_indices(pattern)


def masked_candidates(candidates: csr_array, fixed: Mask, forbidden: Mask) -> csr_array:
    """Drop the forbidden pairs from given candidates; fixed pairs must be among them."""
    nodes = candidates.shape[0]
    rows = np.repeat(np.arange(nodes), np.diff(candidates.indptr))
    keys = rows * nodes + candidates.indices
    if fixed is not None and not np.isin(_keys(fixed), keys).all():
        raise InputError(
            "fixed_pairs names a pair without a stored distance; with metric='precomputed' "
            "store its distance in X."
        )
    if forbidden is None:
        return candidates
    keep = ~np.isin(keys, _keys(forbidden))
    kept = (candidates.data[keep], (rows[keep], candidates.indices[keep]))
    return _short_indices(csr_array(kept, shape=candidates.shape))


def _short_indices(matrix: csr_array) -> csr_array:
    """Use 32-bit node numbers, which most libraries ask for, where they suffice."""
    if max(matrix.nnz, matrix.shape[0]) <= np.iinfo(np.int32).max:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def _keys(mask: csr_array) -> NDArray[np.int64]:
    pairs = mask.tocoo()
    return pairs.row.astype(np.int64) * mask.shape[0] + pairs.col
