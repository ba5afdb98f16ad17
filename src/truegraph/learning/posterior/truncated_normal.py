"""The normal distribution cut off below zero, in its far tails too.

Everything is in units of the standard deviation s: w = s z, where z >= 0 has a density
proportional to exp(u z - z^2 / 2), the normal distribution with mean u = x / s cut off at zero.
With a = -u and the hazard h(a) = phi(a) / Phi(-a), the mean is h - a, the variance is
1 - h (h - a), and the integral of exp(u z - z^2 / 2) over z >= 0 is 1 / h. Far in the tail (large
a) these lose all digits to cancellation; Laplace's continued fraction, h = a + 1 / (a + 2 / (a + 3
/ ...)), does not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]

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
