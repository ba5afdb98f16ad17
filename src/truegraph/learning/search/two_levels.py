"""Cells of constant size in two levels, among which the search in cells looks for neighbours.

Large cells of about 8,192 points come from a clustering of a sample; each is split into small ones
of about 256 points by a clustering of its own, seeded by its number. A query ranks the small cells
of the large ones nearest to it and searches the nearest. Since no cell grows with the number of
points, the work per query hardly does; and since a large cell is split by itself, it does not
matter which process does it: a graph learned in parts has the candidates of one learned in one.
Large cells do grow in number: where there are many, a query is compared with those near one that is
near to it (`LargeCells.nearest`).

Distances are computed query by query in a fixed order, never by a matrix product, whose last bits
depend on which queries come together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.search.cells import cell_tiles, search_cells
from truegraph.runtime.interrupts import interruptible

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


@dataclass(frozen=True)
class CellSizes:
    """About how many points a large and a small cell have."""

    large: int = 8192
    small: int = 256


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


def sampled_rows(count: int, sizes: CellSizes, seed: int) -> NDArray[np.int64]:
    """Return the points, ascending, of which the large cells are made."""
    wanted = _SAMPLE_PER_CELL * _large_count(count, sizes)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, size=min(count, wanted), replace=False))


def _large_count(count: int, sizes: CellSizes) -> int:
    return max(1, round(count / sizes.large))


@dataclass(frozen=True)
class LargeCells:
    """The centres of the large cells, neighbours near one another."""

    centres: Floats32  # (n_large, d)
    tiles: Tiles  # the centres, all in one cell
    groups: Tiles  # the same, in a cell for each group of neighbours
    middles: Tiles  # the means of the groups, all in one cell
    sizes: CellSizes
    seed: int

    @classmethod
    def of(cls, sample: Floats32, count: int, sizes: CellSizes, seed: int) -> LargeCells:
        """Cluster a sample (n, d), rounded and padded, of `count` points."""
        wanted = min(_large_count(count, sizes), len(sample))
        centres = _clustering(sample, wanted, seed, _LARGE_STEPS)
        return cls.from_centres(centres[bisection_order(centres)], sizes, seed)

    @classmethod
    def from_centres(cls, centres: Floats32, sizes: CellSizes, seed: int) -> LargeCells:
        """Take centres that were found before, in the order of `bisection_order`."""
        starts = _group_starts(len(centres))
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        sums = np.add.reduceat(centres.astype(np.float64), starts[:-1])
        means = (sums / np.diff(starts)[:, None]).astype(np.float32)
        groups = cell_tiles(centres, owner, len(means))
        return cls(centres, _in_one_cell(centres), groups, _in_one_cell(means), sizes, seed)

    def __len__(self) -> int:
        return len(self.centres)

    def nearest(self, points: Floats32, count: int) -> NDArray[np.int64]:
        """Return the numbers of the nearest large cells (n, count), nearest first.

        Of many, nearly always: those compared are the ones nearest to a large cell that is near to
        the point, found in the nearest groups. The work per point does not grow with their number.
        """
        everywhere = np.zeros((len(points), 1), np.int64)
        if len(self) <= _MOST_COMPARED or count > _NEARBY:
            return _ranked(points, everywhere, self.tiles, count)
        groups = _ranked(points, everywhere, self.middles, _GROUPS)
        near = _ranked(points, groups, self.groups, 1)[:, 0]
        found = np.empty((len(points), count), np.int64)
        present = np.unique(near)
        for first in range(0, len(present), _AT_A_TIME):
            cells = present[first : first + _AT_A_TIME]
            members = np.flatnonzero((near >= cells[0]) & (near <= cells[-1]))
            wanted = np.searchsorted(cells, near[members])[:, None]
            found[members] = _ranked(points[members], wanted, self._nearby(cells), count)
        return found

    def _nearby(self, cells: NDArray[np.int64]) -> Tiles:
        """Lay out, for each of some large cells, the large cells nearest to it."""
        everywhere = np.zeros((len(cells), 1), np.int64)
        nearby = _ranked(self.centres[cells], everywhere, self.tiles, _NEARBY).ravel()
        owner = np.repeat(np.arange(len(cells)), _NEARBY)
        tiles, places, first_tiles = cell_tiles(self.centres[nearby], owner, len(cells))
        return tiles, np.where(places >= 0, nearby[places], -1).astype(np.int32), first_tiles

    def split(self, number: int, points: Floats32) -> tuple[NDArray[np.int64], SmallCells]:
        """Return the order (n,) of the points of a large cell by small cell, and its small cells."""
        wanted = max(1, round(len(points) / self.sizes.small))
        if len(points) == 0:
            return np.zeros(0, np.int64), SmallCells.none(points.shape[1])
        most = wanted * _SAMPLE_PER_CELL
        sample = points[:: max(1, len(points) // most)]
        centres = _clustering(sample, min(wanted, len(sample)), self.seed + number, _SMALL_STEPS)
        own = _ranked(points, np.zeros((len(points), 1), np.int64), _in_one_cell(centres), 1)[:, 0]
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=len(centres))
        # Equal points share a cell, however many they are; cut, it costs no more than others.
        cuts = np.maximum(1, -(-counts // (_LARGEST_SHARE * self.sizes.small)))
        lengths = [part.size for n, c in zip(counts, cuts, strict=True) for part in _parts(n, c)]
        starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
        of_large = np.array([0, len(lengths)], dtype=np.int64)
        return order, SmallCells(np.repeat(centres, cuts, axis=0), starts, of_large)


def _parts(count: int, cuts: int) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(count), cuts)


@dataclass(frozen=True)
class SmallCells:
    """The small cells of several large ones."""

    centres: Floats32  # (n_small, d)
    starts: NDArray[np.int64]  # points starts[c] to starts[c + 1], by cell, are in cell c
    of_large: NDArray[np.int64]  # large cell g has the small ones of_large[g] to of_large[g + 1]

    @classmethod
    def none(cls, dimension: int) -> SmallCells:
        """Return no cells, of a large cell without points."""
        return cls(np.zeros((0, dimension), np.float32), np.zeros(1, np.int64), np.zeros(2, int))

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
    queries: Floats32, large: NDArray[np.int64], centre_tiles: Tiles, width: int
) -> NDArray[np.int64]:
    """Return the small cells nearest to each query (n, width), nearest first."""
    return _ranked(queries, large, centre_tiles, width)


def _ranked(
    queries: Floats32, wanted: NDArray[np.int64], tiles: Tiles, count: int
) -> NDArray[np.int64]:
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
