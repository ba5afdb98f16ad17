"""Stiff problems by their stiff part: sweeps over the nodes, then the unsolved nodes together.

On a stiff problem Newton's method takes short steps for all nodes because of a few: nodes far from
all others, whose pairs appear and disappear with the fifth digit of their multipliers. A sweep
solves one node after another, all others fixed, and a dozen sweeps solve nearly all nodes. What
they leave is mostly a small part of the nodes, which Newton's method then solves with all others
fixed, for a fraction of the price of steps on the whole. Sweeps and part are repeated until the
whole problem is solved.

The part only grows: chosen anew in each round, it would push what is left over its border and
back. The certificate is that of the whole problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.solve.dual import BlockPoint, DualPoint, Problem, block_candidates
from truegraph.learning.solve.kernels import slack_of
from truegraph.learning.solve.newton import Newton
from truegraph.runtime.compiled import compiled
from truegraph.runtime.threads import thread_limit

SMALL = 2_000_000  # stored candidate entries

_FIRST_SWEEPS, _FIRST_ACCURACY = 12, 1e-2
_SWEEPS = 2  # of later rounds
_MOST_TRIES = 30  # to solve one node
_MOST_ROUNDS = 12
_MOST_FAILURES = 4  # rounds in which the part was not solved: it is stiff in itself
_ROUGH_ROUNDS = 2  # in which nodes count as solved at the accuracy of the first sweeps
_PART_STEPS = 150  # of Newton's method on the part, in each round
_PART_SHARE = 0.1  # of the wanted flatness, to which the part is solved
_LARGEST_PART = 0.7  # of the nodes
_NEAR = 1e-6  # relative gap at which Newton's method on the whole is worth a try
_NEAR_STEPS = 3
# The interior point method takes 1,700 to 2,800 passes over all pairs to solve a problem as stiff
# as this may be. A part that took a quarter of them and is still far off, it solves sooner.
_FAIR_PASSES, _FAR = 500.0, 1e-5

_compiled = compiled  # in sequence: a node sees what those before it became


def first_sweeps(point: DualPoint, newton: Newton) -> DualPoint:
    """Return the point after a dozen sweeps: most nodes are solved, edges can be counted."""
    return _swept(point, _FIRST_SWEEPS, _FIRST_ACCURACY, newton)


def solve_stiff(
    point: DualPoint, done: Callable[[DualPoint], bool], flatness: float, newton: Newton
) -> DualPoint:
    """Solve a stiff problem from a point that was swept."""
    failures = 0
    fair_visits = newton.visits + _FAIR_PASSES * point.problem.candidates.nnz
    inside = np.zeros(point.lam.size, dtype=np.bool_)
    for number in range(_MOST_ROUNDS):
        if number:
            point = _swept(point, _SWEEPS, _PART_SHARE * flatness, newton)
        if done(point) or newton.is_exhausted:
            break
        _add_unsolved(point, _FIRST_ACCURACY if number < _ROUGH_ROUNDS else flatness, inside)
        if np.count_nonzero(inside) > _LARGEST_PART * inside.size:
            break
        point = _part_solved(point, inside, _PART_SHARE * flatness, newton)
        newton.iterations += 1
        newton.report(point)
        failed = not bool((np.abs(point.gradient[inside]) <= _PART_SHARE * flatness).all())
        failures += failed
        if not done(point) and point.relative_gap <= _NEAR:
            point = newton.run(point, done, most_steps=_NEAR_STEPS)
        # Another sweep would move the nodes of the part one by one, away from their solution.
        if done(point) or failures >= _MOST_FAILURES:
            break
        if failed and newton.visits > fair_visits and point.relative_gap > _FAR:
            break
    return point


def _swept(point: DualPoint, sweeps: int, accuracy: float, newton: Newton) -> DualPoint:
    """Return the point after some sweeps, forwards and backwards in turn.

    Nodes come by rising multipliers, from the inside out: how they are numbered does not count.
    """
    problem, pairs = point.problem, point.pairs.copy()
    c = problem.candidates
    order = np.argsort(point.lam, kind="stable")
    for number in range(sweeps):
        turn = order if number % 2 == 0 else order[::-1].copy()
        newton.visits += _sweep(c.indptr, c.indices, c.data, point.theta, pairs, accuracy, turn)
    return DualPoint(problem, point.theta, pairs)


def _add_unsolved(point: DualPoint, limit: float, inside: NDArray[np.bool_]) -> None:
    """Add the nodes with |lam d - 1| above the limit to the part, and those they have edges to.

    Where none is above the limit, the largest ones are added.
    """
    error = np.abs(point.gradient)
    unsolved = np.flatnonzero(error > min(limit, 0.5 * float(error.max())))
    entries, _ = _entries_of(point, unsolved)
    c = point.problem.candidates
    inside[unsolved] = True
    ends = c.indices[entries]
    rows = np.repeat(unsolved, np.diff(c.indptr)[unsolved])
    slack = 0.5 * (point.lam[rows] + point.lam[ends]) - point.theta * c.data[entries]
    inside[ends[slack > 0.0]] = True


def _entries_of(point: DualPoint, nodes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the places of the stored pairs of some nodes, row by row, and their number."""
    indptr = point.problem.candidates.indptr.astype(np.int64)
    lengths = indptr[nodes + 1] - indptr[nodes]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(indptr[nodes], lengths) + within, lengths


def _part_solved(
    point: DualPoint, inside: NDArray[np.bool_], flatness: float, newton: Newton
) -> DualPoint:
    """Return the point after the nodes inside were solved with all others fixed."""
    nodes = np.flatnonzero(inside)
    entries, lengths = _entries_of(point, nodes)
    c = point.problem.candidates
    candidates, halo = block_candidates(nodes, lengths, c.indices[entries], c.data[entries])
    pairs = np.concatenate([point.pairs[nodes], point.pairs[halo]])
    own = newton.part(_PART_STEPS)

    def is_flat(block: BlockPoint) -> bool:
        return float(np.abs(block.gradient).max()) <= flatness

    with thread_limit(1 if candidates.nnz < SMALL else None):
        first = BlockPoint(Problem(candidates), point.theta, pairs)
        solved = own.run(first, is_flat, may_stall=False)
    newton.add(own)
    everyone = point.pairs.copy()
    everyone[nodes] = solved.own_pairs
    return DualPoint(point.problem, point.theta, everyone)


@_compiled
def _sweep(
    indptr: Any,
    indices: Any,
    distance: Any,
    theta: float,
    lam: Any,
    accuracy: float,
    order: Any,
) -> int:
    """Set lam (N, 2) of one node after another to the solution of lam d = 1, in place.

    Nodes that meet it within the accuracy stay. Returns how many entries were visited.
    """
    visited = 0
    for i in order:
        wanted = accuracy
        for _ in range(_MOST_TRIES):
            degree = 0.0
            count = 0
            lacking = np.inf  # what the node's best pair lacks to carry weight
            for e in range(indptr[i], indptr[i + 1]):
                slack = slack_of(lam, i, indices[e], theta * distance[e])
                degree += max(0.0, slack)
                count += slack > 0.0
                lacking = min(lacking, -slack)
            visited += indptr[i + 1] - indptr[i]
            error = lam[i, 0] * degree - 1.0
            if abs(error) <= wanted:
                break
            wanted = 0.1 * accuracy  # a node that moves is solved better
            if count == 0:  # to where the best pair alone is enough
                rise = 2.0 * lacking
                _raise(lam, i, rise + 2.0 / max(1.0, lam[i, 0] + rise))
            else:
                # lam d is convex and increasing in lam: this is monotone from the right.
                change = -error / (degree + 0.5 * lam[i, 0] * count)
                _raise(lam, i, max(change, -0.5 * lam[i, 0]))
    return visited


@compiled(inline="always")
def _raise(lam: Any, i: int, change: float) -> None:
    """Add to a multiplier, which is a pair of floats, without rounding."""
    before = lam[i, 0]
    total = before + change
    part = total - before
    lost = (before - (total - part)) + (change - part) + lam[i, 1]
    lam[i, 0] = total + lost
    lam[i, 1] = lost - (lam[i, 0] - total)
