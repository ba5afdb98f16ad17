"""One pair's weight after another, drawn from its exact distribution given all others.

Let a and b be the weights that the two nodes of a pair have from all their other pairs. Given
those, the weight has the density::

    p(w)  ~  exp(kappa f(w)),   f(w) = log(a + w) + log(b + w) - 2 t w - w^2,   w >= 0

with t = theta z. It is log-concave. Tangents to the two logarithms at any point w0 bound it by a
normal distribution with variance 1 / (2 kappa) cut off at zero, from which rejection draws; near
the mode a share of about sqrt(2 / (2 + c)) is accepted, c = 1 / (a + w0)^2 + 1 / (b + w0)^2. Where
c is large, at nodes of small degree, three exponential pieces bound it better. Both ways accept a
share that is bounded from below for all a, b, t and kappa.
"""

from __future__ import annotations

import math
from typing import Any

from truegraph.runtime.compiled import compiled

_MOST_PROPOSALS = 10_000  # never reached; a loop that cannot be interrupted must not be endless
_GAUSSIAN_CURVATURE = 6.0  # c above which the exponential pieces accept more
_compiled = compiled(error_model="numpy")


@_compiled
def sweep(pairs: Any, w: Any, degree: Any, rng: Any) -> int:
    """Draw every weight once, in the order given; return how many could not be drawn."""
    first, second, t, concentration = pairs
    degree[:] = 0.0  # anew in every sweep, so that no rounding errors pile up
    for e in range(w.size):
        degree[first[e]] += w[e]
        degree[second[e]] += w[e]
    stuck = 0
    for e in range(w.size):
        i, j = first[e], second[e]
        a = max(degree[i] - w[e], 0.0)
        b = max(degree[j] - w[e], 0.0)
        drawn = draw_weight(a, b, t[e], concentration, rng)
        if drawn < 0.0:
            stuck += 1
            drawn = w[e]
        w[e] = drawn
        degree[i] = a + drawn
        degree[j] = b + drawn
    return stuck


@_compiled
def draw_weight(a: float, b: float, t: float, concentration: float, rng: Any) -> float:
    """Draw one weight given the rest; -1 in place of an endless loop."""
    mode = find_mode(a, b, t, concentration, 0.1)
    p, q = 1.0 / (a + mode), 1.0 / (b + mode)
    location = (0.5 * (p + q) - t) * math.sqrt(2.0 * concentration)
    limit = _GAUSSIAN_CURVATURE * max(1.0, location * location if location < 0.0 else 0.0)
    if p * p + q * q > limit:
        mode = find_mode(a, b, t, concentration, 1e-8)
        return _draw_by_pieces(a, b, t, concentration, mode, rng)
    return _draw_by_normal(p, q, location, concentration, mode, rng)


@_compiled
def find_mode(a: float, b: float, t: float, concentration: float, accuracy: float) -> float:
    """Return the maximum of f over w >= 0, to an accuracy in units of the density's width.

    The slope of f is convex, so Newton from the left is monotone; it begins at the zeros of two
    lower bounds of the slope, with 1 / (min(a, b) + w) or 4 / (a + b + 2 w) in place of the two
    fractions. From further away the number of steps would have no bound.
    """
    if a * b > 0.0 and 2.0 * t * a * b >= a + b:
        return 0.0
    c, m = min(a, b), 0.5 * (a + b)
    one = (1.0 - 2.0 * t * c) / (t + c + math.sqrt((t - c) * (t - c) + 2.0))
    both = 2.0 * (1.0 - m * t) / (t + m + math.sqrt((t - m) * (t - m) + 4.0))
    w = max(0.0, one, both)
    for _ in range(60):
        p, q = 1.0 / (a + w), 1.0 / (b + w)
        curvature = p * p + q * q + 2.0
        step = ((p + q) - 2.0 * (t + w)) / curvature
        if step <= 0.0:
            break
        w += step
        if step * step * concentration * curvature <= accuracy * accuracy:
            break
    return w


@_compiled
def _draw_by_normal(
    p: float, q: float, location: float, concentration: float, mode: float, rng: Any
) -> float:
    """Reject from the normal bound; p = 1 / (a + mode), q = 1 / (b + mode)."""
    spread = math.sqrt(0.5 / concentration)
    for _ in range(_MOST_PROPOSALS):
        w = spread * draw_truncated(location, rng)
        y, v = (w - mode) * p, (w - mode) * q
        room = rng.standard_exponential() / concentration
        # y - log(1 + y) <= y^2 / (2 min(1, 1 + y)) saves the logarithms nearly always.
        least = min(1.0, 1.0 + y, 1.0 + v)
        if (y * y + v * v) <= 2.0 * least * room:
            return w
        if (y - math.log1p(y)) + (v - math.log1p(v)) <= room:
            return w
    return -1.0


@_compiled
def draw_truncated(u: float, rng: Any) -> float:
    """Draw z >= 0 with a density proportional to exp(u z - z^2 / 2)."""
    if u > -0.5:
        z = u + rng.standard_normal()
        while z < 0.0:
            z = u + rng.standard_normal()
        return z
    # An exponential of the best rate (Robert 1995) accepts at least 3 in 4.
    rate = 0.5 * (math.sqrt(u * u + 4.0) - u)
    for _ in range(_MOST_PROPOSALS):
        z = rng.standard_exponential() / rate
        miss = z - u - rate
        if 0.5 * miss * miss <= rng.standard_exponential():
            return z
    return math.nan  # u is not a number


@_compiled
def _draw_by_pieces(
    a: float, b: float, t: float, concentration: float, mode: float, rng: Any
) -> float:
    """Reject from exponential tails at the tangents one width off the mode, flat between them."""
    p, q = 1.0 / (a + mode), 1.0 / (b + mode)
    slope = min(0.0, (p + q) - 2.0 * (t + mode)) if mode == 0.0 else 0.0
    falling = -concentration * slope
    bend = 0.5 * concentration * (p * p + q * q + 2.0)
    width = 2.0 / (falling + math.sqrt(falling * falling + 4.0 * bend))
    height, rate = _at_offset(width, p, q, slope, concentration)
    right, right_rate = width - height / rate, -rate
    left, left_rate, left_room, left_area = -mode, 1.0, 0.0, 0.0
    if width < mode:
        height, left_rate = _at_offset(-width, p, q, slope, concentration)
        left = -width - height / left_rate
        left_room = left_rate * (mode + left)
        left_area = -math.expm1(-left_room) / left_rate
    for _ in range(_MOST_PROPOSALS):
        at = rng.random() * (right - left + left_area + 1.0 / right_rate)
        if at < right - left:
            offset, bound = left + at, 0.0
        elif at < right - left + left_area:
            bound = math.log1p(rng.random() * math.expm1(-left_room))
            offset = left + bound / left_rate
        else:
            bound = -rng.standard_exponential()
            offset = right - bound / right_rate
        if mode + offset < 0.0:
            continue  # by rounding
        height, _ = _at_offset(offset, p, q, slope, concentration)
        if bound - height <= rng.standard_exponential():
            return mode + offset
    return -1.0


@_compiled
def _at_offset(
    offset: float, p: float, q: float, slope: float, concentration: float
) -> tuple[float, float]:
    """Return kappa (f(mode + offset) - f(mode)) and its derivative, without cancellation."""
    y, v = offset * p, offset * q
    change = (math.log1p(y) - y) + (math.log1p(v) - v) + (slope - offset) * offset
    rate = slope - 2.0 * offset - offset * (p * p / (1.0 + y) + q * q / (1.0 + v))
    return concentration * change, concentration * rate
