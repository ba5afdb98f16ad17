"""DGLFRM: its densities and divergences against closed forms, its draws and its training."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from truegraph.paper.networks.dglfrm import (
    DGLFRM,
    concrete_log_density,
    kumaraswamy_divergence,
    logistic,
)
from truegraph.paper.networks.gae import divergence, normal

SMALL = {"hidden": 8, "communities": 6, "decoder_hidden": 8, "dimension": 4}


def model_of(problem, **options) -> DGLFRM:
    chosen = SimpleNamespace(**{**DGLFRM.DEFAULTS, **SMALL, **options})
    return DGLFRM(problem.raw, problem.graph, chosen, torch.Generator().manual_seed(0))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("c", "e", "a"), [(3.0, 2.0, 5.0), (10.0, 0.6, 10.0), (0.8, 1.5, 2.0)])
def test_kumaraswamy_divergence_is_the_integral(c, e, a):
    def term(v):
        log_q = np.log(c * e) + (c - 1) * np.log(v) + (e - 1) * np.log1p(-(v**c))
        return np.exp(log_q) * (log_q - stats.beta(a, 1.0).logpdf(v))

    expected, _ = integrate.quad(term, 0.0, 1.0, limit=200)
    parts = (torch.tensor(value, dtype=torch.float64) for value in (c, e))
    assert kumaraswamy_divergence(*parts, a).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_concrete_density_is_that_of_scaled_logistic_noise(temperature):
    y = np.linspace(-4.0, 4.0, 9)
    expected = stats.logistic(loc=1.3 / temperature, scale=1.0 / temperature).logpdf(y)
    location = torch.full((9,), 1.3, dtype=torch.float64)
    ours = concrete_log_density(torch.from_numpy(y), location, temperature)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-10)


def test_sticks_start_at_the_prior_and_break_into_ever_smaller_parts(problem):
    model, generator = model_of(problem, concentration=3.0), seeded(0)
    sticks = kumaraswamy_divergence(*model.sticks(), 3.0)
    assert sticks.sum().item() == pytest.approx(0.0, abs=1e-5)
    mean = model.encode()[0]
    logits = [model.prior_logit(mean, generator) for _ in range(300)]
    assert all((step[:, 1:] <= step[:, :-1]).all() for step in logits)
    assert not torch.equal(logits[0][0], logits[0][1])  # every node has a stick of its own
    # v ~ Beta(3, 1) has mean 3/4, so the k-th probability has mean (3/4)^k
    mean = torch.sigmoid(torch.stack(logits)).mean(dim=(0, 1)).detach().numpy()
    np.testing.assert_allclose(mean, 0.75 ** np.arange(1, 7), rtol=0.03)


def test_loss_is_the_sum_of_its_parts(problem):
    model, noise = model_of(problem, dropout=0.0), seeded(4)
    loss = model.loss(seeded(4)).item()
    mean, log_std, logit = model.encode()
    prior = model.prior_logit(logit, noise)
    posterior = logit + prior
    y = posterior + logistic(posterior, noise)
    z = torch.sigmoid(y) * (mean + normal(mean, noise) * log_std.exp())
    g = torch.nn.functional.leaky_relu(z @ model.V_1, 0.2) @ model.V_2  # biases start at 0
    parts = [model.reconstruction(g), model.of_features(z, model.V_x, model.a_x)]
    parts.append(divergence(mean, log_std))
    discrete = concrete_log_density(y, posterior, 1.0) - concrete_log_density(y, prior, 0.5)
    parts.append(discrete.sum(dim=1).mean() / 60)
    assert loss == pytest.approx(sum(part.item() for part in parts), rel=1e-5)


def test_prediction_averages_logits_over_draws_with_rounded_communities(problem):
    model, noise = model_of(problem, samples=3), seeded(0)
    mean = sum(draw @ draw.T for draw in (model.draw(noise) for _ in range(3))) / 3
    vectors = model.vectors()
    assert vectors.shape == (60, 12)
    torch.testing.assert_close(vectors @ vectors.T, mean)
    assert torch.equal(vectors, model.vectors())
