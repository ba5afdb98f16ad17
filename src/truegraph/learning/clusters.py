"""Groups of nodes that hold together: by Leiden's method of igraph, or by our own.

Our own is that of Blondel and others (2008): nodes move, in their order, while the modularity
grows; groups then become nodes, and so on. Ties go to the group with the lowest number: the same
graph always falls into the same groups.
"""

from __future__ import annotations

import random
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.runtime.compiled import compiled

_PASSES = 20  # over all nodes, per level; a handful is usual
_LEVELS = 10


def clusters(weights: csr_array, resolution: float = 1.0) -> NDArray[np.int64]:
    """Return the group of every node, numbered from 0 by falling size.

    Leiden's method where igraph is installed, else Louvain's.
    """
    find = louvain if find_spec("igraph") is None else leiden
    groups = find(weights, resolution)
    count = np.bincount(groups)
    order = np.lexsort((np.arange(count.size), -count))
    number = np.empty(count.size, dtype=np.int64)
    number[order] = np.arange(count.size)
    return number[groups]


def leiden(weights: csr_array, resolution: float) -> NDArray[np.int64]:
    """Return groups by igraph, always the same for the same graph."""
    import igraph

    from truegraph.data.adjacency import to_igraph

    igraph.set_random_number_generator(random.Random(0))
    try:
        found = to_igraph(weights).community_leiden(
            objective_function="modularity",
            weights="weight",
            resolution=resolution,
            n_iterations=-1,
        )
    finally:
        igraph.set_random_number_generator(random)  # igraph's own default
    return np.asarray(found.membership, dtype=np.int64)


def louvain(weights: csr_array, resolution: float) -> NDArray[np.int64]:
    """Return groups by moving nodes to the group that they gain most from."""
    level = weights.astype(np.float64)
    groups = np.arange(level.shape[0])
    for _ in range(_LEVELS):
        moved = _moved(level.indptr, level.indices, level.data, resolution, _PASSES)
        _, moved = np.unique(moved, return_inverse=True)
        groups = moved[groups]
        if moved.max() + 1 == level.shape[0]:
            break
        ones = np.ones(moved.size)
        shape = (moved.size, int(moved.max()) + 1)
        member = csr_array((ones, (np.arange(moved.size), moved)), shape=shape)
        level = csr_array(member.T @ level @ member)
        level.sort_indices()
    return groups


@compiled
def _moved(indptr, indices, data, resolution, passes):  # type: ignore[no-untyped-def]
    """Return the groups after moving every node where the modularity grows most."""
    n_nodes = indptr.size - 1
    group = np.arange(n_nodes)
    degree = np.zeros(n_nodes)
    for node in range(n_nodes):
        degree[node] = data[indptr[node] : indptr[node + 1]].sum()
    total = degree.sum()
    held = degree.copy()  # weight of each group
    near = np.zeros(n_nodes)  # weight from a node to each group
    for _ in range(passes):
        moves = 0
        for node in range(n_nodes):
            own = group[node]
            span = range(indptr[node], indptr[node + 1])
            for entry in span:
                if indices[entry] != node:
                    near[group[indices[entry]]] += data[entry]
            held[own] -= degree[node]
            cost = resolution * degree[node] / total if total > 0.0 else 0.0
            best, most = own, near[own] - cost * held[own]
            for entry in span:
                other = group[indices[entry]]
                gain = near[other] - cost * held[other]
                # rounding must not move nodes to and fro
                if gain > most + 1e-12 * degree[node] or (gain == most and other < best):
                    best, most = other, gain
            for entry in span:
                near[group[indices[entry]]] = 0.0
            near[own] = 0.0
            held[best] += degree[node]
            group[node] = best
            moves += best != own
        if moves == 0:
            break
    return group
