"""Points in the order of their cells: read once, spread by large cell, gathered by partition.

A chunk of the input is sorted by large cell and stored. A partition, some large cells in a row,
then takes its part of every chunk and splits its large cells into small ones. The place of a point
in that order is its number from here on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.partitioned.executors import given_rows
from truegraph.learning.partitioned.folder import Folder, check_starts, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.search.cells import padded
from truegraph.learning.search.points import unit_rows
from truegraph.learning.search.two_levels import LargeCells, Rounding, SmallCells


@dataclass(frozen=True)
class SideCells:
    """The large cells of one side, and how its points are rounded for the search."""

    centres: NDArray[np.float32]
    rounding: Rounding
    seed: int
    has_zero_rows: bool

    def large(self, plan: Plan) -> LargeCells:
        """Return the large cells."""
        return LargeCells.from_centres(self.centres, plan.sizes, self.seed)

    def save(self, folder: Folder, side: int) -> None:
        """Write them to the storage."""
        folder.write_table(
            f"cells-{side}",
            centres=self.centres,
            centre=self.rounding.centre,
            unit=self.rounding.unit,
            seed=self.seed,
            has_zero_rows=self.has_zero_rows,
        )

    @classmethod
    def load(cls, folder: Folder, side: int) -> SideCells:
        """Read what `save` wrote."""
        table = folder.read_table(
            f"cells-{side}", "centres", "centre", "unit", "seed", "has_zero_rows"
        )
        path, centres = folder.path / f"cells-{side}.npz", table["centres"]
        fits = centres.ndim == 2 and len(centres) > 0 and table["centre"].ndim == 1
        if not fits or centres.dtype != np.float32 or not table["unit"] > 0.0:
            raise damaged(path, "its centres cannot be used")
        return cls(
            table["centres"],
            Rounding(table["centre"], float(table["unit"])),
            int(table["seed"]),
            bool(table["has_zero_rows"]),
        )


@dataclass(frozen=True)
class Scan:
    """What one pass over chunks tells: bounds of the columns (d,), rows (n, d), and digests."""

    smallest: NDArray[np.float64]
    largest: NDArray[np.float64]
    sample: NDArray[np.float64]
    digests: list[str]


def prepared(rows: NDArray[Any], metric: str, has_zero_rows: bool) -> NDArray[Any]:
    """Return rows as search vectors, whose squared distance is the distance."""
    if metric != "cosine":
        return rows
    unit = np.asarray(unit_rows(rows.astype(np.float64))) * np.sqrt(0.5)
    if has_zero_rows and unit.shape[1] == rows.shape[1]:
        unit = np.column_stack([unit, np.zeros(len(unit))])
    return unit


def scan(plan: Plan, given: Any, wanted: NDArray[np.int64]) -> Scan:
    """Check a chunk, and return its bounds and the rows whose places are wanted."""
    # The axis of rows of zeros is always there: whether it is needed, the whole scan tells.
    plain = given_rows(given, "X")
    rows = prepared(plain, plan.metric, has_zero_rows=True)
    smallest, largest = rows.min(axis=0), rows.max(axis=0)
    return Scan(
        smallest=np.asarray(smallest, dtype=np.float64),
        largest=np.asarray(largest, dtype=np.float64),
        sample=np.asarray(rows[wanted], dtype=np.float64),
        digests=[_digest(plain)],
    )


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
        cells = SideCells.load(Folder(plan.folder), side)
        rows = prepared(given_rows(given, "X"), plan.metric, cells.has_zero_rows)
        large = cells.large(plan)
        own = large.nearest(padded(cells.rounding(rows)), 1)[:, 0]
        order = np.argsort(own, kind="stable")
        folder.write(f"{name}-points", rows[order])
        folder.write(f"{name}-ids", chunk * plan.chunk_rows + order)
        counts = np.bincount(own, minlength=len(large))
        folder.write(f"{name}-starts", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    counts = np.diff(folder.mapped(f"{name}-starts", "iu"))
    return np.asarray(counts, dtype=np.int64)


def gather(plan: Plan, partition: int, side: int, first: int, last: int, chunks: int) -> int:
    """Store the points of large cells first to last, in the order of the cells; count them."""
    folder = Folder(plan.folder)
    if not folder.has(f"small-{partition}.npz"):
        cells = SideCells.load(folder, side)
        points, ids, own = _slices(folder.below("spread"), side, first, last, chunks)
        order = np.argsort(own, kind="stable")
        starts = np.searchsorted(own[order], np.arange(first, last + 1))
        large, parts = cells.large(plan), []
        for number in range(first, last):
            inside = slice(starts[number - first], starts[number - first + 1])
            rounded = padded(cells.rounding(points[order[inside]]))
            places, small = large.split(number, rounded)
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
