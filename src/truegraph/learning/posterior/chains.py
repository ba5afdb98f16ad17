"""One Gibbs chain: every weight in turn, drawn from its exact distribution given all others.

Let a and b be the weights that the two nodes of a pair have from all their other pairs. Given
those, the weight has the density::

    p(w)  ~  exp(kappa f(w)),   f(w) = log(a + w) + log(b + w) - 2 t w - w^2,   w >= 0

with t = theta z. It is log-concave. Tangents to the two logarithms at any point w0 bound it by a
normal distribution with variance 1 / (2 kappa) cut off at zero, from which rejection draws; near
the mode a share of about sqrt(2 / (2 + c)) is accepted, c = 1 / (a + w0)^2 + 1 / (b + w0)^2. Where
c is large, at nodes of small degree, three exponential pieces bound it better. Both ways accept a
share that is bounded from below for all a, b, t and kappa.

Every chain has its own random numbers: draws do not depend on other chains or on the threads.
"""

from __future__ import annotations

import math
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.search.pairs import PairList
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


Floats = NDArray[np.float64]

_PAIRS_AT_ONCE = 1_000_000  # between two looks at the interrupt, about 0.1 s
_FOLLOWED_AT_RANDOM = 400
_FOLLOWED_WORST = 100


class Target:
    """The distribution to draw from, its pairs in random order, always the same one.

    `location` (n_pairs,) is the mean-field x, `degree` (n_nodes,) the mean-field degrees; weights
    are multiplied by `scale` on their way out.
    """

    def __init__(
        self,
        pairs: PairList,
        theta: float,
        location: Floats,
        degree: Floats,
        concentration: float,
        scale: float,
    ) -> None:
        order = np.random.default_rng(0).permutation(len(pairs))
        self.rank = np.empty_like(order)
        self.rank[order] = np.arange(order.size)
        self.pairs, self.first, self.second = pairs, pairs.first[order], pairs.second[order]
        self.t = theta * pairs.matrix.data[pairs.entry][order]
        self.location, self.degree = location[order], degree
        self.centre = np.maximum(0.0, self.location)  # sums are taken of what differs from it
        self.concentration, self.scale = concentration, scale
        stiffness = 1.0 / degree[self.first] ** 2 + 1.0 / degree[self.second] ** 2
        worst = np.argsort(-stiffness, kind="stable")[:_FOLLOWED_WORST]
        # The pairs whose every value is kept.
        self.followed = np.union1d(np.arange(min(_FOLLOWED_AT_RANDOM, order.size)), worst)

    @property
    def drawn(self) -> tuple[Any, ...]:
        """What a sweep takes: the pairs in the random order, and the concentration."""
        return self.first, self.second, self.t, self.concentration

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (n_pairs,) of the random order in the order of the pair list."""
        return values[self.rank]


@compiled
def _start(location: Any, concentration: float, rng: Any, w: Any) -> None:
    """Fill w with independent draws of the mean field."""
    spread = math.sqrt(0.5 / concentration)
    for e in range(w.size):
        w[e] = spread * draw_truncated(location[e] / spread, rng)


@compiled
def _run(drawn: Any, w: Any, degree: Any, rng: Any, kept: Any) -> int:
    """Do as many sweeps as the trace has rows; return how many weights could not be drawn.

    Fills trace (sweeps, followed + 1), the last column with the total weight. Adds the weights and
    degrees and their squares, as seen from the two centres, to the two sums.
    """
    followed, trace, centres, sums = kept
    stuck = 0
    for s in range(trace.shape[0]):
        stuck += sweep(drawn, w, degree, rng)
        for k in range(followed.size):
            trace[s, k] = w[followed[k]]
        trace[s, followed.size] = 0.5 * degree.sum()
        _add(w, centres[0], sums[0])
        _add(degree, centres[1], sums[1])
    return stuck


@compiled
def _add(values: Any, centre: Any, sums: Any) -> None:
    for k in range(values.size):
        value = values[k] - centre[k]
        sums[0, k] += value
        sums[1, k] += value * value


class Chain:
    """One chain: its weights in the random order, and sums over its sweeps since the burn-in."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self._target, self._rng = target, rng
        self.weights = np.empty(len(target.pairs))
        _start(target.location, target.concentration, rng, self.weights)
        self._degree = np.empty_like(target.degree)
        self.stuck = 0
        self.forget()

    def forget(self) -> None:
        """Begin the records anew."""
        self.sums = (np.zeros((2, self.weights.size)), np.zeros((2, self._degree.size)))
        self._traces = [np.empty((0, self._target.followed.size + 1))]

    @property
    def trace(self) -> Floats:
        """Followed weights and the total weight after each sweep (sweeps, followed + 1)."""
        return np.concatenate(self._traces)

    def advance(self, sweeps: int, stop: Event) -> None:
        """Do some sweeps, fewer if told to stop."""
        target = self._target
        at_once = max(1, _PAIRS_AT_ONCE // self.weights.size)
        while sweeps > 0 and not stop.is_set():
            trace = np.empty((min(sweeps, at_once), target.followed.size + 1))
            kept = (target.followed, trace, (target.centre, target.degree), self.sums)
            self.stuck += _run(target.drawn, self.weights, self._degree, self._rng, kept)
            self._traces.append(trace)
            sweeps -= len(trace)
