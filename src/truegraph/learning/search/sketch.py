"""Neighbours in many columns, or among sparse rows: searched in a sketch, ranked by the points.

The sketch holds the points along their leading principal axes. The search in cells finds in it
those that may be near, the points themselves say which of them are nearest, and where the recall is
still short, neighbours of neighbours are looked at as well. How many axes it has, and how many
points are looked at, follows from the true neighbours of a sample. Sparse rows are never made
dense, and no order depends on the threads.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.approximate import WANTED_RECALL, CellSearch, recall_of, tune
from truegraph.learning.search.cells import offer, sort_list
from truegraph.learning.search.points import Points
from truegraph.progress import Progress
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import one_blas_thread, thread_count

Indices = NDArray[np.int32]
Floats32 = NDArray[np.float32]

_SAMPLE = 256  # points whose true neighbours are found
_ROWS = 4096  # points of which the axes are made
_LEVELS = (32, 48, 64, 96, 128, 192)  # numbers of axes to try
_LOOKED_AT = (1.5, 2.0, 2.5, 3.0, 4.0)  # points looked at per neighbour wanted
_ENOUGH = 0.99  # of the true neighbours must be among those looked at
_IN_CELLS = 0.985  # and so many in the cells searched
_LEAST_REACH = 0.9  # with fewer of them, refining takes longer than the search in cells
# Nanoseconds for an axis of the points in the cells of a query, and for a column of one looked at.
_AXIS_COST, _COLUMN_COST = 400.0, 0.35
_NEAREST = 10  # of whose nearest so many are looked at next
_MOST_ROUNDS = 4
_GAIN = 0.003  # of recall, for which another round is taken
_BASE_BYTES = 64e6  # of points multiplied at a time
_SPARE = 16  # axes, or neighbours by products, beyond those wanted
_POWER_STEPS = 2
_FIRST_WIDTH = 4  # small cells searched for a query, to begin with


class SketchSearch:
    """Points along their leading axes, and the points themselves; truth (sample, k) is exact."""

    def __init__(self, base: Points, seed: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        count = int(base.shape[0])
        self._base, self._rank = base, None
        self.sample = np.sort(rng.choice(count, size=min(count, _SAMPLE), replace=False))
        self.truth = true_neighbours(base[self.sample], base, self.sample, min(k, count - 1))
        self._axes, self._centre = _leading_axes(base, rng)
        self._sketch = np.empty((count, 0), np.float32)
        self._reach = 0.0
        self.axes, self.looked_at = self._chosen(k)
        #: Whether the spectrum is so flat that dense points had better be searched themselves.
        self.is_hopeless = self._reach < _LEAST_REACH and not isinstance(base, csr_array)
        self._axes = np.ascontiguousarray(self._axes[:, : self.axes])
        self._sketch = np.ascontiguousarray(self._sketch[:, : self.axes])
        self._cells = CellSearch(self._sketch, int(rng.integers(2**31)))
        self._cells.width = min(_FIRST_WIDTH, self._cells.widest)
        sketch = self._sketch[self.sample]
        tune(self._cells, sketch, self.sample, self.truth, _IN_CELLS)
        self.order = self._cells.order

    def in_order(self) -> SketchSearch:
        """Return the same search for points that are numbered in the order of the cells."""
        same, rank = copy(self), np.empty_like(self.order)
        rank[self.order] = np.arange(len(rank))
        places = rank[self.sample]
        by_place = np.argsort(places)
        same.sample, same.truth = places[by_place], rank[self.truth[by_place]].astype(np.int32)
        same._cells, same._sketch = self._cells.in_order(), self._sketch[self.order]
        return same

    def on(self, base: Points) -> SketchSearch:
        """Return the same search, which ranks by these points, numbered in its order."""
        same = copy(self)
        same._base = base
        return same

    def _chosen(self, k: int) -> tuple[int, int]:
        """Return how many axes, and how many points to look at, find enough for the least work."""
        most, columns = self._axes.shape[1], _columns(self._base)
        best = (math.inf, min(most, _LEVELS[-1]), math.ceil(_LOOKED_AT[-1] * k))
        for axes in [level for level in _LEVELS if level < most] + [most]:
            if axes * _AXIS_COST >= best[0]:
                break
            self._extend(axes)
            sample, truth = self.sample[::2], self.truth[::2]
            ranks = _ranked(self._sketch, axes, sample, truth)
            self._reach = float((ranks < best[2]).mean()) if math.isinf(best[0]) else 1.0
            for ratio in _LOOKED_AT:
                looked_at = math.ceil(ratio * k)
                if (ranks < looked_at).mean() >= _ENOUGH:
                    cost = axes * _AXIS_COST + looked_at * columns * _COLUMN_COST
                    best = min(best, (cost, axes, looked_at))
                    break
        return best[1], best[2]

    def _extend(self, axes: int) -> None:
        """Make the sketch at least so many axes wide, in steps of 64."""
        known = self._sketch.shape[1]
        if axes > known:
            wanted = min(self._axes.shape[1], -(-axes // 64) * 64)
            more = project(self._base, self._axes[:, known:wanted], self._centre)
            self._sketch = np.concatenate([self._sketch, more], axis=1)

    def query(self, queries: Points, own: NDArray[np.integer[Any]], k: int) -> Indices:
        """As `ExactSearch.query`, approximately; missing neighbours are -1."""
        places = np.asarray(own, dtype=np.int64)
        is_known = len(places) > 0 and bool((places >= 0).all())
        sketch = self._sketch[places] if is_known else project(queries, self._axes, self._centre)
        looked_at = self._cells.query(sketch, places, max(k, self.looked_at))
        return ranked(queries, self._base, looked_at, k)

    def refined(self, found: Indices, progress: Progress) -> tuple[Indices, float]:
        """Return better lists of all points, and the recall on the sample."""
        recall, nearest = recall_of(found[self.sample], self.truth), _NEAREST
        for _ in range(_MOST_ROUNDS):
            if recall >= WANTED_RECALL:
                break
            better = self._joined(found, min(nearest, found.shape[1]), progress)
            before, recall = recall, recall_of(better[self.sample], self.truth)
            found, nearest = better, nearest + _NEAREST // 2
            if recall - before < _GAIN:
                break
        return found, recall

    def _joined(self, found: Indices, nearest: int, progress: Progress) -> Indices:
        """Return the lists with the nearest of the nearest points added, the best of them kept."""
        out, rows = np.empty_like(found), len(found)

        def run(first: int, last: int) -> None:
            part = np.arange(first, last)
            offered = np.full((len(part), found.shape[1] + nearest**2), -1, dtype=np.int32)
            _neighbours_of_neighbours(found, part, nearest, offered)
            out[part] = ranked(self._base[part], self._base, offered, found.shape[1])
            progress.update(last, rows, "neighbours of neighbours")

        in_parts(rows, run, least=1024)
        return out


def _columns(base: Points) -> float:
    """Return how many numbers a row has."""
    return base.nnz / base.shape[0] if isinstance(base, csr_array) else float(base.shape[1])


def _leading_axes(base: Points, rng: np.random.Generator) -> tuple[Floats32, NDArray[np.float64]]:
    """Return the leading principal axes (d, axes) of a sample, and its centre (d,)."""
    count, columns = base.shape
    rows = np.sort(rng.choice(count, size=min(count, _ROWS), replace=False))
    sample: Any = base[rows]
    centre = np.zeros(columns)  # centred, sparse rows would not be sparse
    if not isinstance(sample, csr_array):
        sample = np.asarray(sample, dtype=np.float64)
        centre = sample.mean(axis=0)
        sample -= centre
    # A power of two changes no bit; squares of float32 would overflow beyond 1e19.
    unit = np.exp2(np.frexp(abs(sample).max())[1].astype(np.float64))
    sample = (sample / unit).astype(np.float32)
    axes = min(_LEVELS[-1], columns, len(rows))
    wide = rng.normal(size=(columns, min(columns, axes + _SPARE))).astype(np.float32)
    with one_blas_thread():  # the last bits of products depend on the threads
        for _ in range(_POWER_STEPS):
            wide = np.asarray(sample.T @ (sample @ np.linalg.qr(wide)[0]))
        basis = np.linalg.qr(wide)[0]
        turn = np.linalg.svd(np.asarray(sample @ basis), full_matrices=False)[2]
        leading = (basis @ turn.T)[:, :axes] / unit
        return np.ascontiguousarray(leading, dtype=np.float32), centre


def project(points: Points, axes: Floats32, centre: NDArray[np.float64]) -> Floats32:
    """Return points (n, d) along axes (d, a) as float32, every row by itself."""
    out = np.empty((points.shape[0], axes.shape[1]), dtype=np.float32)
    axes = np.ascontiguousarray(axes)

    def run(first: int, last: int) -> None:
        rows = slice(first, last)
        if isinstance(points, csr_array):
            starts = points.indptr[first : last + 1]
            _project_sparse(starts, points.indices, points.data, axes, out[rows])
        else:
            _project_dense(np.ascontiguousarray(points[rows]), centre, axes, out[rows])

    in_parts(len(out), run, least=4096)
    return out


@compiled(parallel=True)
def _project_dense(points: Any, centre: Any, axes: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        total = np.zeros(out.shape[1], np.float32)
        for d in range(points.shape[1]):
            value = np.float32(points[i, d] - centre[d])
            for a in range(total.size):
                total[a] += value * axes[d, a]
        out[i] = total


@compiled(parallel=True)
def _project_sparse(indptr: Any, indices: Any, data: Any, axes: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        total = np.zeros(out.shape[1], np.float32)
        for e in range(indptr[i], indptr[i + 1]):
            value = np.float32(data[e])
            for a in range(total.size):
                total[a] += value * axes[indices[e], a]
        out[i] = total


def _ranked(sketch: Floats32, axes: int, sample: Any, truth: Indices) -> NDArray[np.int64]:
    """Return how many points of the sketch are nearer to a sampled one than each true one."""
    ranks = np.empty(truth.shape, np.int64)

    def run(first: int, last: int) -> None:
        part = slice(first, last)
        _ranks(sketch, axes, sample[part], truth[part], ranks[part])

    in_parts(len(truth), run, least=thread_count())
    return ranks


@compiled(parallel=True)
def _ranks(sketch: Any, axes: int, sample: Any, truth: Any, ranks: Any) -> None:
    """Fill ranks (sample, k): points of the sketch nearer to a sampled one than each true one."""
    for q in prange(sample.size):
        limits = np.empty(truth.shape[1], np.float32)
        for t in range(limits.size):
            limits[t] = _squared(sketch, sample[q], sketch, truth[q, t], axes)
        order = np.argsort(limits)
        limits = limits[order]
        counts = np.zeros(limits.size + 1, np.int64)
        for j in range(sketch.shape[0]):
            distance = _squared(sketch, sample[q], sketch, j, axes)
            if distance < limits[-1] and j != sample[q]:  # seldom
                counts[np.searchsorted(limits, distance, side="right")] += 1
        nearer = 0
        for t in range(limits.size):
            nearer += counts[t]
            ranks[q, order[t]] = nearer


# Sums in any order are good enough to rank, and several times as fast.
@compiled(fastmath={"reassoc", "nsz", "contract"})
def _squared(first: Any, i: int, second: Any, j: int, columns: int) -> Any:
    """Return the squared distance of two rows, in so many of their columns."""
    total = first[i, 0] - first[i, 0]
    for d in range(columns):
        difference = first[i, d] - second[j, d]
        total += difference * difference
    return total


def ranked(queries: Points, base: Points, looked_at: Indices, k: int) -> Indices:
    """Return the k nearest (n, k) of the base points looked at (n, many) for each query.

    Of equal distances, the smaller number is nearer; -1 stands for none.
    """
    distances = np.full((len(looked_at), k), np.inf)
    found = np.full((len(looked_at), k), np.iinfo(np.int32).max, dtype=np.int32)
    if isinstance(base, csr_array):
        given, stored = ((m.indptr, m.indices, m.data) for m in (csr_array(queries), base))
        norms = np.add.reduceat(np.append(base.data**2, 0.0), base.indptr[:-1])
        norms[np.diff(base.indptr) == 0] = 0.0
        _rank_sparse(given, stored, norms, base.shape[1], looked_at, distances, found)
    else:
        _rank_dense(np.ascontiguousarray(queries), base, looked_at, distances, found)
    found[found == np.iinfo(np.int32).max] = -1
    return found


@compiled
def _offer_once(nearest: Any, found: Any, distance: float, node: int) -> None:
    """Offer a point to a list, unless it is farther than all of it."""
    if distance < nearest[0] or (distance == nearest[0] and node < found[0]):
        offer(nearest, found, distance, node)


@compiled(parallel=True)
def _rank_dense(queries: Any, base: Any, looked_at: Any, nearest: Any, found: Any) -> None:
    for q in prange(looked_at.shape[0]):
        for c in range(looked_at.shape[1]):
            node = looked_at[q, c]
            if node >= 0:
                distance = _squared(queries, q, base, node, base.shape[1])
                _offer_once(nearest[q], found[q], distance, node)
        sort_list(nearest[q], found[q])


@compiled(parallel=True)
def _rank_sparse(
    queries: Any, base: Any, norms: Any, columns: int, looked_at: Any, nearest: Any, found: Any
) -> None:
    """Rank by norms and products; the norm of the query is the same for all."""
    q_start, q_indices, q_data = queries
    start, indices, data = base
    parts = min(looked_at.shape[0], 64)
    for part in prange(parts):
        row = np.zeros(columns)
        for q in range(part, looked_at.shape[0], parts):
            for e in range(q_start[q], q_start[q + 1]):
                row[q_indices[e]] = q_data[e]
            for c in range(looked_at.shape[1]):
                node = looked_at[q, c]
                if node >= 0:
                    product = 0.0
                    for e in range(start[node], start[node + 1]):
                        product += data[e] * row[indices[e]]
                    _offer_once(nearest[q], found[q], norms[node] - 2.0 * product, node)
            for e in range(q_start[q], q_start[q + 1]):
                row[q_indices[e]] = 0.0
            sort_list(nearest[q], found[q])


@compiled(parallel=True)
def _neighbours_of_neighbours(lists: Any, rows: Any, nearest: int, offered: Any) -> None:
    """Fill offered (rows, k + nearest^2) with each row's list, and the nearest of its nearest."""
    for r in prange(rows.size):
        own, k = rows[r], lists.shape[1]
        offered[r, :k] = lists[own]
        known = np.sort(lists[own])
        near = np.full(nearest * nearest, -1, np.int32)
        for a in range(nearest):
            if lists[own, a] >= 0:
                near[a * nearest : (a + 1) * nearest] = lists[lists[own, a], :nearest]
        near.sort()
        count, at = k, 0
        for c in range(near.size):
            node = near[c]
            if node >= 0 and node != own and (c == 0 or node != near[c - 1]):
                while at < k and known[at] < node:
                    at += 1
                if at == k or known[at] != node:
                    offered[r, count] = node
                    count += 1


def true_neighbours(
    queries: Points, base: Points, own: NDArray[np.integer[Any]], k: int
) -> Indices:
    """Return the k nearest base points (n, k) of a few queries; own is -1, or left out.

    Dense points by products, block by block, and then exactly; sparse ones as `ExactSearch` does.
    """
    from truegraph.learning.search.neighbours import ExactSearch

    if isinstance(base, csr_array):
        exact, found = ExactSearch(base), np.empty((queries.shape[0], k), dtype=np.int32)

        def run(first: int, last: int) -> None:
            part = slice(first, last)
            found[part] = exact.query(queries[part], own[part], k)

        in_parts(len(found), run, least=4 * thread_count())
        return found
    count = base.shape[0]
    spare = min(k + _SPARE, count)
    ids = np.zeros((len(queries), 0), dtype=np.int32)
    values = np.zeros((len(queries), 0))
    centre = np.asarray(queries, dtype=np.float64).mean(axis=0)
    centred = np.asarray(queries - centre, dtype=np.float64)
    step = max(1024, int(_BASE_BYTES / (8 * base.shape[1])))
    with one_blas_thread():
        for first in range(0, count, step):
            block = np.asarray(base[first : first + step] - centre, dtype=np.float64)
            near = np.einsum("ij,ij->i", block, block) - 2.0 * (centred @ block.T)
            inside = np.flatnonzero((own >= first) & (own < first + len(block)))
            near[inside, own[inside] - first] = np.inf
            numbers = np.broadcast_to(
                np.arange(first, first + len(block), dtype=np.int32), near.shape
            )
            values = np.concatenate([values, near], axis=1)
            ids = np.concatenate([ids, numbers], axis=1)
            if values.shape[1] > spare:
                kept = np.argpartition(values, spare - 1, axis=1)[:, :spare]
                values = np.take_along_axis(values, kept, axis=1)
                ids = np.take_along_axis(ids, kept, axis=1)
    ids[~np.isfinite(values)] = -1
    wide = np.ascontiguousarray(queries, dtype=np.float64)
    chosen, places = np.unique(ids, return_inverse=True)
    near_points = np.ascontiguousarray(base[chosen], dtype=np.float64)
    local = np.where(ids >= 0, places.reshape(ids.shape), -1).astype(np.int32)
    best = ranked(wide, near_points, local, k)
    return np.where(best >= 0, chosen[best], -1).astype(np.int32)
