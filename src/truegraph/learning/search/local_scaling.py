"""Distances relative to how near a node's neighbours are (Zelnik-Manor and Perona, 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy.sparse import csr_array


def local_scales(candidates: csr_array, neighbour: int) -> NDArray[np.float64]:
    """Return the root of each node's distance to a near neighbour.

    For squared distances that is the distance itself. Where copies of a node make it zero, the
    nearest other candidate counts, and if there is none the median of the others.

    Parameters
    ----------
    candidates : csr_array of shape (n_nodes, n_nodes)
        Distances of the candidate pairs, zeros stored; every row has at least one.
    neighbour : int
        Which neighbour: 1 for the nearest; the last candidate if there are fewer.

    Returns
    -------
    ndarray of shape (n_nodes,)
    """
    chosen = np.empty(candidates.shape[0])
    _ranked(candidates.indptr, candidates.data, neighbour, chosen)
    known = np.isfinite(chosen)
    typical = float(np.median(chosen[known])) if known.any() else 1.0
    return np.sqrt(np.where(known, chosen, typical))


@njit(parallel=True, cache=True, nogil=True)
def _ranked(indptr: Any, distances: Any, rank: int, out: Any) -> None:
    """Write each row's distance of a rank; the first positive one if that is zero, else inf."""
    for i in prange(out.size):
        row = np.sort(distances[indptr[i] : indptr[i + 1]])
        at = min(rank, row.size) - 1
        while at < row.size and row[at] <= 0.0:
            at += 1
        out[i] = row[at] if at < row.size else np.inf


def scaled(candidates: csr_array, scales: NDArray[np.float64]) -> csr_array:
    """Return the candidates with each distance divided by the scales of both ends."""
    rows = np.repeat(np.arange(scales.size), np.diff(candidates.indptr))
    values = candidates.data / (scales[rows] * scales[candidates.indices])
    parts = (values, candidates.indices, candidates.indptr)
    found = csr_array(parts, shape=candidates.shape)
    found.has_sorted_indices = True
    return found
