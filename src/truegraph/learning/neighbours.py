"""All nearest neighbours in squared Euclidean distance: exact in blocks, or by faiss.

The exact searches are ours: float64, duplicates at distance zero, ties broken by the smaller index,
memory linear in the points, and the same bits for any number of threads. Between dense points the
differences are squared, so nothing cancels; between sparse points norms and products are summed,
which ranks as well as float64 can as long as the points have no large common part.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.points import Points
from truegraph.progress import Progress

Indices = NDArray[np.int32]

_QUERY_BLOCK = 32
_TILE = 256
_SEARCH_BLOCK = 65536  # queries handed to faiss at a time
_RECALL_SAMPLE = 256
_WANTED_RECALL = 0.98
_compiled = njit(parallel=True, cache=True, nogil=True)


@njit(cache=True, nogil=True)
def _offer(distances: Any, ids: Any, distance: float, node: int) -> None:
    """Replace the root of the max-heap (distances, ids) by a nearer candidate."""
    size = distances.size
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            distances[right] > distances[child]
            or (distances[right] == distances[child] and ids[right] > ids[child])
        ):
            child = right
        if distances[child] < distance or (distances[child] == distance and ids[child] < node):
            break
        distances[at] = distances[child]
        ids[at] = ids[child]
        at = child
    distances[at] = distance
    ids[at] = node


@njit(cache=True, nogil=True)
def _sort_list(distances: Any, ids: Any) -> None:
    """Sort a heap by (distance, id) in place."""
    for last in range(distances.size - 1, 0, -1):
        distance, node = distances[last], ids[last]
        distances[last], ids[last] = distances[0], ids[0]
        _offer(distances[:last], ids[:last], distance, node)


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
                        _offer(distances[q], ids[q], scores[b], first + b)
                        worst = distances[q, 0]
        for q in range(block * _QUERY_BLOCK, min(n_queries, (block + 1) * _QUERY_BLOCK)):
            _sort_list(distances[q], ids[q])


@_compiled
def _search_sparse(
    indptr: Any,
    indices: Any,
    data: Any,
    own: Any,
    column_start: Any,
    column_rows: Any,
    column_data: Any,
    query_norms: Any,
    base_norms: Any,
    distances: Any,
    ids: Any,
) -> None:
    """Fill (distances, ids) of shape (queries, k) through an inverted index of the base."""
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
                    _offer(distances[q], ids[q], distance, b)
                    worst = distances[q, 0]
            _sort_list(distances[q], ids[q])


class ExactSearch:
    """Exact nearest neighbours among base points.

    Parameters
    ----------
    base : ndarray or csr_array of shape (n_base, dimension)
        Of float64; sparse rows have ascending indices.
    """

    name = "exact"

    def __init__(self, base: Points) -> None:
        self.count = int(base.shape[0])
        if isinstance(base, csr_array):
            self._columns = base.tocsc()
            self._norms = _squared_norms(base)
        else:
            self._tiles = _tiles(base)

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """Return the ids of the k nearest base points, nearest first.

        Parameters
        ----------
        queries : ndarray or csr_array of shape (n_queries, dimension)
            In the form of the base.
        own : ndarray of shape (n_queries,)
            The base point that is the query itself and is left out, or -1.

        Returns
        -------
        ids : ndarray of int32 and shape (n_queries, k)
        """
        rows = int(queries.shape[0])
        distances = np.full((rows, k), np.inf)
        # Placeholders stand behind every point, so that equal distances prefer real ids.
        ids = np.full((rows, k), self.count, dtype=np.int32)
        own = np.asarray(own, dtype=np.int64)
        if isinstance(queries, csr_array):
            _search_sparse(
                queries.indptr,
                queries.indices,
                queries.data,
                own,
                self._columns.indptr,
                self._columns.indices,
                self._columns.data,
                _squared_norms(queries),
                self._norms,
                distances,
                ids,
            )
        else:
            dense = np.ascontiguousarray(queries, dtype=np.float64)
            _search_dense(dense, own, self._tiles, self.count, distances, ids)
        return ids


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


class FaissSearch:
    """Approximate nearest neighbours by faiss: an inverted file ("ivf") or a graph ("hnsw").

    The vectors are centred, scaled and rounded to float32; the width of the search is doubled
    until the recall measured on a sample of the queries reaches 98 %, or the width its limit.
    """

    def __init__(self, base: Points, engine: str, seed: int) -> None:
        self.name = engine
        self._rounded = _Rounding(base)
        rounded = self._rounded(base)
        self._index = _ivf(rounded, seed) if engine == "ivf" else _hnsw(rounded)
        self._width = 16 if engine == "ivf" else 64

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        import faiss

        faiss.omp_set_num_threads(get_num_threads())
        out = np.empty((queries.shape[0], k), dtype=np.int32)
        for first in range(0, out.shape[0], _SEARCH_BLOCK):
            rows = slice(first, first + _SEARCH_BLOCK)
            block = self._rounded(queries[rows])
            found = self._index.search(block, k + 1, params=self._parameters(k))[1]
            out[rows] = _drop_own(found.astype(np.int32), np.asarray(own[rows]), k)
        return out

    def tune(self, queries: Points, own: NDArray[np.integer[Any]], truth: Indices) -> float:
        """Double the width until the recall of truth (sample, k) is high enough; return it."""
        recall = recall_of(self.query(queries, own, truth.shape[1]), truth)
        while recall < _WANTED_RECALL and self._width < self._widest:
            self._width *= 2
            recall = recall_of(self.query(queries, own, truth.shape[1]), truth)
        return recall

    @property
    def _widest(self) -> int:
        return int(self._index.nlist) if self.name == "ivf" else 2048

    def _parameters(self, k: int) -> Any:
        faiss: Any = import_module("faiss")  # its stubs lack these names
        if self.name == "ivf":
            return faiss.SearchParametersIVF(nprobe=min(self._width, self._index.nlist))
        return faiss.SearchParametersHNSW(efSearch=max(self._width, k + 1))


def _dense_blocks(points: Points) -> Iterator[tuple[slice, NDArray[Any]]]:
    for first in range(0, points.shape[0], _SEARCH_BLOCK):
        rows = slice(first, first + _SEARCH_BLOCK)
        block = points[rows]
        yield rows, block.toarray() if isinstance(block, csr_array) else block


def _largest_entry(points: Points, centre: NDArray[np.float64]) -> float:
    return max(float(np.abs(block - centre).max()) for _, block in _dense_blocks(points))


def spatial_order(base: Points, seed: int) -> NDArray[np.int64]:
    """Return an order of the points in which neighbours stand near one another (n,).

    Everything that runs over pairs of neighbours then reads memory that was read just before.
    """
    import faiss

    dense = _Rounding(base)(base)
    count, dimension = dense.shape
    cells = max(1, int(np.sqrt(count)))
    faiss.omp_set_num_threads(1)
    clustering = faiss.Kmeans(
        dimension, cells, niter=3, seed=seed, max_points_per_centroid=40, verbose=False
    )
    clustering.train(dense)
    faiss.omp_set_num_threads(get_num_threads())
    nearest = clustering.index.search(dense, 1)[1][:, 0]
    return np.argsort(nearest, kind="stable")


def _ivf(base: NDArray[np.float32], seed: int) -> Any:
    import faiss

    count, dimension = base.shape
    lists = int(np.clip(4 * np.sqrt(count), 1, max(1, count // 39)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dimension), dimension, lists)
    index.cp.seed = seed
    index.cp.niter = 5
    index.cp.max_points_per_centroid = 40
    # The clustering is small; one thread keeps its sums in one order, whatever n_jobs is.
    faiss.omp_set_num_threads(1)
    index.train(base)
    faiss.omp_set_num_threads(get_num_threads())
    index.add(base)
    return index


def _hnsw(base: NDArray[np.float32]) -> Any:
    import faiss

    index = faiss.IndexHNSWFlat(base.shape[1], 32)
    index.hnsw.efConstruction = 80
    faiss.omp_set_num_threads(get_num_threads())
    index.add(base)
    return index


@_compiled
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


def recall_of(found: Indices, truth: Indices) -> float:
    """Mean share of each row of truth (sample, k) that found (sample, k) contains."""
    hits = [np.isin(t, f).mean() for f, t in zip(found, truth, strict=True)]
    return float(np.mean(hits))


def all_neighbours(
    queries: Points,
    base: Points,
    k: int,
    *,
    engine: str,
    same: bool,
    random_state: np.random.Generator,
    progress: Progress,
) -> tuple[Indices, float]:
    """Return each query's k nearest base points (n_queries, k), and the measured recall.

    Parameters
    ----------
    engine : {"exact", "ivf", "hnsw"}
    same : bool
        Whether query i is base point i, which is then left out of its own list.
    """
    rows = int(queries.shape[0])
    own = np.arange(rows) if same else np.full(rows, -1)
    exact = ExactSearch(base)
    if engine == "exact":
        return _in_blocks(exact, queries, own, k, progress), 1.0
    sample = np.sort(random_state.choice(rows, size=min(rows, _RECALL_SAMPLE), replace=False))
    truth = exact.query(queries[sample], own[sample], k)
    del exact
    search = FaissSearch(base, engine, seed=int(random_state.integers(2**31)))
    recall = search.tune(queries[sample], own[sample], truth)
    return _in_blocks(search, queries, own, k, progress), recall


def _in_blocks(
    search: ExactSearch | FaissSearch,
    queries: Points,
    own: NDArray[np.integer[Any]],
    k: int,
    progress: Progress,
) -> Indices:
    """Query in blocks so that progress shows and Ctrl-C is heard."""
    rows = int(queries.shape[0])
    out = np.empty((rows, k), dtype=np.int32)
    block = max(1024, rows // 64)
    for first in range(0, rows, block):
        part = slice(first, min(rows, first + block))
        out[part] = search.query(queries[part], own[part], k)
        progress.update(part.stop, rows)
    return out
