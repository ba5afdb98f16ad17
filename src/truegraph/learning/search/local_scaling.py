"""Distances relative to how near a node's neighbours are (Zelnik-Manor and Perona, 2004)."""

from __future__ import annotations

import numpy as np
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
    counts = np.diff(candidates.indptr)
    rows = np.repeat(np.arange(counts.size), counts)
    ordered = candidates.data[np.lexsort((candidates.data, rows))]
    chosen = ordered[candidates.indptr[:-1] + np.minimum(neighbour, counts) - 1]
    positive = np.where(candidates.data > 0.0, candidates.data, np.inf)
    nearest = np.minimum.reduceat(positive, candidates.indptr[:-1])
    chosen = np.where(chosen > 0.0, chosen, nearest)
    known = np.isfinite(chosen)
    typical = float(np.median(chosen[known])) if known.any() else 1.0
    return np.sqrt(np.where(known, chosen, typical))


def scaled(candidates: csr_array, scales: NDArray[np.float64]) -> csr_array:
    """Return the candidates with each distance divided by the scales of both ends."""
    rows = np.repeat(np.arange(scales.size), np.diff(candidates.indptr))
    values = candidates.data / (scales[rows] * scales[candidates.indices])
    parts = (values, candidates.indices, candidates.indptr)
    found = csr_array(parts, shape=candidates.shape)
    found.has_sorted_indices = True
    return found
