"""Conjugate gradients for stiff systems, preconditioned by an incomplete Cholesky factor.

A node far from all others has a multiplier lam_i thousands of times the usual one, and must follow
its neighbours' to many digits. Jacobi's preconditioner then needs hundreds of steps. Eliminating
the nodes by falling lam, and keeping only the entries of the matrix that matter, needs a few: it
solves the stiff outer part of the graph nearly exactly. It is sequential, so it is kept for the
problems that need it.

A matrix is given as `kernels.evaluate` fills it: off-diagonal rows (both directions) and diagonal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.solve.kernels import stepwise
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import interruptible

_DROP = 1e-6  # entries with a_ij^2 below this share of a_ii a_jj are left out of the factor


@compiled
def _lower_pattern(matrix: Any, order: Any, rank: Any) -> Any:
    """Return the kept entries below the diagonal, in elimination order, as sorted CSR."""
    row_start, active, columns, values, diagonal = matrix
    nodes = diagonal.size
    start = np.zeros(nodes + 1, dtype=np.int64)
    for r in range(nodes):
        i = order[r]
        kept = 0
        for e in range(row_start[i], row_start[i] + active[i]):
            j = columns[e]
            large = values[e] * values[e] > _DROP * diagonal[i] * diagonal[j]
            kept += large and rank[j] < r
        start[r + 1] = start[r] + kept
    lower = np.empty(start[-1], dtype=np.int32)
    entries = np.empty(start[-1])
    for r in range(nodes):
        i = order[r]
        at = start[r]
        for e in range(row_start[i], row_start[i] + active[i]):
            j = columns[e]
            if rank[j] < r and values[e] * values[e] > _DROP * diagonal[i] * diagonal[j]:
                lower[at] = rank[j]
                entries[at] = values[e]
                at += 1
        _sort_by_column(lower, entries, start[r], at)
    return start, lower, entries


@compiled
def _sort_by_column(lower: Any, entries: Any, begin: int, end: int) -> None:
    """Sort a row's entries by their column; rows are short."""
    for e in range(begin + 1, end):
        column, entry = lower[e], entries[e]
        f = e
        while f > begin and lower[f - 1] > column:
            lower[f], entries[f] = lower[f - 1], entries[f - 1]
            f -= 1
        lower[f], entries[f] = column, entry


@compiled
def _factorise(start: Any, lower: Any, entries: Any, diagonal: Any, order: Any) -> Any:
    """Turn entries into the factor's, in place; return the factor's diagonal."""
    nodes = order.size
    pivots = np.empty(nodes)
    row = np.zeros(nodes)
    for r in range(nodes):
        for e in range(start[r], start[r + 1]):
            row[lower[e]] = entries[e]
        pivot = diagonal[order[r]]
        for e in range(start[r], start[r + 1]):
            k = lower[e]
            value = row[k]
            for f in range(start[k], start[k + 1]):
                value -= entries[f] * row[lower[f]]
            value /= pivots[k]
            row[k] = value
            entries[e] = value
            pivot -= value * value
        pivots[r] = math.sqrt(max(pivot, 1e-3 * diagonal[order[r]]))
        for e in range(start[r], start[r + 1]):
            row[lower[e]] = 0.0
    return pivots


@compiled
def _apply(factor: Any, right: Any, out: Any, work: Any) -> None:
    """Solve L L' out = right, out and right in node order, work in elimination order."""
    order, start, lower, entries, pivots = factor
    nodes = order.size
    for r in range(nodes):
        value = right[order[r]]
        for e in range(start[r], start[r + 1]):
            value -= entries[e] * work[lower[e]]
        work[r] = value / pivots[r]
    for r in range(nodes - 1, -1, -1):
        work[r] /= pivots[r]
        for e in range(start[r], start[r + 1]):
            work[lower[e]] -= entries[e] * work[r]
        out[order[r]] = work[r]


@compiled
def _dot(first: Any, second: Any) -> float:
    """Return the sum of products, in the order of the nodes."""
    total = 0.0
    for i in range(first.size):
        total += first[i] * second[i]
    return total


@compiled
def _begin(matrix: Any, right: Any, factor: Any, state: Any) -> float:
    """Fill the state for a solution of zero; return the residual's size."""
    solution, residual, direction, conditioned, _, work = state
    nodes = right.size
    for i in range(nodes):
        residual[i], solution[i] = right[i], 0.0
    _apply(factor, residual, conditioned, work)
    for i in range(nodes):
        direction[i] = conditioned[i]
    return _dot(residual, conditioned)


@compiled
def _advance(
    matrix: Any, factor: Any, rho: float, target: float, most: int, state: Any
) -> tuple[float, int]:
    """Take up to so many steps; return the residual's size and the steps."""
    row_start, active, columns, values, diagonal = matrix
    solution, residual, direction, conditioned, product, work = state
    nodes = solution.size
    steps = 0
    while steps < most and rho > target and rho > 0.0:
        for i in range(nodes):
            value = diagonal[i] * direction[i]
            for e in range(row_start[i], row_start[i] + active[i]):
                value += values[e] * direction[columns[e]]
            product[i] = value
        step = rho / _dot(direction, product)
        for i in range(nodes):
            solution[i] += step * direction[i]
            residual[i] -= step * product[i]
        _apply(factor, residual, conditioned, work)
        rho_next = _dot(residual, conditioned)
        for i in range(nodes):
            direction[i] = direction[i] * (rho_next / rho) + conditioned[i]
        rho = rho_next
        steps += 1
    return rho, steps


class Factored:
    """A matrix with its incomplete factor, for several right sides."""

    def __init__(self, matrix: tuple[Any, ...], order: Any) -> None:
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        self._matrix = matrix
        start, lower, entries = _lower_pattern(matrix, order, rank)
        pivots = interruptible(_factorise, start, lower, entries, matrix[-1], order)
        self._factor = (order, start, lower, entries, pivots)

    def solve(
        self, right: NDArray[np.float64], tolerance: float
    ) -> tuple[NDArray[np.float64], int]:
        """Return the solution (n_nodes,) and the conjugate gradient steps it took."""
        state = tuple(np.empty(right.size) for _ in range(6))
        rho = _begin(self._matrix, right, self._factor, state)
        target, limit = tolerance * tolerance * rho, 10 * right.size + 100

        def advance(rho: float, most: int) -> tuple[float, int]:
            found: tuple[float, int] = _advance(
                self._matrix, self._factor, rho, target, most, state
            )
            return found

        visits = self._matrix[3].size + 2 * self._factor[2].size
        return state[0], stepwise(advance, rho, target, limit, visits)
