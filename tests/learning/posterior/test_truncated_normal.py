"""The normal distribution cut off at zero, against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from truegraph.learning.posterior import mean_field as tn

LOCATIONS = [-1e6, -300.0, -12.5, -11.5, -5.1, -4.9, -1.0, 0.0, 0.7, 3.0, 9.0, 50.0]


def _integral(u: float, power: int, above: float = 0.0) -> float:
    """Integrate z^power exp(u z - z^2 / 2) over z > above, times exp(-max(u, 0)^2 / 2)."""
    peak = max(u, 0.0)
    width = 1.0 / max(1.0, -u)

    def density(z: float) -> float:
        return z**power * math.exp((u - peak) * (z - peak) - 0.5 * (z - peak) ** 2)

    low = max(above, peak - 12.0)
    return quad(density, low, max(low, peak) + 40.0 * width, epsabs=0.0, limit=200)[0]


@pytest.mark.parametrize("u", LOCATIONS)
def test_moments_are_those_of_the_density(u: float) -> None:
    mean, variance, log_integral = tn.moments(u)
    total, first, second = (_integral(u, power) for power in range(3))
    assert mean == pytest.approx(first / total, rel=1e-9)
    assert variance == pytest.approx(second / total - (first / total) ** 2, rel=1e-6)
    assert log_integral == pytest.approx(math.log(total) + 0.5 * max(u, 0.0) ** 2, rel=1e-9)
    vectors = tn.mean_and_variance(np.array([u]))
    assert [float(v[0]) for v in vectors] == [mean, variance]


@pytest.mark.parametrize("u", LOCATIONS)
def test_survival_and_quantile(u: float) -> None:
    mean = tn.moments(u)[0]
    at = np.array([u])
    for z in (0.1 * mean, mean, 2.0 * mean):
        expected = _integral(u, 0, z) / _integral(u, 0)
        if expected > 1e-250:
            assert tn.survival(np.array(z), at)[0] == pytest.approx(expected, rel=1e-8)
    for share in (0.05, 0.5, 0.95):
        z = tn.quantile(share, at)
        assert 1.0 - tn.survival(z, at)[0] == pytest.approx(share, rel=1e-9)
    assert tn.survival(np.array(0.0), at)[0] == 1.0


def test_moments_have_no_seams() -> None:
    # The formula changes at u = -5 and u = -12.
    for seam in (-5.0, -12.0):
        left, right = tn.moments(np.nextafter(seam, -np.inf)), tn.moments(np.nextafter(seam, 0.0))
        np.testing.assert_allclose(left, right, rtol=1e-10)
