"""The tasks of solving in partitions: what a worker does with one block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.inputs import require_candidates
from truegraph.learning.partitioned.folder import Folder, check_range, check_starts, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.searching import Layout
from truegraph.learning.search.points import squared_distances
from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import BlockPoint, Problem, block_candidates
from truegraph.learning.solve.newton import Newton

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
        shape = (stop - start, None)
        found = lists.indices(f"{partition}-lists", plan.n_nodes, shape, at_least=-1)
        named = _incoming(lists, layout, partition)
        indptr, columns = _union(found, start, named, plan.n_nodes)
        outside = (columns < start) | (columns >= stop)
        halo = np.unique(columns[outside]).astype(np.int64)
        beyond = stop - start + np.searchsorted(halo, columns)
        local = np.where(outside, beyond, columns - start).astype(np.int32)
        points = layout.points(folder, partition)
        if halo.size:
            far = layout.rows(folder, "points", halo).astype(np.float64)
            points = np.concatenate([points, far])
        rows = np.repeat(np.arange(stop - start, dtype=np.int32), np.diff(indptr))
        values = squared_distances(np.ascontiguousarray(points), rows, local)
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


def _incoming(lists: Folder, layout: Layout, partition: int) -> NDArray[np.int32]:
    """Return the pairs (n, 2) of this partition's nodes and those elsewhere that list them."""
    parts = [np.zeros((0, 2), np.int32)]
    for other in range(len(layout)):
        outgoing = lists.mapped(f"{other}-outgoing", "i", (None, 2))
        starts = lists.starts(f"{other}-starts", len(layout), len(outgoing))
        parts.append(np.asarray(outgoing[int(starts[partition]) : int(starts[partition + 1])]))
    pairs = np.concatenate(parts)
    first, last = int(layout.starts[partition]), int(layout.starts[partition + 1])
    check_range(lists.path, pairs[:, 0], first, last)
    check_range(lists.path, pairs[:, 1], 0, int(layout.starts[-1]))
    return pairs


def _union(
    found: NDArray[np.int32], start: int, named: NDArray[np.int32], n_nodes: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return indptr and columns (positions) that hold every listed pair of own nodes once."""
    own, place = np.nonzero(found >= 0)
    columns = found[own, place].astype(np.int64)
    back = (columns >= start) & (columns < start + len(found))
    rows = np.concatenate([own, columns[back] - start, named[:, 0] - start])
    ends = np.concatenate([columns, own[back] + start, named[:, 1]])
    rows, ends = np.divmod(np.unique(rows * n_nodes + ends), n_nodes)
    indptr = np.searchsorted(rows, np.arange(len(found) + 1))
    small = indptr[-1] <= np.iinfo(np.int32).max
    return indptr.astype(np.int32) if small else indptr, ends.astype(np.int32)


Floats = NDArray[np.float64]

_STEPS = 4  # of Newton's method in a block, before its neighbours move
_LOCAL_SHARE = 0.1  # of the wanted flatness, to which a block is solved
_STIFF = 0.9999  # contraction of a node by its pairs to other partitions
_HIGH_SHARE = 0.3  # of the wanted flatness: above it a node is one for the second level
_TOGETHER = "together"  # folder of the nodes of the second level and their rows


def isolated(plan: Plan, partition: int, k: int, theta: float) -> Floats:
    """Return the multipliers (own nodes, 2) of every node's own problem."""
    candidates, _ = load_block(plan, partition, k)
    pairs = np.zeros((candidates.shape[0], 2))
    kernels.isolated_start(candidates.indptr, candidates.data, theta, pairs)
    return pairs


def row_sample(plan: Plan, partition: int, k: int, rows: int) -> csr_array:
    """Return some rows of a partition (n, n) as if every neighbour were the node itself."""
    candidates, _ = load_block(plan, partition, k)
    # Evenly from all its cells: the first ones are of one corner, which may be denser than others.
    part = candidates[np.linspace(0, candidates.shape[0] - 1, rows).astype(np.int64)]
    own = np.repeat(np.arange(part.shape[0], dtype=np.int32), np.diff(part.indptr))
    return csr_array((part.data, own, part.indptr), shape=(part.shape[0], part.shape[0]))


def evaluate(plan: Plan, partition: int, k: int, theta: float, tol: float) -> tuple[Any, ...]:
    """Evaluate a partition at the multipliers of the snapshot, as `Total.of` adds it up.

    Returns its part of minus the dual and of the gap (infinite while a node has no weight), the
    ends of its edges, its nodes whose multiplier follows those of other partitions closely, and
    those with pairs to them, the sum of d log lam / d log theta were all neighbours to move alike,
    the largest |lam d - 1|, and the nodes (positions) where this is large, with it.
    """
    point, start = _point(plan, partition, k, theta)
    product = point.lam * point.degree
    ends = point.active + point.cut
    follow = point.cut / (point.cut + 2.0 / point.lam**2)
    stretch = point.lam * point.pull / np.maximum(product + ends * point.lam**2, 1e-300)
    residual = np.abs(product - 1.0)
    high = largest(residual, _HIGH_SHARE * np.sqrt(tol), plan.together_points)
    stiff, cut = int((follow > _STIFF).sum()), int((point.cut > 0).sum())
    sums = (point.shared_value, point.gap, int(ends.sum()), stiff, cut, float(np.sum(stretch)))
    return sums, float(residual.max()), start + high, residual[high]


def largest(residual: Floats, limit: float, most: int) -> NDArray[np.int64]:
    """Return the places, ascending, of the largest entries above a limit, so many at most."""
    above = np.flatnonzero(residual > limit)
    if above.size > most:
        above = above[np.argsort(-residual[above], kind="stable")[:most]]
    return np.sort(above)


def solve_block(plan: Plan, partition: int, k: int, theta: float, tol: float) -> tuple[Floats, int]:
    """Take some Newton steps; return the own multipliers (own nodes, 2) and the steps."""
    point, _ = _point(plan, partition, k, theta)
    return _descended(point, tol, _STEPS)


def _descended(point: BlockPoint, tol: float, steps: int) -> tuple[Floats, int]:
    flat = _LOCAL_SHARE * np.sqrt(tol)
    newton = Newton(steps, None)
    point = newton.run(point, lambda p: float(np.abs(p.gradient).max()) <= flat)
    return point.own_pairs, newton.iterations


def _point(plan: Plan, partition: int, k: int, theta: float) -> tuple[BlockPoint, int]:
    """Return the point of the snapshot, and the partition's first position."""
    folder = Folder(plan.folder)
    starts = Layout.load(folder).starts
    candidates, halo = load_block(plan, partition, k)
    own = np.arange(starts[partition], starts[partition + 1])
    pairs = multipliers(plan, "snapshot", np.concatenate([own, halo]))
    return BlockPoint(Problem(candidates), theta, pairs), int(starts[partition])


def multipliers(plan: Plan, name: str, positions: NDArray[np.int64]) -> Floats:
    """Return stored multipliers (n, 2) of nodes, after checking that they are positive."""
    folder = Folder(plan.folder)
    pairs: Floats = folder.mapped(name, "f", (plan.n_nodes, 2))[positions]
    if pairs.size and not (pairs[:, 0].min() > 0.0 and np.isfinite(pairs.sum())):
        raise damaged(folder.path / f"{name}.npy", "it has multipliers that are not positive")
    return pairs


def extract(plan: Plan, partition: int, k: int, positions: NDArray[np.int64]) -> tuple[Any, ...]:
    """Return rows of a block: their lengths, their columns as positions, and distances."""
    start = int(Layout.load(Folder(plan.folder)).starts[partition])
    candidates, halo = load_block(plan, partition, k)
    indptr = candidates.indptr
    rows = positions - start
    lengths = (indptr[rows + 1] - indptr[rows]).astype(np.int64)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    entries = np.repeat(indptr[rows].astype(np.int64), lengths) + within
    local = candidates.indices[entries]
    columns = positions_of(local, len(indptr) - 1, halo, start).astype(np.int32)
    return lengths, columns, candidates.data[entries]


def hand_over(plan: Plan, nodes: NDArray[np.int64], rows: tuple[Any, ...]) -> None:
    """Store some nodes of all partitions and their rows, to be solved together."""
    folder = Folder(plan.folder).below(_TOGETHER)
    for name, array in zip(
        ("nodes", "lengths", "columns", "distances"), (nodes, *rows), strict=True
    ):
        folder.write(name, array)


def solve_together(plan: Plan, theta: float, tol: float) -> tuple[Floats, int]:
    """Solve the nodes handed over, all others fixed; return multipliers and steps."""
    folder = Folder(plan.folder).below(_TOGETHER)
    nodes = folder.indices("nodes", plan.n_nodes)
    columns = folder.shared("columns", "i", (None,))
    check_range(folder.path, columns, 0, plan.n_nodes)
    lengths = folder.indices("lengths", len(columns) + 1, (len(nodes),))
    distances = folder.shared("distances", "f", (int(lengths.sum()),))
    candidates, halo = block_candidates(nodes, lengths, columns, distances)
    pairs = multipliers(plan, "snapshot", np.concatenate([nodes, halo]))
    return _descended(BlockPoint(Problem(candidates), theta, pairs), tol, 2 * _STEPS)
