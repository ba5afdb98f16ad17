"""Graphs in the one form that every room understands, and conversions to and from it.

The canonical adjacency matrix is a `scipy.sparse.csr_array` of float64: symmetric, zero diagonal,
sorted indices, no stored zeros.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def adjacency_from_edges(
    sources: NDArray[np.integer],
    targets: NDArray[np.integer],
    weights: NDArray[np.floating] | None,
    n_nodes: int,
) -> sparse.csr_array:
    """Build the canonical adjacency matrix from lists of edge ends.

    Direction is ignored, self-loops are dropped, and an edge that is listed more than once keeps
    its largest weight.

    Parameters
    ----------
    sources, targets : ndarray of int, shape (n_edges,)
        Node numbers, each below `n_nodes`.
    weights : ndarray of float, shape (n_edges,), or None
        Edge weights; None means 1.
    n_nodes : int
        Number of nodes.

    Returns
    -------
    adjacency : csr_array of float64, shape (n_nodes, n_nodes)
    """
    low = np.minimum(sources, targets).astype(np.int64)
    high = np.maximum(sources, targets).astype(np.int64)
    real = low != high
    keys, inverse = np.unique(low[real] * n_nodes + high[real], return_inverse=True)
    values = np.ones(len(keys))
    if weights is not None:
        values[:] = -np.inf
        np.maximum.at(values, inverse, np.asarray(weights, dtype=np.float64)[real])
    low, high = keys // max(n_nodes, 1), keys % max(n_nodes, 1)
    upper = sparse.coo_array((values, (low, high)), shape=(n_nodes, n_nodes))
    adjacency = sparse.csr_array(upper + upper.T)
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    return adjacency
