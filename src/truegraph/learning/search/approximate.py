"""Approximate nearest neighbours for many points: in cells ("ivf"), or along a graph ("hnsw").

Both round the points to float32, and both are as wide as they must be: the width grows by an eighth
until the recall measured on a sample of the queries reaches 98 %, or the width its limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.cells import cell_tiles, padded
from truegraph.learning.search.points import Points
from truegraph.learning.search.two_levels import (
    CellSizes,
    LargeCells,
    Rounding,
    SmallCells,
    large_for,
    rank_cells,
    sampled_rows,
    search_lists,
)
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import interruptible
from truegraph.runtime.threads import thread_count

Indices = NDArray[np.int32]

_SEARCH_BLOCK = 65536  # queries rounded, and handed to faiss, at a time
WANTED_RECALL = 0.98
FIRST_WIDTH = 16  # small cells searched for a query


class ApproximateSearch(Protocol):
    """Approximate search; a larger `width` is slower and more accurate."""

    width: int
    widest: int

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        ...

    def recall(self, queries: Points, own: NDArray[np.integer[Any]], truth: Indices) -> float:
        """Return the share of truth (sample, k) that is within reach of the present width."""
        ...


def approximate_search(base: Points, engine: str, seed: int) -> ApproximateSearch:
    """Prepare the search that an engine's name stands for: "ivf" or "hnsw"."""
    return CellSearch(base, seed) if engine == "ivf" else GraphSearch(base)


def tune(
    search: ApproximateSearch,
    queries: Points,
    own: NDArray[np.integer[Any]],
    truth: Indices,
    wanted: float = WANTED_RECALL,
) -> None:
    """Widen the search until the recall of truth (sample, k) is high enough."""
    while search.width < search.widest and search.recall(queries, own, truth) < wanted:
        search.width = wider(search.width, search.widest)


def wider(width: int, widest: int) -> int:
    """Return the width to try next."""
    return min(width + max(1, width // 8), widest)


def recall_of(found: Indices, truth: Indices) -> float:
    """Mean share of each row of truth (sample, k) that found (sample, k) contains."""
    return float(np.mean(recalls(found, truth)))


def recalls(found: Indices, truth: Indices) -> NDArray[np.float64]:
    """Share of each row of truth (sample, k) that found (sample, k) contains."""
    return np.array([np.isin(t, f).mean() for f, t in zip(found, truth, strict=True)])


def rounding_of(base: Points, sample: NDArray[np.int64]) -> Rounding:
    """Return the rounding of points, centred at some of them."""
    smallest = np.full(base.shape[1], np.inf)
    largest = -smallest
    for _, block in _dense_blocks(base):
        smallest, largest = (
            np.minimum(smallest, block.min(axis=0)),
            np.maximum(largest, block.max(axis=0)),
        )
    return Rounding.of(_dense(base[sample]), smallest, largest)


def _rounded(points: Points, rounding: Rounding) -> NDArray[np.float32]:
    """Return points as float32 (n, d)."""
    out = np.empty(points.shape, dtype=np.float32)
    for rows, block in _dense_blocks(points):
        out[rows] = rounding(block)
    return out


def _dense_blocks(points: Points) -> Iterator[tuple[slice, NDArray[Any]]]:
    for first in range(0, points.shape[0], _SEARCH_BLOCK):
        rows = slice(first, first + _SEARCH_BLOCK)
        yield rows, _dense(points[rows])


def _dense(points: Any) -> NDArray[Any]:
    dense: NDArray[Any] = points.toarray() if isinstance(points, csr_array) else points
    return dense


class CellSearch:
    """Points in small cells, of which those nearest to a query are searched."""

    def __init__(self, base: Points, seed: int, sizes: CellSizes | None = None) -> None:
        sizes = CellSizes() if sizes is None else sizes
        count = int(base.shape[0])
        sample = sampled_rows(count, sizes, seed)
        self._rounding = rounding_of(base, sample)
        rounded = padded(_rounded(base, self._rounding))
        self._large = LargeCells.of(rounded[sample], count, sizes, seed)
        self.order, self._small = _split(self._large, rounded)
        self._centre_tiles = self._small.tiles()
        cells = np.repeat(np.arange(len(self._small)), np.diff(self._small.starts))
        self._tiles = cell_tiles(rounded[self.order], cells, len(self._small))
        self._rank: NDArray[np.int64] | None = np.empty_like(self.order)
        self._rank[self.order] = np.arange(count)
        self._count = count
        self.widest = len(self._small)
        self.width = min(FIRST_WIDTH, self.widest)

    def in_order(self) -> CellSearch:
        """Return the same search for points that are numbered in the order of the cells."""
        same = copy(self)
        same._rank = None
        return same

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1.

        Of equal distances, the one that comes first in the order of the cells is nearer.
        """
        out = np.empty((queries.shape[0], k), dtype=np.int32)
        for first in range(0, out.shape[0], _SEARCH_BLOCK):
            rows = slice(first, first + _SEARCH_BLOCK)
            rounded = padded(_rounded(queries[rows], self._rounding))
            places, wanted = self._places(own[rows]), self._wanted(rounded)
            out[rows] = search_lists(rounded, places, wanted, self._tiles, k, self._count)
        missing = out == self._count
        if self._rank is not None:
            out[missing] = 0
            out = self.order[out].astype(np.int32)
        out[missing] = -1
        return out

    def recall(self, queries: Points, own: NDArray[np.integer[Any]], truth: Indices) -> float:
        """Return the share of truth (sample, k) that lies in the cells that would be searched."""
        wanted = self._wanted(padded(_rounded(queries, self._rounding)))
        cells = self._small.of_points(self._places(truth))
        return recall_of(wanted.astype(np.int32), cells.astype(np.int32))

    def _places(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return where points stand in the order of the cells; -1 stays."""
        given = np.asarray(ids, dtype=np.int64)
        return given if self._rank is None else np.where(given >= 0, self._rank[given], -1)

    def _wanted(self, queries: NDArray[np.float32]) -> NDArray[np.int64]:
        large = self._large.nearest(queries, large_for(self.width, len(self._large)))
        return rank_cells(queries, large, self._centre_tiles, self.width)


def _split(large: LargeCells, rounded: NDArray[np.float32]) -> tuple[NDArray[np.int64], SmallCells]:
    """Return the points in the order of the cells, and the small cells."""
    own = large.nearest(rounded, 1)[:, 0]
    order = np.argsort(own, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(large)))])
    parts = []
    for number in range(len(large)):
        inside = slice(starts[number], starts[number + 1])
        places, cells = large.split(number, rounded[order[inside]])
        order[inside] = order[inside][places]
        parts.append(cells)
    return order, SmallCells.joined(parts)


class GraphSearch:
    """faiss's HNSW: a search along a graph of near points."""

    widest = 2048

    def __init__(self, base: Points) -> None:
        import faiss

        self.width = 64
        self._rounding = _centred(base)
        self._index = faiss.IndexHNSWFlat(base.shape[1], 32)
        self._index.hnsw.efConstruction = 80
        rounded, threads = _rounded(base, self._rounding), thread_count()

        def add() -> None:
            faiss.omp_set_num_threads(threads)  # of the calling thread only
            self._index.add(rounded)

        interruptible(add)

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        faiss: Any = import_module("faiss")  # its stubs lack the parameters
        faiss.omp_set_num_threads(thread_count())
        parameters = faiss.SearchParametersHNSW(efSearch=max(self.width, k + 1))
        out = np.empty((queries.shape[0], k), dtype=np.int32)
        for first in range(0, out.shape[0], _SEARCH_BLOCK):
            rows = slice(first, first + _SEARCH_BLOCK)
            rounded = _rounded(queries[rows], self._rounding)
            found = self._index.search(rounded, k + 1, params=parameters)[1]
            out[rows] = _drop_own(found.astype(np.int32), np.asarray(own[rows]), k)
        return out

    def recall(self, queries: Points, own: NDArray[np.integer[Any]], truth: Indices) -> float:
        """Return the share of truth (sample, k) that the search finds."""
        return recall_of(self.query(queries, own, truth.shape[1]), truth)


def _centred(base: Points) -> Rounding:
    """Return the rounding of points, centred at their mean."""
    centre = np.asarray(base.mean(axis=0, dtype=np.float64)).ravel()
    unit = max(float(np.abs(block - centre).max()) for _, block in _dense_blocks(base))
    return Rounding(centre, unit or 1.0)


@compiled(parallel=True)
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
