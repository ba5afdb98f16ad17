"""R-hat and effective sample size on chains whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.learning.posterior.samples import effective_sample_size, split_r_hat


def _autoregressive(correlation: float, chains: int = 4, sweeps: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(0)
    trace = np.empty((chains, sweeps, 1))
    value = rng.normal(size=(chains, 1))
    for s in range(sweeps):
        noise = rng.normal(size=(chains, 1))
        value = correlation * value + np.sqrt(1.0 - correlation**2) * noise
        trace[:, s] = value
    return trace


@pytest.mark.parametrize("correlation", [-0.3, 0.0, 0.5, 0.9])
def test_effective_sample_size_of_an_autoregression(correlation: float) -> None:
    expected = 16_000 * (1.0 - correlation) / (1.0 + correlation)
    found = effective_sample_size(_autoregressive(correlation))
    assert found[0] == pytest.approx(expected, rel=0.15)


def test_r_hat_is_one_for_equal_chains_and_not_for_others() -> None:
    trace = _autoregressive(0.2)
    assert split_r_hat(trace)[0] < 1.005
    apart = trace + np.array([0.0, 0.0, 0.0, 2.0])[:, None, None]
    assert split_r_hat(apart)[0] > 1.2
    assert effective_sample_size(apart)[0] < 20.0
    # a drift that all chains share shows in the halves
    drifting = trace + np.linspace(0.0, 3.0, trace.shape[1])[None, :, None]
    assert split_r_hat(drifting)[0] > 1.2


def test_few_sweeps_and_constants() -> None:
    assert np.isnan(split_r_hat(np.zeros((2, 3, 1)))).all()
    assert np.isnan(effective_sample_size(np.zeros((2, 3, 1)))).all()
    assert split_r_hat(np.zeros((2, 8, 1)))[0] == 1.0
