"""Graph diffusion convolution (Klicpera et al., NeurIPS 2019): another graph to train on.

Personalised PageRank S = restart (I - (1 - restart) T)^(-1), T = D^(-1/2) (A + I) D^(-1/2), of
which only the largest entries of every column are kept. The columns are computed in blocks, by
Chebyshev's acceleration of the power iteration, so nothing of size N x N is ever held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from truegraph.data.operators import normalised_adjacency, without_diagonal
from truegraph.errors import InputError

_BLOCK = 256


def diffusion_graph(
    adjacency: Any, restart: float = 0.15, neighbours: int = 64, tolerance: float = 1e-8
) -> csr_array:
    """Return the graph of the strongest PageRank ties.

    Parameters
    ----------
    adjacency : sparse matrix of shape (N, N)
        Symmetric, weights >= 0.
    restart : float
        Probability to return to the start, in (0, 1).
    neighbours : int
        Entries kept of every column, its own not counted; a tie is kept if either end keeps it.
    tolerance : float
        Bound on the error of every entry of S.

    Returns
    -------
    csr_array of shape (N, N), float64
        Weights S_ij / sqrt(S_ii S_jj), zero diagonal: with the self-loops of weight one that the
        models add, this is S scaled to a unit diagonal.
    """
    if not 0.0 < restart < 1.0:
        raise InputError(f"restart={restart} must lie strictly between 0 and 1.")
    walk = normalised_adjacency(adjacency)
    nodes = walk.shape[0]
    own = np.empty(nodes)
    parts = []
    for start in range(0, nodes, _BLOCK):
        columns = np.arange(start, min(start + _BLOCK, nodes))
        ranks = _pagerank(walk, columns, restart, tolerance)
        own[columns] = ranks[columns, np.arange(len(columns))]
        parts.append(_largest_entries(ranks, columns, neighbours))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    scaled = values / np.sqrt(own[rows] * own[columns])
    kept = csr_array(coo_array((scaled, (rows, columns)), shape=walk.shape))
    return without_diagonal(kept.maximum(kept.T))


def _pagerank(walk: csr_array, columns: np.ndarray, restart: float, tolerance: float) -> np.ndarray:
    """Return columns of S, shape (N, len(columns)).

    The eigenvalues of (1 - restart) T lie in [-rho, rho] with rho = 1 - restart, for which
    Chebyshev's weights are optimal: the error shrinks by rho / (1 + sqrt(1 - rho^2)) a step.
    """
    rho = 1.0 - restart
    shrink = rho / (1.0 + np.sqrt(1.0 - rho * rho))
    steps = int(np.ceil(np.log(tolerance / 2.0) / np.log(shrink)))
    source = np.zeros((walk.shape[0], len(columns)))
    source[columns, np.arange(len(columns))] = restart
    before, now, weight = np.zeros_like(source), source, 2.0
    for _ in range(steps):
        weight = 1.0 / (1.0 - 0.25 * rho * rho * weight)
        before, now = now, before + weight * (source + rho * (walk @ now) - before)
    return now


def _largest_entries(
    ranks: np.ndarray, columns: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of the largest entries of every column but its own."""
    count = min(count, len(ranks) - 1)
    others = ranks.copy()
    others[columns, np.arange(len(columns))] = -np.inf
    rows = np.argpartition(-others, count - 1, axis=0)[:count] if count else np.empty((0, 0), int)
    place = np.broadcast_to(np.arange(len(columns)), rows.shape)
    values = ranks[rows, place]
    positive = values > 0
    return rows[positive], columns[place[positive]], values[positive]
