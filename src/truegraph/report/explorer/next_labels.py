"""Nodes to label next: uncertain ones whose labels tell about uncertain neighbours."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def label_next(
    adjacency: csr_array, uncertainty: NDArray[np.float64], count: int = 20
) -> list[int]:
    """Return the nodes whose labels would tell most, from uncertainties (n_nodes,).

    A label settles its node, and of each neighbour the share that its weight has among the
    neighbour's edges. Nodes are chosen greedily: the second choice counts what the first leaves
    open. Nodes of uncertainty 0 have a label and are not chosen.
    """
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    open_ = uncertainty.astype(np.float64).copy()
    asked = uncertainty > 0.0

    def gain(node: int) -> float:
        part = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        near = adjacency.indices[part]
        return float(open_[node] + (adjacency.data[part] / degree[near] * open_[near]).sum())

    # gains only fall: a node whose gain is still the largest when counted anew is the best
    share = csr_array(adjacency / np.where(degree > 0, degree, 1.0)[None, :])
    first = open_ + share @ open_
    heap = [(-first[node], int(node)) for node in np.flatnonzero(asked)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        _, node = heapq.heappop(heap)
        now = gain(node)
        if heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, node))
            continue
        chosen.append(node)
        part = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        near = adjacency.indices[part]
        open_[near] *= 1.0 - adjacency.data[part] / degree[near]
        open_[node] = 0.0
    return chosen
