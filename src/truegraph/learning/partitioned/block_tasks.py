"""The tasks of solving in partitions: what a worker does with one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.partitioned.blocks import load_block, positions_of
from truegraph.learning.partitioned.folder import Folder, check_range, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.searching import Layout
from truegraph.learning.solve import kernels
from truegraph.learning.solve.block_point import BlockPoint, block_candidates
from truegraph.learning.solve.dual import Problem
from truegraph.learning.solve.newton import Newton

Floats = NDArray[np.float64]

_STEPS = 4  # of Newton's method in a block, before its neighbours move
_LOCAL_SHARE = 0.1  # of the wanted flatness, to which a block is solved
_STIFF = 0.9999  # contraction of a node by its pairs to other partitions
_HIGH_SHARE = 0.3  # of the wanted flatness: above it a node is one for the second level
_TOGETHER = "together"  # folder of the nodes of the second level and their rows


@dataclass(frozen=True)
class Evaluation:
    """What one partition tells about the present multipliers; sums add up over partitions."""

    value: float  # its part of minus the dual
    gap: float
    edges: int  # ends of edges at its nodes
    steepest: float  # the largest of |lam d - 1|
    stiff: int  # nodes whose multiplier follows those of other partitions closely
    cut: int  # nodes with pairs to other partitions
    stretch: float  # sum of d log lam / d log theta, were all neighbours to move alike
    high: NDArray[np.int64]  # nodes (positions) with the largest |lam d - 1|
    residuals: Floats  # and these


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


def evaluate(plan: Plan, partition: int, k: int, theta: float, tol: float) -> Evaluation:
    """Evaluate a partition at the multipliers of the snapshot."""
    point, start = _point(plan, partition, k, theta)
    product = point.lam * point.degree
    ends = point.active + point.cut
    crossing = point.cut > 0
    follow = point.cut / (point.cut + 2.0 / point.lam**2)
    stretch = point.lam * point.pull / np.maximum(product + ends * point.lam**2, 1e-300)
    residual = np.abs(product - 1.0)
    high = largest(residual, _HIGH_SHARE * np.sqrt(tol), plan.together_points)
    return Evaluation(
        value=point.shared_value,
        gap=point.gap,
        edges=int(ends.sum()),
        steepest=float(residual.max()),
        stiff=int((follow > _STIFF).sum()),
        cut=int(crossing.sum()),
        stretch=float(np.sum(stretch)),
        high=start + high,
        residuals=residual[high],
    )


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
