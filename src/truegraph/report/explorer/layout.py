"""Places of the nodes in the plane: neighbours near, others apart, as in UMAP and LargeVis.

Positions start from the slowest vectors of a random walk on the graph, as ranks. Then edges, drawn
in proportion to their weights, pull their ends together, and random pairs push each other apart, by
1 / (1 + d^2) as in t-SNE. One thread does it all: the same graph gives the same bits everywhere.

References
----------
McInnes, Healy and Melville, "UMAP: Uniform Manifold Approximation and Projection for Dimension
Reduction", 2018. Tang, Liu, Zhang and Mei, "Visualizing Large-scale and High-dimensional Data",
WWW 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]

_SMOOTHING = 80  # steps of the random walk
_EXTENT = 20.0  # of the plane at the start
_PUSHES = 5  # random pairs per edge
_EPOCHS = 300
_UPDATES = 30_000_000  # of edges at most: large graphs get fewer epochs
_FEWEST_EPOCHS = 60
_GRAVITY = 0.002  # keeps pieces of a graph in sight of each other


def layout(weights: csr_array, seed: int = 0) -> Floats:
    """Return places (n_nodes, 2) of nodes with symmetric, nonnegative weights."""
    n_nodes = int(weights.shape[0])
    positions = _start(weights, seed)
    upper = weights.tocoo()
    ahead = (upper.row < upper.col) & (upper.data > 0.0)
    heads, tails = upper.row[ahead].astype(np.int64), upper.col[ahead].astype(np.int64)
    if heads.size == 0:
        return positions
    share = upper.data[ahead] / upper.data[ahead].max()
    epochs = int(np.clip(_UPDATES / max(share.sum(), 1.0), _FEWEST_EPOCHS, _EPOCHS))
    _descend(positions, heads, tails, share, epochs, np.uint64(seed + n_nodes))
    return positions - np.median(positions, axis=0)


def _start(weights: csr_array, seed: int) -> Floats:
    """Return ranks by the two slowest vectors of the random walk, beside the constant one."""
    n_nodes = int(weights.shape[0])
    root = np.sqrt(np.maximum(np.asarray(weights.sum(axis=1)).ravel(), 1e-300))
    inverse = 1.0 / root
    vectors = [root, *np.random.default_rng(seed).normal(size=(2, n_nodes))]
    for _ in range(_SMOOTHING):
        vectors = [0.5 * (v + inverse * (weights @ (inverse * v))) for v in vectors]
        vectors = _orthonormal(vectors)
    ranks = [np.argsort(np.argsort(inverse * v, kind="stable")) for v in vectors[1:]]
    return _EXTENT * (np.stack(ranks, axis=1) / n_nodes - 0.5)


def _orthonormal(vectors: list[Floats]) -> list[Floats]:
    # sums, not dot products: those of a library may depend on its number of threads
    done: list[Floats] = []
    for vector in vectors:
        for other in done:
            vector = vector - (vector * other).sum() * other
        done.append(vector / max(float(np.sqrt((vector * vector).sum())), 1e-300))
    return done


@compiled
def _descend(positions, heads, tails, share, epochs, seed):  # type: ignore[no-untyped-def]
    """Move the positions in place; an edge of share s is drawn in about s of the epochs."""
    n_nodes = positions.shape[0]
    state = seed * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x1234567)
    due = np.zeros(heads.size)
    for epoch in range(epochs):
        rate = 1.0 - epoch / epochs
        for edge in range(heads.size):
            due[edge] += share[edge]
            if due[edge] < 1.0:
                continue
            due[edge] -= 1.0
            i, j = heads[edge], tails[edge]
            x, y = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1]
            pull = -2.0 * rate / (1.0 + x * x + y * y)
            positions[i, 0] += pull * x
            positions[i, 1] += pull * y
            positions[j, 0] -= pull * x
            positions[j, 1] -= pull * y
            for push in range(2 * _PUSHES):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = np.int64(state % np.uint64(n_nodes))
                node = i if push < _PUSHES else j
                if other == node:
                    continue
                x = positions[node, 0] - positions[other, 0]
                y = positions[node, 1] - positions[other, 1]
                square = x * x + y * y
                force = 2.0 * rate / ((0.01 + square) * (1.0 + square))
                positions[node, 0] += min(4.0, max(-4.0, force * x))
                positions[node, 1] += min(4.0, max(-4.0, force * y))
        for node in range(n_nodes):
            positions[node, 0] *= 1.0 - _GRAVITY * rate
            positions[node, 1] *= 1.0 - _GRAVITY * rate
