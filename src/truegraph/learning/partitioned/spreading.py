"""Points in the order of their cells: read once, spread by large cell, gathered by partition.

A chunk of the input is sorted by large cell and stored. A partition, some large cells in a row,
then takes its part of every chunk and splits its large cells into small ones. The place of a point
in that order is its number from here on.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.partitioned.executors import given_rows
from truegraph.learning.partitioned.folder import Folder, check_starts, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.search.approximate import LargeCells, Rounding, SmallCells
from truegraph.learning.search.cells import padded
from truegraph.learning.search.points import unit_rows


class SideCells:
    """The large cells of one side, and how its points are rounded for the search.

    With `has_zero_rows`, rows of zeros, of any side, point along an axis of their own (cosine).
    """

    def __init__(self, large: LargeCells, rounding: Rounding, has_zero_rows: bool) -> None:
        self.large, self.rounding = large, rounding
        self.has_zero_rows = has_zero_rows

    def save(self, folder: Folder, side: int) -> None:
        """Write them to the storage."""
        folder.write_table(
            f"cells-{side}",
            centres=self.large.centres,
            centre=self.rounding.centre,
            unit=self.rounding.unit,
            seed=self.large.seed,
            has_zero_rows=self.has_zero_rows,
        )

    @classmethod
    def load(cls, plan: Plan, side: int) -> SideCells:
        """Read what `save` wrote."""
        folder, name = Folder(plan.folder), f"cells-{side}"
        table = folder.read_table(name, "centres", "centre", "unit", "seed", "has_zero_rows")
        centres = table["centres"]
        fits = centres.ndim == 2 and len(centres) > 0 and table["centre"].ndim == 1
        if not fits or centres.dtype != np.float32 or not table["unit"] > 0.0:
            raise damaged(folder.path / f"{name}.npz", "its centres cannot be used")
        large = LargeCells(centres, plan.sizes, int(table["seed"]))
        rounding = Rounding(table["centre"], float(table["unit"]))
        return cls(large, rounding, bool(table["has_zero_rows"]))

    def rounded(self, points: NDArray[Any]) -> NDArray[np.float32]:
        """Return search vectors (n, d) as the loops take them."""
        return padded(self.rounding(points))


def prepared(rows: NDArray[Any], metric: str, has_zero_rows: bool) -> NDArray[Any]:
    """Return rows as search vectors, whose squared distance is the distance."""
    if metric != "cosine":
        return rows
    unit = np.asarray(unit_rows(rows.astype(np.float64))) * np.sqrt(0.5)
    if has_zero_rows and unit.shape[1] == rows.shape[1]:
        unit = np.column_stack([unit, np.zeros(len(unit))])
    return unit


def scan(plan: Plan, given: Any, wanted: NDArray[np.int64]) -> tuple[Any, Any, Any, str]:
    """Check a chunk; return bounds of its columns (d,), the wanted rows, and its digest."""
    # The axis of rows of zeros is always there: whether it is needed, the whole scan tells.
    plain = given_rows(given, "X")
    rows = prepared(plain, plan.metric, has_zero_rows=True)
    kinds = (rows.min(axis=0), rows.max(axis=0), rows[wanted])
    smallest, largest, sample = (np.asarray(part, dtype=np.float64) for part in kinds)
    return smallest, largest, sample, _digest(plain)


def digest(given: Any) -> str:
    """Return what tells the rows of a chunk from others."""
    return _digest(given_rows(given, "X"))


def _digest(rows: NDArray[Any]) -> str:
    found = hashlib.blake2b(f"{rows.dtype.str}{rows.shape}".encode(), digest_size=16)
    found.update(np.ascontiguousarray(rows).data)
    return found.hexdigest()


def spread(plan: Plan, side: int, chunk: int, given: Any) -> NDArray[np.int64]:
    """Store a chunk sorted by large cell; return how many points each cell has in it."""
    folder = Folder(plan.folder).below("spread")
    name = f"{side}-{chunk}"
    if not folder.has(f"{name}-starts.npy"):
        cells = SideCells.load(plan, side)
        rows = prepared(given_rows(given, "X"), plan.metric, cells.has_zero_rows)
        own = cells.large.nearest(cells.rounded(rows), 1)[:, 0]
        order = np.argsort(own, kind="stable")
        folder.write(f"{name}-points", rows[order])
        folder.write(f"{name}-ids", chunk * plan.chunk_rows + order)
        counts = np.bincount(own, minlength=len(cells.large))
        folder.write(f"{name}-starts", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    counts = np.diff(folder.mapped(f"{name}-starts", "iu"))
    return np.asarray(counts, dtype=np.int64)


def gather(plan: Plan, partition: int, side: int, first: int, last: int, chunks: int) -> int:
    """Store the points of large cells first to last, in the order of the cells; count them."""
    folder = Folder(plan.folder)
    if not folder.has(f"small-{partition}.npz"):
        cells, parts = SideCells.load(plan, side), []
        points, ids, own = _slices(folder.below("spread"), side, first, last, chunks)
        order = np.argsort(own, kind="stable")
        starts = np.searchsorted(own[order], np.arange(first, last + 1))
        for number in range(first, last):
            inside = slice(starts[number - first], starts[number - first + 1])
            rounded = cells.rounded(points[order[inside]])
            places, small = cells.large.split(number, rounded)
            order[inside] = order[inside][places]
            parts.append(small)
        small = SmallCells.joined(parts)
        folder.write(f"points-{partition}", points[order])
        folder.write(f"ids-{partition}", ids[order])
        folder.write_table(f"small-{partition}", **vars(small))
    return len(folder.mapped(f"ids-{partition}", "iu"))


def _slices(
    folder: Folder, side: int, first: int, last: int, chunks: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return points, ids and large cells of cells first to last, chunk after chunk."""
    points, ids, own = [], [], []
    for chunk in range(chunks):
        stored = folder.mapped(f"{side}-{chunk}-points", "f", (None, None))
        numbers = folder.mapped(f"{side}-{chunk}-ids", "iu", (len(stored),))
        all_starts = np.array(folder.mapped(f"{side}-{chunk}-starts", "iu"))
        check_starts(folder.path / f"{side}-{chunk}-starts.npy", all_starts, len(stored))
        starts = all_starts[first : last + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        points.append(np.asarray(stored[inside]))
        ids.append(np.asarray(numbers[inside]))
        own.append(np.repeat(np.arange(first, last), np.diff(starts)))
    return np.concatenate(points), np.concatenate(ids), np.concatenate(own)


def cut_into_partitions(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return where partitions begin among large cells with so many points, and the end.

    Partitions are about equally large; a large cell is never cut.
    """
    total = int(counts.sum())
    wanted = max(1, -(-total // most))
    ends = np.cumsum(counts)
    targets = total * np.arange(1, wanted) / wanted
    cuts = np.searchsorted(ends, targets) + 1
    cuts = cuts[ends[cuts - 1] < total]  # no partition of empty cells at the end
    return np.unique(np.concatenate([[0], cuts, [len(counts)]])).astype(np.int64)
