"""Graphs with edges removed or added at random, to see how a method copes with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from truegraph.data.graphs.adjacency import adjacency_from_edges, as_adjacency
from truegraph.errors import InputError


def perturb_graph(
    graph: Any, *, removed: float = 0.0, added: float = 0.0, random_state: int = 0
) -> csr_array:
    """Remove a share of the edges at random, and add random ones between unlinked nodes.

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
    removed : float in [0, 1]
        Share of the edges to remove. For a given graph and seed, a larger share removes all that a
        smaller one does.
    added : float >= 0
        New edges, of weight 1, as a share of the edges that the graph had.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, N)
    """
    if not 0.0 <= removed <= 1.0:
        raise InputError(f"removed={removed} must be a share between 0 and 1.")
    if not 0.0 <= added < np.inf:
        raise InputError(f"added={added} must be a share of at least 0.")
    adjacency = as_adjacency(graph)
    upper = triu(adjacency, k=1, format="coo")
    order = np.random.default_rng([random_state, 0]).permutation(upper.nnz)
    kept = np.sort(order[round(removed * upper.nnz) :])
    new = _unlinked(adjacency, round(added * upper.nnz), random_state)
    return adjacency_from_edges(
        np.concatenate([upper.row[kept], new[:, 0]]),
        np.concatenate([upper.col[kept], new[:, 1]]),
        np.concatenate([upper.data[kept], np.ones(len(new))]),
        adjacency.shape[0],
    )


def _unlinked(adjacency: csr_array, count: int, seed: int) -> NDArray[np.int64]:
    """Draw different pairs (count, 2) of nodes without an edge, first node below second."""
    nodes = adjacency.shape[0]
    free = nodes * (nodes - 1) // 2 - triu(adjacency, k=1).nnz
    if count > free:
        raise InputError(f"{count} edges cannot be added: only {free} pairs have none; add fewer.")
    generator = np.random.default_rng([seed, 1])
    upper = triu(adjacency, k=1, format="coo")
    taken = set((upper.row.astype(np.int64) * nodes + upper.col).tolist())
    found: list[int] = []
    while len(found) < count:
        ends = np.sort(generator.integers(0, nodes, size=(count, 2)), axis=1)
        for key in (ends[ends[:, 0] != ends[:, 1]] @ np.array([nodes, 1])).tolist():
            if key not in taken and len(found) < count:
                taken.add(key)
                found.append(key)
    keys = np.array(found, dtype=np.int64)
    return np.column_stack([keys // nodes, keys % nodes])
