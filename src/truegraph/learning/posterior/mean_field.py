"""The mean-field posterior: every pair's weight a normal distribution cut off at zero.

With concentration kappa the graph's posterior on the candidate pairs is::

    p(w)  ~  exp(-kappa [2 theta z'w + |w|^2 - sum_i log d_i]),      w >= 0

in the one-parameter form of `truegraph.learning.solve.solver`. Among independent weights, and with
E[log d_i] taken as log E[d_i], the best approximation is::

    w_e ~ N(x_e, 1 / (2 kappa)) cut off at zero
    x_e = (l_i + l_j) / 2 - theta z_e,      l_i = 1 / E[d_i]

which is the dual of the most probable graph with max(0, x) replaced by the mean of that
distribution. The multipliers l minimise the convex sum_e log Z(x_e) / kappa - sum_i log l_i, where
Z(x) is the integral of exp(kappa (2 x w - w^2)) over w >= 0. The same Newton method finds them, and
for kappa to infinity they are those of the most probable graph.

The cut distribution is computed in units of its standard deviation s: w = s z, where z >= 0 has a
density proportional to exp(u z - z^2 / 2), u = x / s. With a = -u and the hazard
h(a) = phi(a) / Phi(-a), the mean is h - a, the variance 1 - h (h - a), and the integral 1 / h. Far
in the tail (large a) these lose all digits to cancellation; Laplace's continued fraction,
h = a + 1 / (a + 2 / (a + 3 / ...)), does not.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

from truegraph.errors import ConvergenceWarning
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.kernels import slack_of
from truegraph.learning.solve.newton import Newton
from truegraph.learning.solve.solver import is_flat
from truegraph.learning.solve.stiff_part import SMALL
from truegraph.runtime.compiled import compiled
from truegraph.runtime.threads import thread_limit

_TAIL = 5.0  # from here on the continued fraction is the more accurate
_FAR_TAIL = 12.0  # and from here on half of it is enough
_SQRT_HALF = math.sqrt(0.5)
_SQRT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
_SQRT_TWO_PI = math.sqrt(2.0 * math.pi)


@compiled(inline="always")
def moments(u: float) -> tuple[float, float, float]:
    """Return mean, variance and the logarithm of the integral of exp(u z - z^2 / 2), z >= 0."""
    a = -u
    if a < _TAIL:
        tail = math.erfc(a * _SQRT_HALF)
        hazard = _SQRT_TWO_OVER_PI * math.exp(-0.5 * a * a) / tail
        mean = hazard - a
        log_integral = 0.5 * a * a + math.log(0.5 * _SQRT_TWO_PI * tail)
        return mean, max(0.0, 1.0 - hazard * mean), log_integral
    # The fraction's numerators and denominators: one division in place of one per term.
    terms = 16 if a < _FAR_TAIL else 8
    above, above_next, below, below_next = 0.0, 2.0, 1.0, a
    for n in range(3, terms):
        above, above_next = above_next, a * above_next + n * above
        below, below_next = below_next, a * below_next + n * below
    remainder = 0.5 * (math.sqrt(a * a + 4.0 * terms) - a)  # where the fraction settles
    rest = (above_next + remainder * above) / (below_next + remainder * below)
    mean = 1.0 / (a + rest)
    return mean, (rest - mean) * mean, -math.log(a + mean)


def mean_and_variance(u: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance for every u (n,)."""
    mean, variance = np.empty_like(u), np.empty_like(u)
    _fill_moments(u, mean, variance)
    return mean, variance


@compiled
def _fill_moments(u: Any, mean: Any, variance: Any) -> None:
    for k in range(u.size):
        mean[k], variance[k], _ = moments(u[k])


def survival(z: Floats, u: Floats) -> Floats:
    """Return P(Z > z) for z >= 0; shapes broadcast."""
    a = -u
    with np.errstate(over="ignore", invalid="ignore"):  # of the branch that is not taken
        scaled = np.exp(-a * z - 0.5 * z * z) * erfcx((a + z) * _SQRT_HALF) / erfcx(a * _SQRT_HALF)
        return np.where(a > 0.0, scaled, ndtr(-(a + z)) / ndtr(-a))


def quantile(share: float, u: Floats) -> Floats:
    """Return the z below which `share` (in [0, 1)) of the probability lies."""
    log_above = math.log1p(-share)
    bulk = -ndtri_exp(log_above + log_ndtr(np.maximum(u, -_TAIL))) + np.maximum(u, -_TAIL)
    a = np.maximum(-u, _TAIL)
    # The tail falls like exp(-a z - z^2 / 2), a little faster at first: Newton on its logarithm.
    z = -2.0 * log_above / (a + np.sqrt(a * a - 2.0 * log_above))
    for _ in range(4):
        ratio = erfcx((a + z) * _SQRT_HALF)
        error = -a * z - 0.5 * z * z + np.log(ratio / erfcx(a * _SQRT_HALF)) - log_above
        z = np.maximum(0.0, z + error * ratio / _SQRT_TWO_OVER_PI)
    return np.where(u > -_TAIL, np.maximum(bulk, 0.0), z)


Floats = NDArray[np.float64]

_ACCURACY = 1e-6  # of l_i E[d_i] = 1
_TOLERABLE = 1e-3
_MAX_STEPS = 400
_MAX_SOLVES = 30
_EXCESS_ACCURACY = 1e-3
_NEGLIGIBLE = 1e-12  # slopes below are left out of Newton's equations


@compiled(parallel=True)
def _evaluate(
    state: Any,
    concentration: float,
    degree: Any,
    potential: Any,
    diagonal: Any,
    active: Any,
    columns: Any,
    values: Any,
) -> None:
    """Do what `kernels.evaluate` does, for the mean-field dual."""
    indptr, indices, distance, theta, lam = state
    spread = math.sqrt(0.5 / concentration)
    for i in prange(lam.shape[0]):
        total = 0.0
        energy = 0.0
        curvature = 0.0
        at = indptr[i]
        half = 0.5 * lam[i, 0]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            mean, variance, log_integral = moments(
                slack_of(lam, i, j, theta * distance[e]) / spread
            )
            total += spread * mean
            energy += log_integral
            curvature += variance
            columns[at] = j
            values[at] = half * lam[j, 0] * variance
            at += variance > _NEGLIGIBLE
        degree[i] = total
        potential[i] = 0.5 * energy / concentration
        diagonal[i] = max(lam[i, 0] * total, 1.0) + half * lam[i, 0] * curvature
        active[i] = at - indptr[i]


@compiled(parallel=True)
def _locations(state: Any, out: Any) -> None:
    """Fill out (entries,) with x."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = slack_of(lam, i, indices[e], theta * distance[e])


class MeanFieldPoint(DualPoint):
    """Minus the mean-field dual at one point."""

    def __init__(self, problem: Problem, theta: float, concentration: float, pairs: Floats) -> None:
        self.concentration = concentration
        super().__init__(problem, theta, pairs)

    def _at(self, pairs: Floats) -> Self:
        return type(self)(self.problem, self.theta, self.concentration, pairs)

    def _fill(self, *out: NDArray[Any]) -> None:
        _evaluate(self._state, self.concentration, *out)

    def locations(self) -> Floats:
        """Return x (stored candidate entries,)."""
        out = np.empty(self.problem.candidates.nnz)
        _locations(self._state, out)
        return out


class MeanField:
    """Mean-field solutions on one set of candidate pairs, each begun from the one before."""

    def __init__(self, candidates: csr_array, theta: float, multipliers: Floats) -> None:
        self._problem, self._theta = Problem(candidates), theta
        self._pairs = np.column_stack([multipliers, np.zeros(multipliers.size)])

    def solve(self, concentration: float) -> MeanFieldPoint:
        """Return the solution for a concentration kappa."""
        with thread_limit(1 if self._problem.candidates.nnz < SMALL else None):
            first = MeanFieldPoint(self._problem, self._theta, concentration, self._pairs)
            point = Newton(_MAX_STEPS, None).run(first, _is_solved, may_stall=False)
        error = float(np.abs(point.gradient).max())
        if error > _TOLERABLE:
            warnings.warn(
                f"the mean field for concentration={concentration:g} stopped at a relative error "
                f"of {error:.1e} in a degree, above {_TOLERABLE:g}; use method='gibbs', or a "
                "smaller concentration",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._pairs = point.pairs
        return point

    def concentration_of(self, excess: float, least: float, first: float) -> float:
        """Return the kappa at which the mean degrees add up to (1 + excess) times `least`."""
        at, slope, before = math.log(first), -1.0, (math.nan, math.nan)
        for _ in range(_MAX_SOLVES):
            reached = float(self.solve(math.exp(at)).degree.sum()) / least - 1.0
            error = math.log(max(reached, 1e-12) / excess)
            if abs(error) <= _EXCESS_ACCURACY:
                break
            if at != before[0] and math.isfinite(before[0]):
                # The excess falls about like 1 / kappa; never believe in anything much different.
                slope = min(max((error - before[1]) / (at - before[0]), -3.0), -0.3)
            before = (at, error)
            at -= error / slope
        return math.exp(at)


def _is_solved(point: DualPoint) -> bool:
    return is_flat(point, _ACCURACY)
