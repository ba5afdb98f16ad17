"""One weight given the others: the exact distribution, with bounded work, wherever it lies."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.stats import kstest

from truegraph.learning.posterior import chains as gibbs

DRAWS = 4000


@njit
def _many(a: float, b: float, t: float, concentration: float, rng: Any, out: Any) -> None:
    for k in range(out.size):
        out[k] = gibbs.draw_weight(a, b, t, concentration, rng)


def _draw(a: float, b: float, t: float, concentration: float) -> tuple[np.ndarray, float]:
    """Return draws, and how many random numbers each took."""
    counter = np.random.Philox(seed := 3)
    out = np.empty(DRAWS)
    _many(a, b, t, concentration, np.random.Generator(counter), out)
    used = int(counter.state["state"]["counter"][0]) - int(
        np.random.Philox(seed).state["state"]["counter"][0]
    )
    return out, 4.0 * used / DRAWS


def _distribution(a: float, b: float, t: float, concentration: float) -> tuple[Any, Any]:
    """Return a fine grid and the distribution function on it."""
    mode = gibbs.find_mode(a, b, t, concentration, 1e-8)
    slope = min(0.0, 1.0 / max(a + mode, 1e-300) + 1.0 / max(b + mode, 1e-300) - 2.0 * (t + mode))
    bend = 2.0 + 1.0 / (a + mode) ** 2 + 1.0 / (b + mode) ** 2
    width = 2.0 / (
        -slope * concentration + np.sqrt((slope * concentration) ** 2 + bend * concentration)
    )
    grid = np.linspace(max(0.0, mode - 20.0 * width), mode + 60.0 * width, 400_001)[1:]
    with np.errstate(divide="ignore"):
        log = np.log((a + grid) / (a + mode)) + np.log((b + grid) / (b + mode))
    log -= (grid - mode) * (2.0 * t + grid + mode)
    density = np.exp(concentration * (log - log.max()))
    share = np.cumsum(density)
    return grid, share / share[-1]


# a, b, t: ordinary pairs; no other weight at one or both nodes; mode at zero, barely and clearly;
# nodes of tiny degree, alone and balanced by a large distance.
CASES = [
    (3.0, 5.0, 0.05),
    (3.0, 5.0, 0.26667),
    (3.0, 5.0, 4.0),
    (0.0, 2.0, 0.3),
    (0.0, 0.0, 0.3),
    (0.0, 1e-4, 300.0),
    (0.01, 4.0, 0.5),
    (0.01, 4.0, 50.12),
    (0.01, 4.0, 51.0),
    (1e-6, 1e-5, 5e5),
    (1e-6, 2.0, 0.0),
]


@pytest.mark.parametrize("concentration", [0.5, 20.0, 1000.0, 1e6])
@pytest.mark.parametrize(("a", "b", "t"), CASES)
def test_draws_follow_the_density(a: float, b: float, t: float, concentration: float) -> None:
    drawn, _ = _draw(a, b, t, concentration)
    grid, share = _distribution(a, b, t, concentration)
    assert drawn.min() >= 0.0
    found = kstest(drawn, lambda w: np.interp(w, grid, share, left=0.0))
    assert found.pvalue > 1e-4, (found, drawn.mean())


def test_the_work_is_bounded_everywhere() -> None:
    weights = [0.0, 1e-6, 1e-3, 0.1, 1.0, 30.0]
    worst = 0.0
    for a, b, concentration in itertools.product(weights, weights, [0.1, 3.0, 1e3, 1e6, 1e9]):
        if b < a:
            continue
        edge = 0.5 * (1.0 / a + 1.0 / b) if a > 0.0 else 1e6  # where the mode leaves zero
        for t in (0.0, 0.3 * edge, 0.999 * edge, edge, 1.001 * edge, 3.0 * edge):
            drawn, numbers = _draw(a, b, t, concentration)
            assert drawn.min() >= 0.0
            worst = max(worst, numbers)
    assert worst < 12.0


def test_the_mode_is_found_from_anywhere() -> None:
    rng = np.random.default_rng(0)
    for a, b, t in zip(*(10.0 ** rng.uniform(-8, 4, (3, 500))), strict=True):
        w = gibbs.find_mode(a, b, t, 1e6, 1e-8)
        slope = 1.0 / (a + w) + 1.0 / (b + w) - 2.0 * (t + w)
        scale = 1.0 / (a + w) + 1.0 / (b + w)
        if w == 0.0:
            assert slope <= 0.0
        else:
            assert abs(slope) <= 1e-7 * scale


def test_a_sweep_keeps_the_degrees() -> None:
    first, second = np.array([0, 0, 1, 2], dtype=np.int32), np.array([1, 2, 2, 3], dtype=np.int32)
    w, degree = np.ones(4), np.empty(4)
    stuck = gibbs.sweep((first, second, np.full(4, 0.2), 5.0), w, degree, np.random.default_rng(0))
    assert stuck == 0
    sums = np.bincount(first, w, 4) + np.bincount(second, w, 4)
    np.testing.assert_allclose(degree, sums, rtol=1e-12)
    assert (w != 1.0).all()
