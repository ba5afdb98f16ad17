"""Approximate nearest neighbours for many points, in cells.

The search is as wide as it must be: the width grows by an eighth until the recall measured on a
sample of the queries reaches 98 %, or all cells are searched.

Large cells of about 8,192 points come from a clustering of a sample; each is split into small ones
of about 256 points by a clustering of its own, seeded by its number. A query ranks the small cells
of the large ones nearest to it and searches the nearest, so the work per query hardly grows with
the points. Since a large cell is split by itself, it does not matter which process does it.

Distances are computed query by query in a fixed order, never by a matrix product, whose last bits
depend on which queries come together.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.cells import cell_tiles, padded, search_cells
from truegraph.learning.search.points import Points
from truegraph.runtime.interrupts import in_parts, interruptible

Floats32 = NDArray[np.float32]
Tiles = tuple[Floats32, NDArray[np.int32], NDArray[np.int64]]

_SAMPLE_PER_CELL = 64
_LARGE_STEPS, _SMALL_STEPS = 10, 5
_FEWEST_LARGE = 8  # large cells whose small ones are ranked
_MOST_COMPARED = 256  # large cells that every query is compared with
_LARGEST_GROUP = 64  # large cells, of which two groups are compared to find one nearby
_GROUPS = 2
_NEARBY = 192  # large cells nearest to that one, which are compared then
_AT_A_TIME = 1024  # large cells whose nearby ones are laid out together
_LARGEST_SHARE = 4  # a small cell with more than so many times its size is cut
_POWER_STEPS = 20
#: About how many points a large and a small cell have.
SIZES = (8192, 256)


@dataclass(frozen=True)
class Rounding:
    """Centres, scales and rounds points to float32, beyond which their squares might be."""

    centre: NDArray[np.float64]  # (d,)
    unit: float  # the largest distance of an entry from the centre

    @classmethod
    def of(cls, sample: NDArray[Any], smallest: NDArray[Any], largest: NDArray[Any]) -> Rounding:
        """Make one from a sample (n, d) of the points and the bounds (d,) of all."""
        centre = np.asarray(sample, dtype=np.float64).mean(axis=0)
        unit = float(np.maximum(largest - centre, centre - smallest).max())
        return cls(centre, unit or 1.0)

    def __call__(self, points: NDArray[Any]) -> Floats32:
        """Return dense points (n, d) as float32."""
        offsets = points - self.centre  # float64
        offsets /= self.unit
        rounded: Floats32 = offsets.astype(np.float32)
        return rounded


def sampled_rows(count: int, sizes: tuple[int, int], seed: int) -> NDArray[np.int64]:
    """Return the points, ascending, of which the large cells are made."""
    wanted = _SAMPLE_PER_CELL * max(1, round(count / sizes[0]))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, size=min(count, wanted), replace=False))


class LargeCells:
    """The centres (n_large, d) of the large cells, in the order of `bisection_order`."""

    def __init__(self, centres: Floats32, sizes: tuple[int, int], seed: int) -> None:
        self.centres, self.sizes, self.seed = centres, sizes, seed
        starts = _group_starts(len(centres))
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        sums = np.add.reduceat(centres.astype(np.float64), starts[:-1])
        means = (sums / np.diff(starts)[:, None]).astype(np.float32)
        self._tiles, self._middles = _in_one_cell(centres), _in_one_cell(means)
        self._groups = cell_tiles(centres, owner, len(means))

    @classmethod
    def of(cls, sample: Floats32, count: int, sizes: tuple[int, int], seed: int) -> LargeCells:
        """Cluster a sample (n, d), rounded and padded, of `count` points."""
        wanted = min(max(1, round(count / sizes[0])), len(sample))
        centres = _clustering(sample, wanted, seed, _LARGE_STEPS)
        return cls(centres[bisection_order(centres)], sizes, seed)

    def __len__(self) -> int:
        return len(self.centres)

    def nearest(self, points: Floats32, count: int) -> NDArray[np.int64]:
        """Return the numbers of the nearest large cells (n, count), nearest first.

        Of many, nearly always: those compared are the ones nearest to a large cell that is near to
        the point, found in the nearest groups. The work per point does not grow with their number.
        """
        if len(self) <= _MOST_COMPARED or count > _NEARBY:
            return _nearest(points, self._tiles, count)
        groups = _nearest(points, self._middles, _GROUPS)
        near = rank_cells(points, groups, self._groups, 1)[:, 0]
        found = np.empty((len(points), count), np.int64)
        present = np.unique(near)
        for first in range(0, len(present), _AT_A_TIME):
            cells = present[first : first + _AT_A_TIME]
            members = np.flatnonzero((near >= cells[0]) & (near <= cells[-1]))
            wanted = np.searchsorted(cells, near[members])[:, None]
            found[members] = rank_cells(points[members], wanted, self._nearby(cells), count)
        return found

    def _nearby(self, cells: NDArray[np.int64]) -> Tiles:
        """Lay out, for each of some large cells, the large cells nearest to it."""
        nearby = _nearest(self.centres[cells], self._tiles, _NEARBY).ravel()
        owner = np.repeat(np.arange(len(cells)), _NEARBY)
        tiles, places, first_tiles = cell_tiles(self.centres[nearby], owner, len(cells))
        return tiles, np.where(places >= 0, nearby[places], -1).astype(np.int32), first_tiles

    def split(self, number: int, points: Floats32) -> tuple[NDArray[np.int64], SmallCells]:
        """Return the points of a large cell by small cell (n,), and its small cells."""
        wanted = max(1, round(len(points) / self.sizes[1]))
        if len(points) == 0:
            return np.zeros(0, np.int64), SmallCells(
                points, np.zeros(1, np.int64), np.zeros(2, int)
            )
        most = wanted * _SAMPLE_PER_CELL
        sample = points[:: max(1, len(points) // most)]
        centres = _clustering(sample, min(wanted, len(sample)), self.seed + number, _SMALL_STEPS)
        own = rank_cells(points, np.zeros((len(points), 1), np.int64), _in_one_cell(centres), 1)[
            :, 0
        ]
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=len(centres))
        # Equal points share a cell, however many they are; cut, it costs no more than others.
        cuts = np.maximum(1, -(-counts // (_LARGEST_SHARE * self.sizes[1])))
        lengths = [
            (count + cut) // cuts_of  # as `numpy.array_split` cuts, the larger parts first
            for count, cuts_of in zip(counts, cuts, strict=True)
            for cut in range(cuts_of - 1, -1, -1)
        ]
        starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
        of_large = np.array([0, len(lengths)], dtype=np.int64)
        return order, SmallCells(np.repeat(centres, cuts, axis=0), starts, of_large)


@dataclass(frozen=True)
class SmallCells:
    """The small cells of several large ones."""

    centres: Floats32  # (n_small, d)
    starts: NDArray[np.int64]  # points starts[c] to starts[c + 1], by cell, are in cell c
    of_large: NDArray[np.int64]  # large cell g has the small ones of_large[g] to of_large[g + 1]

    @classmethod
    def joined(cls, parts: list[SmallCells]) -> SmallCells:
        """Put the small cells of consecutive large cells one after another."""
        return cls(
            np.concatenate([part.centres for part in parts]),
            _chained([part.starts for part in parts]),
            _chained([part.of_large for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.centres)

    def tiles(self) -> Tiles:
        """Return the centres laid out by large cell, as `rank_cells` takes them."""
        owner = np.repeat(np.arange(len(self.of_large) - 1), np.diff(self.of_large))
        return cell_tiles(self.centres, owner, len(self.of_large) - 1)

    def of_points(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """Return the cells of points by their places in the order of the cells."""
        cells: NDArray[np.int64] = np.searchsorted(self.starts, points, side="right") - 1
        return cells


def _chained(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    lengths = [np.diff(part) for part in starts]
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)


def large_for(width: int, n_large: int) -> int:
    """Return how many large cells have their small ones ranked, for a search of this width."""
    return min(n_large, max(_FEWEST_LARGE, width // 2))


def rank_cells(
    queries: Floats32, wanted: NDArray[np.int64], tiles: Tiles, count: int
) -> NDArray[np.int64]:
    """Return the nearest centres (n, count) in the wanted cells; their number where too few."""
    nobody = np.full(len(queries), -1, np.int64)
    absent = int((tiles[1] >= 0).sum())
    return search_lists(queries, nobody, wanted, tiles, count, absent).astype(np.int64)


def search_lists(
    queries: Floats32,
    own: NDArray[np.int64],
    wanted: NDArray[np.int64],
    tiles: Tiles,
    k: int,
    absent: int,
) -> NDArray[np.int32]:
    """Return the ids (n, k) of the nearest points in the wanted cells, `absent` where too few.

    A cell number beyond all cells stands for one without points. The other parameters are those
    of `search_cells`.
    """
    points, ids, first_tiles = tiles
    with_empty = np.append(first_tiles, first_tiles[-1])
    nearest = np.full((len(queries), k), np.inf, dtype=np.float32)
    found = np.full((len(queries), k), absent, dtype=np.int32)
    order = np.argsort(wanted[:, 0], kind="stable")
    search_cells(queries, own, order, wanted, (points, ids, with_empty), nearest, found)
    return found


def _nearest(queries: Floats32, tiles: Tiles, count: int) -> NDArray[np.int64]:
    """Return the nearest centres (n, count) of those in one cell."""
    return rank_cells(queries, np.zeros((len(queries), 1), np.int64), tiles, count)


def _in_one_cell(centres: Floats32) -> Tiles:
    return cell_tiles(centres, np.zeros(len(centres), dtype=np.int64), 1)


def _clustering(points: Floats32, cells: int, seed: int, steps: int) -> Floats32:
    """Return the centres (cells, d) of a clustering."""
    if cells == 1:
        return points.mean(axis=0, dtype=np.float64).astype(np.float32)[None]
    import faiss

    clustering = faiss.Kmeans(
        points.shape[1],
        cells,
        niter=steps,
        seed=seed % 2**31,
        max_points_per_centroid=2 * _SAMPLE_PER_CELL,
        min_points_per_centroid=1,
        verbose=False,
    )

    def train() -> None:
        # One thread keeps the sums in one order; the number is that of the calling thread only.
        faiss.omp_set_num_threads(1)
        clustering.train(np.ascontiguousarray(points))

    interruptible(train)
    return np.asarray(clustering.centroids, dtype=np.float32).reshape(cells, -1)


def bisection_order(centres: NDArray[Any]) -> NDArray[np.int64]:
    """Return an order of centres (n, d) in which neighbours stand near one another.

    They are halved across their longest axis, and the halves again.
    """
    order: list[NDArray[np.int64]] = []
    todo = [np.arange(len(centres))]
    while todo:
        part = todo.pop()
        if part.size <= 2:
            order.append(part)
            continue
        offsets = centres[part].astype(np.float64) - centres[part].mean(axis=0, dtype=np.float64)
        along = np.argsort((offsets * _longest_axis(offsets)).sum(axis=1), kind="stable")
        half = part.size // 2
        todo += [part[along[half:]], part[along[:half]]]
    return np.concatenate(order)


def _group_starts(count: int) -> NDArray[np.int64]:
    """Return where groups of centres in the order of `bisection_order` begin, and the end.

    They are halves of halves, as in that order, so that the centres of a group are neighbours.
    """
    sizes = [count]
    while max(sizes) > _LARGEST_GROUP:
        sizes = [part for size in sizes for part in (size // 2, size - size // 2)]
    return np.concatenate([[0], np.cumsum(sizes)])


def _longest_axis(offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first principal axis (d,) by power iteration, without a library's own order."""
    spread = (offsets**2).sum(axis=0)
    axis = np.zeros(offsets.shape[1])
    axis[spread.argmax()] = 1.0
    for _ in range(_POWER_STEPS):
        moved = (offsets * (offsets * axis).sum(axis=1)[:, None]).sum(axis=0)
        length = float(np.sqrt((moved**2).sum()))
        if length == 0.0:
            break
        axis = moved / length
    return axis


Indices = NDArray[np.int32]

_SEARCH_BLOCK = 65536  # queries at a time
WANTED_RECALL = 0.98
FIRST_WIDTH = 16  # small cells searched for a query


def tune(
    search: CellSearch,
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

    def __init__(self, base: Points, seed: int, sizes: tuple[int, int] | None = None) -> None:
        sizes = SIZES if sizes is None else sizes
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
    own = np.empty(len(rounded), dtype=np.int64)

    def run(first: int, last: int) -> None:
        own[first:last] = large.nearest(rounded[first:last], 1)[:, 0]

    in_parts(len(own), run, least=_SEARCH_BLOCK)
    order = np.argsort(own, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(large)))])
    parts = []
    for number in range(len(large)):
        inside = slice(starts[number], starts[number + 1])
        places, cells = large.split(number, rounded[order[inside]])
        order[inside] = order[inside][places]
        parts.append(cells)
    return order, SmallCells.joined(parts)
