"""All nearest neighbours in squared Euclidean distance: exact in blocks, or approximately.

The exact searches are ours: float64, duplicates at distance zero, ties broken by the smaller index,
memory linear in the points, and the same bits for any number of threads. Between dense points the
differences are squared, so nothing cancels; between sparse points norms and products are summed,
which ranks as well as float64 can as long as the points have no large common part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.approximate import (
    CellSearch,
    Indices,
    recall_of,
    tune,
)
from truegraph.learning.search.cells import offer, sort_list
from truegraph.learning.search.points import Points
from truegraph.learning.search.sketch import SketchSearch, true_neighbours
from truegraph.progress import Progress
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count

_QUERY_BLOCK = 32
_TILE = 256
RECALL_SAMPLE = 256
_compiled = compiled(parallel=True)


@_compiled
def _search_dense(queries: Any, own: Any, tiles: Any, count: int, distances: Any, ids: Any) -> None:
    """Fill (distances, ids) of shape (queries, k); tiles is (n_tiles, dimension, _TILE)."""
    n_queries, dimension = queries.shape
    n_tiles = tiles.shape[0]
    for block in prange((n_queries + _QUERY_BLOCK - 1) // _QUERY_BLOCK):
        scores = np.empty(_TILE)
        for tile in range(n_tiles):
            first = tile * _TILE
            size = min(_TILE, count - first)
            for q in range(block * _QUERY_BLOCK, min(n_queries, (block + 1) * _QUERY_BLOCK)):
                scores[:] = 0.0
                for d in range(dimension):
                    value = queries[q, d]
                    for b in range(_TILE):
                        difference = value - tiles[tile, d, b]
                        scores[b] += difference * difference
                worst = distances[q, 0]
                for b in range(size):
                    if scores[b] < worst and first + b != own[q]:
                        offer(distances[q], ids[q], scores[b], first + b)
                        worst = distances[q, 0]
        for q in range(block * _QUERY_BLOCK, min(n_queries, (block + 1) * _QUERY_BLOCK)):
            sort_list(distances[q], ids[q])


@_compiled
def _search_sparse(queries: Any, own: Any, base: Any, norms: Any, distances: Any, ids: Any) -> None:
    """Fill (distances, ids) of shape (queries, k) through an inverted index of the base."""
    indptr, indices, data = queries
    column_start, column_rows, column_data = base
    query_norms, base_norms = norms
    n_queries, count = own.size, base_norms.size
    for block in prange((n_queries + _QUERY_BLOCK - 1) // _QUERY_BLOCK):
        products = np.empty(count)
        for q in range(block * _QUERY_BLOCK, min(n_queries, (block + 1) * _QUERY_BLOCK)):
            products[:] = 0.0
            for e in range(indptr[q], indptr[q + 1]):
                for f in range(column_start[indices[e]], column_start[indices[e] + 1]):
                    products[column_rows[f]] += data[e] * column_data[f]
            worst = distances[q, 0]
            for b in range(count):
                distance = max(0.0, query_norms[q] + base_norms[b] - 2.0 * products[b])
                if distance < worst and b != own[q]:
                    offer(distances[q], ids[q], distance, b)
                    worst = distances[q, 0]
            sort_list(distances[q], ids[q])


class ExactSearch:
    """Exact nearest neighbours among base points."""

    name = "exact"

    def __init__(self, base: Points) -> None:
        self.count = int(base.shape[0])
        if isinstance(base, csr_array):
            self._columns = base.tocsc()
            self._norms = _squared_norms(base)
        else:
            self._tiles = _tiles(base)

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """Return the ids of the k nearest base points, nearest first."""
        return self.nearest(queries, own, k)[1]

    def nearest(
        self, queries: Points, own: NDArray[np.integer[Any]], k: int
    ) -> tuple[NDArray[np.float64], Indices]:
        """Return squared distances and ids (n_queries, k), as `query` takes its parameters.

        Where there are fewer than k points, distances are infinite and ids their number.
        """
        rows = int(queries.shape[0])
        distances = np.full((rows, k), np.inf)
        # Placeholders stand behind every point, so that equal distances prefer real ids.
        ids = np.full((rows, k), self.count, dtype=np.int32)
        own = np.asarray(own, dtype=np.int64)
        if isinstance(queries, csr_array):
            given, base = (
                (matrix.indptr, matrix.indices, matrix.data) for matrix in (queries, self._columns)
            )
            norms = (_squared_norms(queries), self._norms)
            _search_sparse(given, own, base, norms, distances, ids)
        else:
            dense = np.ascontiguousarray(queries, dtype=np.float64)
            _search_dense(dense, own, self._tiles, self.count, distances, ids)
        return distances, ids


def _squared_norms(points: csr_array) -> NDArray[np.float64]:
    """Row norms summed in the order of the sparse products, so that |x - x|^2 is exactly 0."""
    out = np.zeros(points.shape[0])
    np.add.at(out, np.repeat(np.arange(points.shape[0]), np.diff(points.indptr)), points.data**2)
    return out


def _tiles(base: NDArray[Any]) -> NDArray[np.float64]:
    """Copy points (n, d) into (n_tiles, d, _TILE), the layout that vectorises over points."""
    count, dimension = base.shape
    tiles = np.zeros(((count + _TILE - 1) // _TILE, dimension, _TILE))
    for tile in range(tiles.shape[0]):
        rows = base[tile * _TILE : (tile + 1) * _TILE]
        tiles[tile, :, : rows.shape[0]] = rows.T
    return tiles


def all_neighbours(
    queries: Points,
    base: Points,
    k: int,
    *,
    engine: str = "exact",
    same: bool = False,
    random_state: np.random.Generator | None = None,
    progress: Progress | None = None,
    search: Any = None,
) -> tuple[Indices, float]:
    """Return each query's k nearest base points (n_queries, k), and the measured recall."""
    rows = int(queries.shape[0])
    random_state, progress = random_state or np.random.default_rng(0), progress or Progress()
    own = np.arange(rows) if same else np.full(rows, -1)
    if engine == "sketch":
        return _by_sketch(queries, base, own, k, random_state, progress, search)
    exact = ExactSearch(base)
    if engine == "exact":
        return _in_blocks(exact, queries, own, k, progress), 1.0
    sample = np.sort(random_state.choice(rows, size=min(rows, RECALL_SAMPLE), replace=False))
    truth = _in_blocks(exact, queries[sample], own[sample], k, Progress())
    del exact
    if search is None:
        search = CellSearch(base, int(random_state.integers(2**31)))
    tune(search, queries[sample], own[sample], truth)
    found = _in_blocks(search, queries, own, k, progress)
    return found, recall_of(found[sample], truth)


def _by_sketch(
    queries: Points,
    base: Points,
    own: NDArray[np.integer[Any]],
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    search: Any,
) -> tuple[Indices, float]:
    """Return what `all_neighbours` does, by a search in a sketch of the base points."""
    if search is None:
        search = SketchSearch(base, int(rng.integers(2**31)), k)
    found = _in_blocks(search, queries, own, k, progress)
    if own[0] == 0:  # every query is a base point
        return search.refined(found, progress)
    sample = np.sort(rng.choice(len(own), size=min(len(own), RECALL_SAMPLE), replace=False))
    return found, recall_of(found[sample], true_neighbours(queries[sample], base, own[sample], k))


def _in_blocks(
    search: ExactSearch | CellSearch | SketchSearch,
    queries: Points,
    own: NDArray[np.integer[Any]],
    k: int,
    progress: Progress,
) -> Indices:
    """Query in blocks so that progress shows and Ctrl-C is heard."""
    rows = int(queries.shape[0])
    out = np.empty((rows, k), dtype=np.int32)

    def run(first: int, last: int) -> None:
        part = slice(first, last)
        out[part] = search.query(queries[part], own[part], k)
        progress.update(last, rows)

    # The more queries an approximate search has, the quicker each is.
    least = _QUERY_BLOCK * thread_count() if isinstance(search, ExactSearch) else 1024
    in_parts(rows, run, least=least)
    return out
