"""The loops of the solvers, compiled by numba.

Every loop runs over rows in parallel and sums each row in a fixed order, and sums over rows are
taken over blocks of fixed size, so the bits do not depend on the number of threads.

A candidate graph is the CSR structure ``(indptr, indices, distance)`` with both directions of
every pair stored; ``theta`` multiplies the distances on the fly. Loops take it with the multipliers
as ``state = (indptr, indices, distance, theta, lam)``, see `state_of`, and a matrix as
``(row_start, active, columns, values, diagonal)``. What a parallel loop fills is an argument of its
own: numba takes writing to an array that was unpacked from a tuple for dead code there.

The node multipliers lam are pairs of floats (N, 2) whose exact sum is meant. A node far away has
lam about 1 / w, so the slack (lam_i + lam_j) / 2 - theta z of its edges is lost to rounding when
lam is a single float and theta z exceeds about 1e7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]

_BLOCK = 2048
_UNHEARD = 50_000_000  # visits of entries, a fraction of a second, until Ctrl-C is heard
_compiled = compiled(parallel=True)


def state_of(candidates: csr_array, theta: float, lam: Floats) -> tuple[Any, ...]:
    """Return what the loops take: the candidate graph, theta and the multipliers (N, 2)."""
    return candidates.indptr, candidates.indices, candidates.data, theta, lam


@compiled(inline="always")
def slack_of(lam: Any, i: int, j: int, scaled_distance: float) -> float:
    """(lam_i + lam_j) / 2 - theta z, exact up to one rounding of the result."""
    a, b = lam[i, 0], lam[j, 0]
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    return (0.5 * total - scaled_distance) + 0.5 * (lost + (lam[i, 1] + lam[j, 1]))


@_compiled
def evaluate(
    state: Any, degree: Any, potential: Any, diagonal: Any, active: Any, columns: Any, values: Any
) -> None:
    """Evaluate the dual and its model Hessian for the node multipliers lam (N, 2), in one pass.

    Fills degree (N,) and potential (N,), half the sum of w^2 over a node's pairs, so that the sum
    over the nodes counts each pair once. The Hessian for relative changes of lam is
    diag(max(lam d, 1)) + 1/2 Lam S diag(w > 0) S' Lam: diagonal (N,) is its diagonal; row i of the
    rest is columns and values (entries,) from indptr[i] to indptr[i] + active[i].
    """
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        total = 0.0
        energy = 0.0
        at = indptr[i]
        half = 0.5 * lam[i, 0]
        # No branch on the sign of the slack: it is as good as random, and a wrong guess of the
        # processor costs more than the arithmetic. Places written too early are overwritten.
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            w = max(0.0, slack)
            total += w
            energy += w * w
            columns[at] = j
            values[at] = half * lam[j, 0]
            at += slack > 0.0
        degree[i] = total
        potential[i] = 0.5 * energy
        active[i] = at - indptr[i]
        diagonal[i] = max(lam[i, 0] * total, 1.0) + half * lam[i, 0] * active[i]


def conjugate_gradients(
    matrix: tuple[Any, ...], right: Floats, tolerance: float, solution: Floats
) -> int:
    """Solve (diagonal + off-diagonal) solution = right, Jacobi-preconditioned; return the steps."""
    nodes = right.size
    residual, direction, product = (np.empty(nodes) for _ in range(3))
    parts = np.zeros((2, (nodes + _BLOCK - 1) // _BLOCK))
    state = (matrix, solution, residual, direction, product, parts)
    rho = _begin(matrix, right, solution, residual, direction, parts)
    target, limit = tolerance * tolerance * rho, 10 * nodes + 100

    def advance(rho: float, most: int) -> tuple[float, int]:
        found: tuple[float, int] = _advance(*state, rho, target, most)
        return found

    return stepwise(advance, rho, target, limit, matrix[3].size)


def stepwise(
    advance: Callable[[float, int], tuple[float, int]],
    rho: float,
    target: float,
    limit: int,
    visits: int,
) -> int:
    """Advance conjugate gradients until rho meets the target, heeding Ctrl-C; return the steps."""
    steps, most = 0, max(1, _UNHEARD // (visits + 1))
    while steps < limit and rho > target and rho > 0.0:
        rho, taken = advance(rho, min(most, limit - steps))
        steps += taken
    return steps


@compiled
def _total(parts: Any) -> float:
    """Return the sum in order: inside a parallel loop numba would split it among the threads."""
    total = 0.0
    for b in range(parts.size):
        total += parts[b]
    return total


@compiled
def _begin(
    matrix: Any, right: Any, solution: Any, residual: Any, direction: Any, parts: Any
) -> float:
    diagonal = matrix[4]
    n = right.size
    for b in range(parts.shape[1]):
        total = 0.0
        for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
            solution[i] = 0.0
            residual[i] = right[i]
            direction[i] = right[i] / diagonal[i]
            total += residual[i] * direction[i]
        parts[0, b] = total
    return _total(parts[0])


@_compiled
def _advance(
    matrix: Any,
    solution: Any,
    residual: Any,
    direction: Any,
    product: Any,
    parts: Any,
    rho: float,
    target: float,
    most: int,
) -> tuple[float, int]:
    row_start, active, columns, values, diagonal = matrix
    n = solution.size
    steps = 0
    while steps < most and rho > target and rho > 0.0:
        for b in prange(parts.shape[1]):
            total = 0.0
            for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
                value = diagonal[i] * direction[i]
                for e in range(row_start[i], row_start[i] + active[i]):
                    value += values[e] * direction[columns[e]]
                product[i] = value
                total += direction[i] * value
            parts[0, b] = total
        step = rho / _total(parts[0])
        for b in prange(parts.shape[1]):
            total = 0.0
            for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
                solution[i] += step * direction[i]
                residual[i] -= step * product[i]
                total += residual[i] * residual[i] / diagonal[i]
            parts[1, b] = total
        rho_next = _total(parts[1])
        ratio = rho_next / rho
        rho = rho_next
        for i in prange(n):
            direction[i] = residual[i] / diagonal[i] + ratio * direction[i]
        steps += 1
    return rho, steps


@_compiled
def isolated_start(indptr: Any, distance: Any, theta: float, lam: Any) -> None:
    """Fill lam (N, 2) with the solution of each node's own problem.

    As if all neighbours had the node's own multiplier: lam sum_e max(0, lam - theta z_e) = 1. We
    look for y = lam - theta z_nearest. The left side is convex and increasing in y, so Newton
    from the right is monotone.
    """
    for i in prange(lam.shape[0]):
        nearest = np.inf
        for e in range(indptr[i], indptr[i + 1]):
            nearest = min(nearest, theta * distance[e])
        y = 1.0 / max(1.0, nearest)  # the nearest pair alone already gives lam d >= 1
        for _ in range(60):
            total = 0.0
            count = 0
            for e in range(indptr[i], indptr[i + 1]):
                gap = y - (theta * distance[e] - nearest)
                if gap > 0.0:
                    total += gap
                    count += 1
            x = nearest + y
            step = (x * total - 1.0) / (total + x * count)
            y -= step
            if step <= 1e-3 * y:
                break
        lam[i, 0] = nearest + y
        lam[i, 1] = y - (lam[i, 0] - nearest)


@compiled
def weights(state: Any, out: Any) -> None:
    """Fill out (entries,) with w = max(0, (lam_i + lam_j) / 2 - theta z)."""
    indptr, indices, distance, theta, lam = state
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = max(0.0, slack_of(lam, i, indices[e], theta * distance[e]))


@_compiled
def active_distances(state: Any, out: Any) -> None:
    """Fill out (N,) with the sum of theta z over each node's pairs that carry weight."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            if slack_of(lam, i, indices[e], theta * distance[e]) > 0.0:
                total += theta * distance[e]
        out[i] = total
