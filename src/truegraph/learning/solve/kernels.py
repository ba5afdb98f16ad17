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

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

_BLOCK = 2048
_compiled = njit(parallel=True, cache=True, nogil=True)


def state_of(candidates: csr_array, theta: float, lam: NDArray[np.float64]) -> tuple[Any, ...]:
    """Return what the loops take: the candidate graph, theta and the multipliers (N, 2)."""
    return candidates.indptr, candidates.indices, candidates.data, theta, lam


@njit(cache=True, nogil=True, inline="always")
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


@_compiled
def conjugate_gradients(
    matrix: Any, right: Any, tolerance: float, max_iter: int, solution: Any
) -> int:
    """Solve (diagonal + off-diagonal) solution = right, Jacobi-preconditioned; return the steps."""
    row_start, active, columns, values, diagonal = matrix
    n = right.size
    blocks = (n + _BLOCK - 1) // _BLOCK
    residual = right.copy()
    direction = right / diagonal
    product = np.empty(n)
    first = np.zeros(blocks)
    second = np.zeros(blocks)
    for b in prange(blocks):
        total = 0.0
        for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
            solution[i] = 0.0
            total += residual[i] * direction[i]
        first[b] = total
    rho = first.sum()
    target = tolerance * tolerance * rho
    steps = 0
    while steps < max_iter and rho > target and rho > 0.0:
        for b in prange(blocks):
            total = 0.0
            for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
                value = diagonal[i] * direction[i]
                for e in range(row_start[i], row_start[i] + active[i]):
                    value += values[e] * direction[columns[e]]
                product[i] = value
                total += direction[i] * value
            first[b] = total
        step = rho / first.sum()
        for b in prange(blocks):
            total = 0.0
            for i in range(b * _BLOCK, min(n, (b + 1) * _BLOCK)):
                solution[i] += step * direction[i]
                residual[i] -= step * product[i]
                total += residual[i] * residual[i] / diagonal[i]
            second[b] = total
        rho_next = second.sum()
        ratio = rho_next / rho
        rho = rho_next
        for i in prange(n):
            direction[i] = residual[i] / diagonal[i] + ratio * direction[i]
        steps += 1
    return steps


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


@_compiled
def weights(state: Any, out: Any) -> None:
    """Fill out (entries,) with w = max(0, (lam_i + lam_j) / 2 - theta z)."""
    indptr, indices, distance, theta, lam = state
    for i in prange(indptr.size - 1):
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
