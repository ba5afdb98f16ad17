"""Label propagation (Zhou et al., NeurIPS 2003): the graph without features."""

from __future__ import annotations

from typing import Any

import numpy as np

from truegraph.errors import InputError
from truegraph.nn.graph_operators import normalised_adjacency


def propagate_labels(
    adjacency: Any,
    labels: np.ndarray,
    train: np.ndarray,
    classes: int,
    alpha: float = 0.9,
    tolerance: float = 1e-6,
) -> np.ndarray:
    """Spread the labels of some nodes over the graph.

    Iterates F <- alpha S F + (1 - alpha) Y with S = D^(-1/2) A D^(-1/2) until no entry changes by
    more than the tolerance; the change shrinks by ``alpha`` each time.

    Parameters
    ----------
    adjacency : sparse matrix of shape (N, N)
        Symmetric, weights >= 0.
    labels : ndarray of shape (N,), int
        Only those of ``train`` are read.
    train : ndarray of node indices
    classes : int
        Number of classes C.
    alpha : float
        Weight of the neighbours against the node's own label, in [0, 1).
    tolerance : float

    Returns
    -------
    ndarray of shape (N, C), float32
        Rows sum to one; nodes that no label reaches have the uniform distribution.
    """
    if not 0.0 <= alpha < 1.0:
        raise InputError(f"alpha={alpha} must be at least 0 and below 1.")
    spread = normalised_adjacency(adjacency, self_loops=False)
    start = np.zeros((spread.shape[0], classes))
    start[train, np.asarray(labels)[train]] = 1.0 - alpha
    mass, change = start, np.inf
    while change > tolerance:
        after = alpha * (spread @ mass) + start
        change = float(np.abs(after - mass).max())
        mass = after
    total = mass.sum(axis=1, keepdims=True)
    uniform = np.full_like(mass, 1.0 / classes)
    return np.divide(mass, total, out=uniform, where=total > 0).astype(np.float32)
