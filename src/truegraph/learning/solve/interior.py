"""Stiff problems by an interior point method: weights and slacks as unknowns of their own.

The optimum is where, for every pair e = (i, j) and every node i::

    w_e s_e = 0,    w, s >= 0,    s_e = w_e + theta z_e - (lam_i + lam_j) / 2,    lam_i d_i = 1

Newton's method on the dual takes w for a function of lam, max(0, .), so its kinks shorten every
step where nodes far from all others must follow their neighbours' multipliers to many digits. Here
w and s are positive unknowns, w_e s_e = m is linearised, and m goes to zero: Mehrotra's predictor
and corrector take some tens of steps, however stiff the problem is. Both solve with one matrix, the
Hessian of the dual with w / (w + s) in place of the derivative of max(0, .).

Every loop runs over rows in parallel, as those of `truegraph.learning.solve.kernels` do; a pair is
stored in both directions, with the same bits.

The systems are solved by conjugate gradients with an incomplete Cholesky factor: Jacobi's
preconditioner needs hundreds of steps where a multiplier is thousands of times the usual one.
Eliminating nodes by falling lam and keeping the entries that matter needs a few.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import DualPoint, Problem, moved_multipliers
from truegraph.learning.solve.kernels import slack_of, stepwise
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


Floats = NDArray[np.float64]

_compiled = compiled(parallel=True)
_FIRST_PRODUCT = 0.1  # of w and s; weights are of the order of 1
_TO_THE_WALL = 0.995  # share of the longest step that keeps everything positive


class Interior:
    """A point inside: multipliers, weights and slacks, all positive.

    It begins where every node would be alone: a solution of a neighbouring problem is no better
    start, for its pairs are either zero or have no slack.
    """

    def __init__(self, problem: Problem, theta: float) -> None:
        self.problem, self.theta = problem, theta
        candidates = problem.candidates
        nodes = candidates.shape[0]
        self._multipliers = np.zeros((nodes, 2))
        kernels.isolated_start(candidates.indptr, candidates.data, theta, self._multipliers)
        self._weights, self._slacks, self._second = (np.zeros(candidates.nnz) for _ in range(3))
        self._degree, self._products = np.empty(nodes), np.empty(nodes)
        _centre(self._state(), _FIRST_PRODUCT, self._weights, self._slacks)
        self._measure()

    def sharp(self) -> DualPoint:
        """Return the point of the dual with these multipliers."""
        return DualPoint(self.problem, self.theta, self._multipliers)

    def step(self, accuracy: float) -> int:
        """Take one step, solving its systems to the accuracy; return the CG steps it took."""
        multipliers = self._multipliers[:, 0]
        factored, right = self._factored(), np.empty(multipliers.size)
        self._second[:] = 0.0
        self._fill_right_side(0.0, right)
        predictor, inner = factored.solve(right, accuracy)
        gap, gained = self._predict(predictor)
        # The closer the prediction came, the less the corrector goes back to the middle.
        target = (gap / self.gap) ** 3 * self.gap / self._weights.size
        self._fill_right_side(target, right)
        right -= multipliers * predictor * gained
        change, more = factored.solve(right, accuracy)
        length = min(1.0, _TO_THE_WALL * self._longest(target, change))
        _move(self._state(), target, *self._inside(), change, length)
        self._multipliers = moved_multipliers(self._multipliers, length * change)
        self._measure()
        return inner + more

    def _state(self) -> tuple[Any, ...]:
        return kernels.state_of(self.problem.candidates, self.theta, self._multipliers)

    def _inside(self) -> tuple[Floats, Floats, Floats]:
        return self._weights, self._slacks, self._second

    def _measure(self) -> None:
        indptr = self.problem.candidates.indptr
        _sums(indptr, self._weights, self._slacks, self._degree, self._products)
        self.gap = float(self._products.sum())  # both directions of a pair are stored
        self.imbalance = float(np.abs(self._multipliers[:, 0] * self._degree - 1.0).max())

    def _factored(self) -> Factored:
        """Return the matrix for relative changes of the multipliers, factored."""
        candidates, values = self.problem.candidates, self.problem.values
        diagonal = np.empty(candidates.shape[0])
        _fill_matrix(self._state(), self._weights, self._slacks, self._degree, values, diagonal)
        self.problem.owner = None  # the Hessian of a point of the dual was there
        order = np.argsort(-self._multipliers[:, 0], kind="stable")
        lengths = np.diff(candidates.indptr)
        rows = (candidates.indptr, lengths, candidates.indices, values)
        return Factored((*rows, diagonal), order)

    def _fill_right_side(self, target: float, right: Floats) -> None:
        _fill_right_side(self._state(), target, *self._inside(), self._degree, right)

    def _longest(self, target: float, change: Floats) -> float:
        """Return the longest step that keeps weights, slacks and multipliers positive."""
        found = np.empty(change.size)
        _fill_longest(self._state(), target, *self._inside(), change, found)
        return float(found.min())

    def _predict(self, predictor: Floats) -> tuple[float, Floats]:
        """Return the gap after the predictor's step, and how that changes the degrees.

        What the linear model leaves out, the product of the changes, is kept for the corrector.
        """
        length = min(1.0, self._longest(0.0, predictor))
        gained, products = np.empty(predictor.size), np.empty(predictor.size)
        _predict(self._state(), *self._inside(), predictor, length, gained, products)
        return float(products.sum()), gained


@_compiled
def _centre(state: Any, product: float, w: Any, s: Any) -> None:
    """Fill w and s (entries,) with the values that lam and w s = product have."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            half = 0.5 * slack_of(lam, i, indices[e], theta * distance[e])
            root = np.sqrt(half * half + product)
            # The larger root first, the other from their product: no cancellation.
            larger = abs(half) + root
            w[e] = larger if half >= 0.0 else product / larger
            s[e] = product / w[e]


@_compiled
def _sums(indptr: Any, w: Any, s: Any, degree: Any, products: Any) -> None:
    """Fill degree and products (N,) with the sums of w and of w s at each node."""
    for i in prange(degree.size):
        total = 0.0
        product = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += w[e]
            product += w[e] * s[e]
        degree[i] = total
        products[i] = product


@_compiled
def _fill_matrix(state: Any, w: Any, s: Any, degree: Any, values: Any, diagonal: Any) -> None:
    """Fill values (entries,) and diagonal (N,): diag(lam d) + 1/2 Lam S diag(w/(w+s)) S' Lam."""
    indptr, indices, _, _, lam = state
    for i in prange(lam.shape[0]):
        curvature = 0.0
        half = 0.5 * lam[i, 0]
        for e in range(indptr[i], indptr[i + 1]):
            share = w[e] / (w[e] + s[e])
            curvature += share
            values[e] = half * lam[indices[e], 0] * share
        diagonal[i] = lam[i, 0] * degree[i] + half * lam[i, 0] * curvature


@compiled(inline="always")
def _changes(
    slack: float, pull: float, target: float, w: float, s: float, second: float
) -> tuple[float, float]:
    """Return how w and s change when the slack of lam is to change by pull.

    Both follow from w s = target, linearised, and s = w - slack; `second` is what a prediction
    says that the linear model leaves out.
    """
    up = (target - second + w * (slack - w + pull)) / (w + s)
    # Each equation gives the change of s; the one that rounds on the scale of s is taken.
    if w > s:
        return up, (target - second - s * (w + up)) / w
    return up, up - pull - (s - w + slack)


@_compiled
def _fill_right_side(
    state: Any, target: float, w: Any, s: Any, second: Any, degree: Any, right: Any
) -> None:
    """Fill right (N,) with 1 - lam d for the degrees to which the pairs go if lam stays."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        total = degree[i]
        for e in range(indptr[i], indptr[i + 1]):
            slack = slack_of(lam, i, indices[e], theta * distance[e])
            total += _changes(slack, 0.0, target, w[e], s[e], second[e])[0]
        right[i] = 1.0 - lam[i, 0] * total


@_compiled
def _fill_longest(
    state: Any, target: float, w: Any, s: Any, second: Any, change: Any, longest: Any
) -> None:
    """Fill longest (N,) with the step at which lam of a node, or w or s of a pair, is zero."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        shrinking = max(1e-300, -change[i])
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            pull = 0.5 * (lam[i, 0] * change[i] + lam[j, 0] * change[j])
            up, down = _changes(slack, pull, target, w[e], s[e], second[e])
            shrinking = max(shrinking, -up / w[e], -down / s[e])
        longest[i] = 1.0 / shrinking


@_compiled
def _predict(
    state: Any,
    w: Any,
    s: Any,
    second: Any,
    change: Any,
    length: float,
    gained: Any,
    products: Any,
) -> None:
    """Fill second (entries,) with the products of the changes of w and s in a step to w s = 0.

    gained (N,) becomes the change of the degrees, products (N,) the sums of w s after `length` of
    that step.
    """
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        gain = 0.0
        product = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            pull = 0.5 * (lam[i, 0] * change[i] + lam[j, 0] * change[j])
            up, down = _changes(slack, pull, 0.0, w[e], s[e], 0.0)
            gain += up
            product += (w[e] + length * up) * (s[e] + length * down)
            second[e] = up * down
        gained[i] = gain
        products[i] = product


@_compiled
def _move(
    state: Any, target: float, w: Any, s: Any, second: Any, change: Any, length: float
) -> None:
    """Take w and s along by `length` of the step."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            pull = 0.5 * (lam[i, 0] * change[i] + lam[j, 0] * change[j])
            up, down = _changes(slack, pull, target, w[e], s[e], second[e])
            w[e] += length * up
            s[e] += length * down
