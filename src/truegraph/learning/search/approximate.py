"""Approximate nearest neighbours for many points: in cells ("ivf"), or along a graph ("hnsw").

Both round the points to float32, and both are as wide as they must be: the width grows by half
until the recall measured on a sample of the queries reaches 98 %, or the width its limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.cells import cell_tiles, padded, search_cells
from truegraph.learning.search.points import Points

Indices = NDArray[np.int32]

_SEARCH_BLOCK = 65536  # queries rounded, and handed to faiss, at a time
_WANTED_RECALL = 0.98


class ApproximateSearch(Protocol):
    """A search among base points; `width` says how hard it looks."""

    width: int
    widest: int

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        ...


def approximate_search(base: Points, engine: str, seed: int) -> ApproximateSearch:
    """Prepare the search that an engine's name stands for: "ivf" or "hnsw"."""
    return CellSearch(base, seed) if engine == "ivf" else GraphSearch(base)


def tune(
    search: ApproximateSearch, queries: Points, own: NDArray[np.integer[Any]], truth: Indices
) -> float:
    """Widen the search until the recall of truth (sample, k) is high enough; return it."""
    recall = recall_of(search.query(queries, own, truth.shape[1]), truth)
    while recall < _WANTED_RECALL and search.width < search.widest:
        search.width = min(search.width + search.width // 2, search.widest)
        recall = recall_of(search.query(queries, own, truth.shape[1]), truth)
    return recall


def recall_of(found: Indices, truth: Indices) -> float:
    """Mean share of each row of truth (sample, k) that found (sample, k) contains."""
    hits = [np.isin(t, f).mean() for f, t in zip(found, truth, strict=True)]
    return float(np.mean(hits))


class _Rounding:
    """Centres, scales and rounds points to float32, beyond which their squares might be."""

    def __init__(self, base: Points) -> None:
        self._centre = np.asarray(base.mean(axis=0), dtype=np.float64).ravel()
        self._unit = _largest_entry(base, self._centre) or 1.0

    def __call__(self, points: Points) -> NDArray[np.float32]:
        """Return the points as float32 (n, dimension)."""
        out = np.empty(points.shape, dtype=np.float32)
        for rows, block in _dense_blocks(points):
            out[rows] = (block - self._centre) / self._unit
        return out


def _dense_blocks(points: Points) -> Iterator[tuple[slice, NDArray[Any]]]:
    for first in range(0, points.shape[0], _SEARCH_BLOCK):
        rows = slice(first, first + _SEARCH_BLOCK)
        block = points[rows]
        yield rows, block.toarray() if isinstance(block, csr_array) else block


def _largest_entry(points: Points, centre: NDArray[np.float64]) -> float:
    return max(float(np.abs(block - centre).max()) for _, block in _dense_blocks(points))


class CellSearch:
    """An inverted file: points in the cells of a clustering, of which the nearest are searched.

    Parameters
    ----------
    base : ndarray or csr_array of shape (n, d)
    seed : int
        Of the clustering.

    Attributes
    ----------
    width : int
        Cells searched for a query.
    widest : int
        Number of cells.
    rounded : callable
        Brings points to the form in which they are searched.
    centres : faiss index
        Of the centres of the cells, in this form.
    """

    def __init__(self, base: Points, seed: int) -> None:
        self.width = 16
        self.rounded = _Rounding(base)
        rounded = self.rounded(base)
        count = len(rounded)
        self.widest = int(np.clip(4 * np.sqrt(count), 1, max(1, count // 39)))
        self.centres = _clustering(rounded, self.widest, seed, steps=5)
        self._count = count
        own_cells = _nearest(self.centres, rounded, 1)[:, 0]
        self._tiles = cell_tiles(padded(rounded), own_cells, self.widest)

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        out = np.empty((queries.shape[0], k), dtype=np.int32)
        for first in range(0, out.shape[0], _SEARCH_BLOCK):
            rows = slice(first, first + _SEARCH_BLOCK)
            self._fill(self.rounded(queries[rows]), np.asarray(own[rows], np.int64), out[rows])
        return out

    def _fill(self, queries: NDArray[np.float32], own: NDArray[np.int64], found: Indices) -> None:
        wanted = _nearest(self.centres, queries, min(self.width, self.widest))
        nearest = np.full(found.shape, np.inf, dtype=np.float32)
        found[:] = self._count
        order = np.argsort(wanted[:, 0], kind="stable")
        search_cells(padded(queries), own, order, wanted, *self._tiles, nearest, found)
        found[found == self._count] = -1


def _clustering(points: NDArray[np.float32], cells: int, seed: int, steps: int) -> Any:
    """Return a faiss index of the centres of a clustering."""
    import faiss

    clustering = faiss.Kmeans(
        points.shape[1], cells, niter=steps, seed=seed, max_points_per_centroid=40, verbose=False
    )
    # The clustering is small; one thread keeps its sums in one order, whatever n_jobs is.
    faiss.omp_set_num_threads(1)
    clustering.train(points)
    return clustering.index


def _nearest(centres: Any, points: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the nearest centres of each point, nearest first."""
    import faiss

    faiss.omp_set_num_threads(get_num_threads())
    nearest: NDArray[np.int64] = centres.search(points, count)[1]
    return nearest


def spatial_order(base: Points, seed: int) -> NDArray[np.int64]:
    """Return an order of the points in which neighbours stand near one another (n,).

    Everything that runs over pairs of neighbours then reads memory that was read just before.
    """
    dense = _Rounding(base)(base)
    cells = _clustering(dense, max(1, int(np.sqrt(len(dense)))), seed, steps=3)
    return np.argsort(_nearest(cells, dense, 1)[:, 0], kind="stable")


class GraphSearch:
    """faiss's HNSW: a search along a graph of near points.

    Parameters
    ----------
    base : ndarray or csr_array of shape (n, d)

    Attributes
    ----------
    width : int
        Points kept in view by a search.
    """

    widest = 2048

    def __init__(self, base: Points) -> None:
        import faiss

        self.width = 64
        self._rounded = _Rounding(base)
        self._index = faiss.IndexHNSWFlat(base.shape[1], 32)
        self._index.hnsw.efConstruction = 80
        faiss.omp_set_num_threads(get_num_threads())
        self._index.add(self._rounded(base))

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        faiss: Any = import_module("faiss")  # its stubs lack the parameters
        faiss.omp_set_num_threads(get_num_threads())
        parameters = faiss.SearchParametersHNSW(efSearch=max(self.width, k + 1))
        out = np.empty((queries.shape[0], k), dtype=np.int32)
        for first in range(0, out.shape[0], _SEARCH_BLOCK):
            rows = slice(first, first + _SEARCH_BLOCK)
            found = self._index.search(self._rounded(queries[rows]), k + 1, params=parameters)[1]
            out[rows] = _drop_own(found.astype(np.int32), np.asarray(own[rows]), k)
        return out


@njit(parallel=True, cache=True, nogil=True)
def _drop_own(found: Any, own: Any, k: int) -> Any:
    """Remove the query itself from lists of k + 1 (the farthest entry where it is not there)."""
    out = np.full((found.shape[0], k), -1, dtype=np.int32)
    for i in prange(found.shape[0]):
        kept = 0
        for c in range(k + 1):
            if kept < k and found[i, c] != own[i]:
                out[i, kept] = found[i, c]
                kept += 1
    return out
