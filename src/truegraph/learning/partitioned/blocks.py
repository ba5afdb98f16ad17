"""The candidate pairs of a partition: its own nodes' rows, with the nodes beyond as a halo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.inputs import require_candidates
from truegraph.learning.partitioned.folder import Folder, check_range, check_starts, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.searching import Layout
from truegraph.learning.search.points import squared_distances
from truegraph.runtime.compiled import compiled

_checked: set[Any] = set()  # versions of files; they are written once


def build_block(plan: Plan, partition: int, k: int) -> int:
    """Store a partition's candidate pairs, from its lists and those that name its nodes.

    The columns of a row are the partition's own nodes, counted from its first, and then its halo:
    other partitions' nodes, ascending. Returns the number of stored entries.
    """
    folder = Folder(plan.folder)
    target = folder.below(f"blocks-{k}")
    if not target.has(f"{partition}-indptr.npy"):
        layout = Layout.load(folder)
        start, stop = int(layout.starts[partition]), int(layout.starts[partition + 1])
        lists = folder.below(f"lists-{k}")
        named, naming = _incoming(lists, layout, partition)
        found = lists.indices(f"{partition}-lists", plan.n_nodes, (stop - start, None), at_least=-1)
        indptr, columns = _union(found, start, stop, named, naming)
        outside = (columns < start) | (columns >= stop)
        halo = np.unique(columns[outside]).astype(np.int64)
        local = np.where(
            outside, (stop - start) + np.searchsorted(halo, columns), columns - start
        ).astype(np.int32)
        values = _distances(folder, layout, partition, halo, indptr, local)
        target.write(f"{partition}-halo", halo)
        target.write(f"{partition}-columns", local)
        target.write(f"{partition}-distances", values)
        target.write(f"{partition}-indptr", indptr)
        require_candidates(load_block(plan, partition, k)[0])
    return int(load_block(plan, partition, k)[0].nnz)


def load_block(plan: Plan, partition: int, k: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Return a partition's candidates (own nodes, own nodes + halo), and its halo."""
    folder = Folder(plan.folder).below(f"blocks-{k}")
    halo = folder.indices(f"{partition}-halo", plan.n_nodes)
    columns = folder.shared(f"{partition}-columns", "i", (None,))
    distances = folder.shared(f"{partition}-distances", "f", (len(columns),))
    indptr = np.array(folder.mapped(f"{partition}-indptr", "i"))
    own = len(indptr) - 1
    _check_block(folder.path / f"{partition}-", indptr, columns, distances, own + len(halo))
    return csr_array((distances, columns, indptr), shape=(own, own + len(halo))), halo


def _check_block(
    stem: Path,
    indptr: NDArray[Any],
    columns: NDArray[Any],
    distances: NDArray[np.float64],
    width: int,
) -> None:
    """Raise unless the arrays of a block go together; files that were checked are not again."""
    names = [Path(f"{stem}{name}.npy") for name in ("indptr", "columns", "distances", "halo")]
    version = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in names)
    if version in _checked:
        return
    check_starts(names[0], indptr, len(columns))
    check_range(names[1], columns, 0, width)
    if distances.size and not (distances.min() >= 0.0 and distances.max() < np.inf):
        raise damaged(names[2], "it has distances below zero, or that are not finite")
    _checked.add(version)


def joined_blocks(plan: Plan, k: int) -> csr_array:
    """Return all candidates (n_nodes, n_nodes) in the order of the cells."""
    starts = Layout.load(Folder(plan.folder)).starts
    lengths, columns, distances = [], [], []
    for partition in range(len(starts) - 1):
        candidates, halo = load_block(plan, partition, k)
        lengths.append(np.diff(candidates.indptr))
        own = candidates.shape[0]
        columns.append(positions_of(candidates.indices, own, halo, starts[partition]))
        distances.append(candidates.data)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    parts: Any = (np.concatenate(distances), np.concatenate(columns).astype(np.int32), indptr)
    return csr_array(parts, shape=(plan.n_nodes, plan.n_nodes))


def positions_of(
    columns: NDArray[Any], own: int, halo: NDArray[np.int64], start: int
) -> NDArray[np.int64]:
    """Return columns of a block with so many own nodes, the first at `start`, as positions."""
    positions = columns.astype(np.int64)
    beyond = positions >= own
    positions[~beyond] += start
    positions[beyond] = halo[positions[beyond] - own]
    return positions


def _incoming(
    lists: Folder, layout: Layout, partition: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return pairs of this partition's nodes and those elsewhere that list them."""
    parts = [np.zeros((0, 2), np.int32)]
    for other in range(len(layout)):
        outgoing = lists.mapped(f"{other}-outgoing", "i", (None, 2))
        starts = lists.starts(f"{other}-starts", len(layout), len(outgoing))
        inside = slice(int(starts[partition]), int(starts[partition + 1]))
        parts.append(np.asarray(outgoing[inside]))
    pairs = np.concatenate(parts)
    path, first, last = lists.path, layout.starts[partition], layout.starts[partition + 1]
    check_range(path, pairs[:, 0], int(first), int(last))
    check_range(path, pairs[:, 1], 0, int(layout.starts[-1]))
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _union(
    found: NDArray[np.int32],
    start: int,
    stop: int,
    named: NDArray[np.int32],
    naming: NDArray[np.int32],
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return indptr and columns (positions) that hold every listed pair of own nodes once."""
    counts = np.zeros(stop - start + 1, dtype=np.int64)
    _count(found, start, stop, named, counts)
    room = np.cumsum(counts)
    entries = np.empty(room[-1], dtype=np.int32)
    _fill(found, start, stop, named, naming, room[:-1].copy(), entries)
    lengths = np.zeros(stop - start + 1, dtype=np.int64)
    _deduplicate(room, entries, lengths[1:])
    indptr = np.cumsum(lengths)
    columns = np.empty(indptr[-1], dtype=np.int32)
    _compact(room, entries, indptr, columns)
    small = indptr[-1] <= np.iinfo(np.int32).max
    return indptr.astype(np.int32) if small else indptr, columns


@compiled
def _count(found: Any, start: int, stop: int, named: Any, counts: Any) -> None:
    """Count, shifted by one, the entries of every row before duplicates are removed."""
    for i in range(found.shape[0]):
        for c in range(found.shape[1]):
            j = found[i, c]
            if j >= 0:
                counts[i + 1] += 1
                if start <= j < stop:
                    counts[j - start + 1] += 1
    for e in range(named.size):
        counts[named[e] - start + 1] += 1


@compiled
def _fill(
    found: Any, start: int, stop: int, named: Any, naming: Any, place: Any, entries: Any
) -> None:
    """Write the entries of every row, both directions of own pairs."""
    for i in range(found.shape[0]):
        for c in range(found.shape[1]):
            j = found[i, c]
            if j >= 0:
                entries[place[i]] = j
                place[i] += 1
                if start <= j < stop:
                    entries[place[j - start]] = i + start
                    place[j - start] += 1
    for e in range(named.size):
        row = named[e] - start
        entries[place[row]] = naming[e]
        place[row] += 1


@compiled(parallel=True)
def _deduplicate(room: Any, entries: Any, lengths: Any) -> None:
    """Sort every row and move its distinct entries to its front."""
    for i in prange(lengths.size):
        row = entries[room[i] : room[i + 1]]
        row.sort()
        kept = 0
        for e in range(row.size):
            if kept == 0 or row[e] != row[kept - 1]:
                row[kept] = row[e]
                kept += 1
        lengths[i] = kept


@compiled(parallel=True)
def _compact(room: Any, entries: Any, indptr: Any, columns: Any) -> None:
    for i in prange(indptr.size - 1):
        for e in range(indptr[i + 1] - indptr[i]):
            columns[indptr[i] + e] = entries[room[i] + e]


def _distances(
    folder: Folder,
    layout: Layout,
    partition: int,
    halo: NDArray[np.int64],
    indptr: NDArray[Any],
    columns: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the exact distances of all entries, as the learner in one process computes them."""
    own = layout.points(folder, partition)
    points = own
    if halo.size:
        points = np.concatenate([own, layout.rows(folder, "points", halo).astype(np.float64)])
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return squared_distances(np.ascontiguousarray(points), rows, columns)
