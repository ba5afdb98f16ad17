"""Prior knowledge: pairs of nodes that are always, or never, candidates for an edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError

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
