"""DGLFRM: its densities and divergences against closed forms, its draws and its training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy import integrate, sparse, stats

from truegraph.nn.autoencoders.base import LinkData, one_torch_thread, train_autoencoder
from truegraph.nn.autoencoders.dglfrm import (
    DGLFRM,
    DGLFRMSettings,
    concrete_log_density,
    kumaraswamy_divergence,
)

SMALL = {"hidden": 8, "communities": 6, "decoder_hidden": 8, "dimension": 4}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_torch_thread():
        yield


@pytest.fixture
def data() -> LinkData:
    """Four groups of ten nodes that graph and features tell apart."""
    rng = np.random.default_rng(0)
    group = np.arange(40) % 4
    chance = np.where(group[:, None] == group, 0.6, 0.03)
    upper = np.triu(rng.random((40, 40)) < chance, 1)
    graph = sparse.csr_array((upper | upper.T).astype(float))
    hints = 0.1 + 0.5 * (group[:, None] == np.arange(12) % 4)
    features = sparse.csr_array((rng.random((40, 12)) < hints).astype(float))
    return LinkData(features, graph, graph)


def model_of(data: LinkData, **settings) -> DGLFRM:
    return DGLFRM.on(data, DGLFRMSettings(**{**SMALL, **settings}))


@pytest.mark.parametrize("concentration", [1.0, 2.5, 10.0, 40.0])
def test_kumaraswamy_divergence_vanishes_at_the_prior(concentration):
    c, e = torch.tensor([concentration], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    assert kumaraswamy_divergence(c, e, concentration).item() == pytest.approx(0.0, abs=1e-12)
    for shifted in ((0.9 * c, e), (c, 1.2 * e), (1.3 * c, 0.7 * e)):
        assert kumaraswamy_divergence(*shifted, concentration).item() > 1e-4


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


def test_sticks_start_at_the_prior_and_break_into_ever_smaller_parts(data):
    model = model_of(data, concentration=3.0)
    weights = model.initial(0)
    assert model._stick_divergence(weights).item() == pytest.approx(0.0, abs=1e-6)
    code = model.encode(weights)
    generator = torch.Generator().manual_seed(0)
    logits = [model._prior_logit(weights, code, generator) for _ in range(300)]
    assert all((step[:, 1:] <= step[:, :-1]).all() for step in logits)
    assert not torch.equal(logits[0][0], logits[0][1])  # every node has a stick of its own
    # v ~ Beta(3, 1) has mean 3/4, so the k-th probability has mean (3/4)^k
    mean = torch.sigmoid(torch.stack(logits)).mean(dim=(0, 1)).numpy()
    np.testing.assert_allclose(mean, 0.75 ** np.arange(1, 7), rtol=0.03)


def test_loss_is_the_sum_of_its_parts(data):
    model = model_of(data, dropout=0.0)
    weights = model.initial(1)
    loss = model.loss(weights, torch.Generator().manual_seed(4)).item()
    generator = torch.Generator().manual_seed(4)
    code = model.encode(weights)
    prior = model._prior_logit(weights, code, generator)
    uniform = torch.rand(code.mean.shape, generator=generator).double() * (1 - 2e-4) + 1e-4
    normal = torch.randn(code.mean.shape, generator=generator)
    y = code.logit + prior + torch.log(uniform / (1 - uniform)).float()
    z = torch.sigmoid(y) * (code.mean + normal * code.log_std.exp())
    g = torch.nn.functional.leaky_relu(z @ weights["decoder_first"][0], 0.2)
    g = g @ weights["decoder_last"][0]
    parts = [
        model.reconstruction(g).item(),
        model.feature_loss(z, weights["features"][0], weights["features_bias"][0]).item(),
    ]
    gaussian = code.mean**2 + (2 * code.log_std).exp() - 1 - 2 * code.log_std
    parts.append(0.5 * gaussian.sum(dim=1).mean().item() / 40)
    discrete = concrete_log_density(y, code.logit + prior, 1.0)
    discrete = discrete - concrete_log_density(y, prior, 0.5)
    parts.append(discrete.sum(dim=1).mean().item() / 40)
    assert loss == pytest.approx(sum(parts), rel=1e-5)


def test_gradients_of_the_sticks_agree_with_finite_differences(data):
    model = model_of(data)
    weights = {name: weight.double() for name, weight in model.initial(2).items()}
    mean = torch.zeros((5, 6), dtype=torch.float64)
    code = model.encode(model.initial(2))._replace(mean=mean)

    def logits(c, e):
        sticks = weights | {"stick_c": c, "stick_e": e}
        return model._prior_logit(sticks, code, torch.Generator().manual_seed(0))

    leaves = [weights[name].requires_grad_() for name in ("stick_c", "stick_e")]
    assert torch.autograd.gradcheck(logits, leaves, atol=1e-4)


def test_prediction_averages_logits_over_draws_with_rounded_communities(data):
    model = model_of(data, samples=3)
    weights = model.initial(0)
    generator = torch.Generator().manual_seed(0)
    draws = [model.draw(weights, generator) for _ in range(3)]
    mean = sum(draw @ draw.T for draw in draws) / 3
    vectors = model.vectors(weights)
    assert vectors.shape == (40, 12)
    torch.testing.assert_close(vectors @ vectors.T, mean)
    assert torch.equal(vectors, model.vectors(weights))


def test_embedding_is_the_mean_of_many_draws(data):
    model = model_of(data, concentration=2.0)
    weights = model.initial(0)
    code, generator = model.encode(weights), torch.Generator().manual_seed(1)
    total = torch.zeros_like(code.mean)
    for _ in range(500):
        total += torch.sigmoid(code.logit + model._prior_logit(weights, code, generator))
    expected = code.mean * total / 500
    gap = (model.embedding(weights) - expected).abs().max()
    assert gap < 0.3 * expected.abs().max()


def test_features_can_be_left_out(data):
    model = model_of(data, decode_features=False)
    weights = model.initial(0)
    assert "features" not in weights
    assert torch.isfinite(model.loss(weights, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("decode_features", [True, False])
def test_training_lowers_the_loss_and_keeps_the_bits(data, decode_features):
    model = model_of(data, decode_features=decode_features)
    before = torch.get_num_threads()
    found = []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            weights, history = train_autoencoder(
                model, random_state=0, epochs=120, learning_rate=0.01
            )
            found.append(weights)
    finally:
        torch.set_num_threads(before)
    assert np.mean(history[-20:]) < 0.9 * np.mean(history[:5])
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
