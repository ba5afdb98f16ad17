"""Graphs of points to compare: learned ones, k-nearest-neighbour graphs, and UMAP's.

Every graph is a symmetric CSR matrix of similarities. A k-nearest-neighbour graph joins two points
if either is among the k nearest of the other, a mutual one if both are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

from truegraph.extras import import_extra

Floats = NDArray[np.float64]

_SELF_TUNED = 7  # the neighbour whose distance is the scale of a point (Zelnik-Manor and Perona)


def knn_graph(points: Any, k: int, weights: str, is_mutual: bool = False) -> csr_array:
    """Return the graph of k nearest neighbours.

    Parameters
    ----------
    points : ndarray or csr_array of shape (n_nodes, n_features)
    k : int
    weights : {"binary", "gaussian", "self-tuned"}
        1; exp(-d^2 / (2 s^2)), s the median distance of a k-th neighbour; exp(-d^2 / (s_i s_j)),
        s_i the distance to the seventh neighbour.
    is_mutual : bool
        A point without a mutual neighbour keeps its nearest one.
    """
    distances, neighbours = _nearest(points, max(k, _SELF_TUNED))
    listed = distances[:, :k]
    n_nodes = listed.shape[0]
    rows = np.repeat(np.arange(n_nodes, dtype=np.int32), k)  # scikit-learn wants short numbers
    columns = neighbours[:, :k].ravel().astype(np.int32)
    if weights == "binary":
        values = np.ones(rows.size)
    elif weights == "gaussian":
        width = _positive(np.array([np.median(listed[:, -1])]))[0]
        values = np.exp(-0.5 * (listed.ravel() / width) ** 2)
    else:
        scale = _positive(distances[:, _SELF_TUNED - 1])
        values = np.exp(-(listed.ravel() ** 2) / (scale[rows] * scale[columns]))
    values = np.maximum(values, np.finfo(float).tiny)  # far is not the same as no edge
    directed = csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))
    if not is_mutual:
        return csr_array(directed.maximum(csr_array(directed.T)))
    first = np.zeros((n_nodes, k), dtype=bool)
    first[:, 0] = True
    mutual = csr_array(directed.minimum(csr_array(directed.T)))
    lonely = np.repeat(np.diff(mutual.indptr) == 0, k) & first.ravel()
    kept = csr_array((values[lonely], (rows[lonely], columns[lonely])), shape=mutual.shape)
    return csr_array(mutual.maximum(kept).maximum(csr_array(kept.T)))


def umap_graph(points: Any, k: int) -> csr_array:
    """Return UMAP's graph of k neighbours, the point itself counted as UMAP does."""
    distances, neighbours = _nearest(points, k - 1)
    itself = np.arange(neighbours.shape[0])[:, None]
    graph, _, _ = import_extra("umap.umap_").fuzzy_simplicial_set(
        points,
        k,
        np.random.RandomState(0),
        "euclidean",
        knn_indices=np.hstack([itself, neighbours]).astype(np.int32),
        knn_dists=np.hstack([np.zeros_like(itself), distances]).astype(np.float32),
    )
    return csr_array(graph, dtype=np.float64)


def _nearest(points: Any, k: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return distances and numbers of the k nearest other points, both of shape (n_nodes, k)."""
    distances, neighbours = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    return distances, neighbours


def _positive(values: Floats) -> Floats:
    """Put the smallest positive value in the place of zeros, which copies of points give."""
    least = values[values > 0.0].min() if (values > 0.0).any() else 1.0
    return np.maximum(values, least)
