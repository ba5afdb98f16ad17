"""Lists of neighbours of a partition's points, found in the cells of all partitions.

The cells, their ranking and the lists are those of the search in one process
(`truegraph.learning.search.approximate.CellSearch`), and so is its width: it grows until the cells
that would be searched hold 98 % of the true neighbours of a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.gate import check_finite
from truegraph.learning.partitioned.folder import Folder, check_range, check_starts, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.spreading import SideCells
from truegraph.learning.search.approximate import (
    WANTED_RECALL,
    SmallCells,
    Tiles,
    large_for,
    rank_cells,
    recall_of,
    search_lists,
    wider,
)
from truegraph.learning.search.cells import cell_tiles, padded
from truegraph.learning.search.neighbours import ExactSearch

_BLOCK = 65536  # queries ranked at a time
_ABSENT = 2**31 - 1


@dataclass(frozen=True)
class Layout:
    """Where points are: positions starts[p] to starts[p + 1] are in partition p, of sides[p]."""

    starts: NDArray[np.int64]
    sides: NDArray[np.int64]

    @classmethod
    def load(cls, folder: Folder) -> Layout:
        """Read the layout of a run."""
        table = folder.read_table("layout", "starts", "sides")
        path, starts, sides = folder.path / "layout.npz", table["starts"], table["sides"]
        if starts.dtype.kind not in "iu" or starts.shape != (sides.size + 1,) or sides.ndim != 1:
            raise damaged(path, "starts and sides do not go together")
        check_starts(path, starts, int(starts[-1]))
        check_range(path, sides, 0, 2)
        return cls(starts.astype(np.int64), sides.astype(np.int64))

    def __len__(self) -> int:
        return len(self.sides)

    def of_side(self, side: int) -> NDArray[np.int64]:
        """Return the partitions of a side."""
        return np.flatnonzero(self.sides == side)

    def first_of_side(self, side: int) -> int:
        """Return the first position of a side."""
        return int(self.starts[self.of_side(side)[0]])

    def points(self, folder: Folder, partition: int) -> NDArray[np.float64]:
        """Return the points of a partition, which are finite."""
        name, count = f"points-{partition}", self.starts[partition + 1] - self.starts[partition]
        points = np.asarray(folder.mapped(name, "f", (int(count), None)), dtype=np.float64)
        check_finite(str(folder.path / name), points)
        return points

    def rows(self, folder: Folder, name: str, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return entries of arrays stored by partition, for ascending positions."""
        return np.concatenate(list(self.parts(folder, name, positions)))

    def parts(
        self, folder: Folder, name: str, positions: NDArray[np.int64]
    ) -> Iterator[NDArray[Any]]:
        """Return the same, partition after partition, for what need not be held as a whole."""
        bounds = np.searchsorted(positions, self.starts)
        for p in range(len(self)):
            if bounds[p] < bounds[p + 1]:
                count = int(self.starts[p + 1] - self.starts[p])
                kind, shape = ("f", (count, None)) if name == "points" else ("iu", (count,))
                places = positions[bounds[p] : bounds[p + 1]] - self.starts[p]
                yield folder.mapped(f"{name}-{p}", kind, shape)[places]


def saved_cells(folder: Folder, name: str) -> SmallCells:
    """Read small cells, and check that their parts go together."""
    table = folder.read_table(name, "centres", "starts", "of_large")
    path, centres = folder.path / f"{name}.npz", table["centres"]
    starts, of_large = table["starts"], table["of_large"]
    if centres.ndim != 2 or centres.dtype != np.float32 or starts.shape != (len(centres) + 1,):
        raise damaged(path, "centres and starts do not go together")
    check_starts(path, starts, int(starts[-1]))
    check_starts(path, of_large, len(centres))
    return SmallCells(centres, starts.astype(np.int64), of_large.astype(np.int64))


def find_ids(plan: Plan, partition: int, ids: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Return those of some ids that a partition has: ids, positions and points."""
    folder = Folder(plan.folder)
    layout = Layout.load(folder)
    own = folder.mapped(f"ids-{partition}", "iu")
    places = np.flatnonzero(np.isin(own, ids))
    points = layout.points(folder, partition)[places]
    return np.asarray(own[places]), layout.starts[partition] + places, points


def nearest_in(
    plan: Plan, partition: int, queries: NDArray[np.float64], own: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return distances and positions (n, k) of the true neighbours within a partition."""
    folder = Folder(plan.folder)
    layout = Layout.load(folder)
    start, points = int(layout.starts[partition]), layout.points(folder, partition)
    inside = (own >= start) & (own < start + len(points))
    distances, ids = ExactSearch(points).nearest(queries, np.where(inside, own - start, -1), k)
    return distances, np.where(ids < len(points), ids.astype(np.int64) + start, _ABSENT)


def merged_truth(parts: list[tuple[Any, Any]], k: int) -> NDArray[np.int32]:
    """Return the k nearest (n, k) of what all partitions found, ties by position."""
    distances = np.concatenate([part[0] for part in parts], axis=1)
    positions = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((positions, distances), axis=1)[:, :k]
    return np.take_along_axis(positions, order, axis=1).astype(np.int32)


def tuned_width(
    plan: Plan, side: int, queries: NDArray[np.float64], truth: NDArray[np.int32], first: int
) -> int:
    """Return how many small cells of a side, at least `first`, give the wanted recall."""
    folder = Folder(plan.folder)
    cells, small = SideCells.load(plan, side), saved_cells(folder, f"small-side-{side}")
    rounded = cells.rounded(queries)
    inside = small.of_points(truth - Layout.load(folder).first_of_side(side))
    centre_tiles, width = small.tiles(), min(first, len(small))
    while width < len(small):
        wanted = _wanted(rounded, cells, centre_tiles, width)
        if recall_of(wanted.astype(np.int32), inside.astype(np.int32)) >= WANTED_RECALL:
            break
        width = wider(width, len(small))
    return width


def _wanted(
    rounded: NDArray[np.float32], cells: SideCells, centre_tiles: Tiles, width: int
) -> NDArray[np.int64]:
    near = cells.large.nearest(rounded, large_for(width, len(cells.large)))
    return rank_cells(rounded, near, centre_tiles, width)


def search_partition(
    plan: Plan, partition: int, k: int, width: int, sample: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Store the lists of a partition's points, and what other partitions must know of them."""
    folder = Folder(plan.folder)
    target = folder.below(f"lists-{k}")
    layout = Layout.load(folder)
    start, stop = layout.starts[partition], layout.starts[partition + 1]
    if not target.has(f"{partition}-starts.npy"):
        side = plan.side_of(layout.sides.tolist(), partition)
        length = min(k, plan.counts[side] - (len(plan.counts) == 1))
        found = _lists(plan, folder, layout, partition, side, length, width)
        target.write(f"{partition}-lists", found)
        _write_outgoing(target, layout, partition, found)
    inside = sample[(sample >= start) & (sample < stop)]
    lists = target.mapped(f"{partition}-lists", "i", (int(stop - start), None))
    return inside, np.asarray(lists[inside - start])


def _lists(
    plan: Plan, folder: Folder, layout: Layout, partition: int, side: int, k: int, width: int
) -> NDArray[np.int32]:
    """Return the lists (points, k) of positions, -1 where there are too few."""
    cells, small = SideCells.load(plan, side), saved_cells(folder, f"small-side-{side}")
    points = folder.mapped(f"points-{partition}", "f", (None, None))
    wanted = np.empty((len(points), width), dtype=np.int32)
    centre_tiles = small.tiles()
    for first in range(0, len(points), _BLOCK):
        rows = slice(first, first + _BLOCK)
        wanted[rows] = _wanted(cells.rounded(points[rows]), cells, centre_tiles, width)
    needed = np.unique(wanted)
    needed = needed[needed < len(small)]
    tiles = _tiles(folder, layout, side, cells, small, needed)
    own_first = int(layout.starts[partition])
    found = np.empty((len(points), k), dtype=np.int32)
    for first in range(0, len(points), _BLOCK):
        rows = slice(first, min(len(points), first + _BLOCK))
        local = np.searchsorted(needed, wanted[rows]).astype(np.int64)
        own = np.arange(own_first + rows.start, own_first + rows.stop)
        found[rows] = search_lists(cells.rounded(points[rows]), own, local, tiles, k, _ABSENT)
    found[found == _ABSENT] = -1
    return found


def _tiles(
    folder: Folder,
    layout: Layout,
    side: int,
    cells: SideCells,
    small: SmallCells,
    needed: NDArray[np.int32],
) -> Tiles:
    """Lay out the points of the needed small cells, with their positions as ids."""
    offset = layout.first_of_side(side)
    begins, lengths = small.starts[needed], np.diff(small.starts)[needed]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    positions = offset + np.repeat(begins, lengths) + within
    parts = [cells.rounding(part) for part in layout.parts(folder, "points", positions)]
    rounded = padded(np.concatenate(parts))
    owner = np.repeat(np.arange(len(needed)), lengths)
    tiles, ids, first_tiles = cell_tiles(rounded, owner, len(needed))
    return tiles, np.where(ids >= 0, positions[ids], -1).astype(np.int32), first_tiles


def _write_outgoing(
    target: Folder, layout: Layout, partition: int, found: NDArray[np.int32]
) -> None:
    """Store the listed pairs that lead to other partitions, sorted by them."""
    start, stop = int(layout.starts[partition]), int(layout.starts[partition + 1])
    leaves = (found >= 0) & ((found < start) | (found >= stop))
    rows = np.nonzero(leaves)[0].astype(np.int32) + np.int32(start)
    to = found[leaves]
    order = np.argsort(to, kind="stable")
    target.write(f"{partition}-outgoing", np.column_stack([to[order], rows[order]]))
    target.write(f"{partition}-starts", np.searchsorted(to[order], layout.starts))
