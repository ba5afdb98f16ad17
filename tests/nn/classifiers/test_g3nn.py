"""SBM-GCN on four nodes: forward pass, prior and every term of the loss by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.classifiers.g3nn import G3NN, G3NNSettings
from truegraph.nn.dropout import Noise, random_bits_torch
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.targets import Targets

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
SETTINGS = G3NNSettings(hidden=5, dropout=0.0, supervision=0.7)
LABELS, TRAIN = np.array([1, -1, 0, -1]), np.array([0, 2])
NOISE = Noise(np.array([3], dtype=np.uint64), 4)


def _setting(settings: G3NNSettings = SETTINGS) -> tuple[G3NN, dict, Inputs, Targets]:
    model = G3NN(settings, 3, 2)
    inputs = Inputs(FixedSparse(csr_array(FEATURES)), FixedSparse(G3NN.operator(csr_array(GRAPH))))
    weights = model.initial(np.array([3], dtype=np.uint64))
    generator = torch.Generator().manual_seed(0)
    for name in ("first_bias", "second_bias"):
        weights[name] = torch.randn(weights[name].shape, generator=generator)
    return model, weights, inputs, Targets.from_sets(LABELS[None], [TRAIN], "train")


def _by_hand(weights: dict) -> tuple[np.ndarray, np.ndarray]:
    w = {name: tensor[0].numpy().astype(float) for name, tensor in weights.items()}
    loops = GRAPH + np.eye(4)
    root = np.diag(1 / np.sqrt(loops.sum(1)))
    operator = root @ loops @ root
    hidden = np.maximum(operator @ FEATURES @ w["first"] + w["first_bias"], 0)
    q = operator @ hidden @ w["second"] + w["second_bias"]
    hidden = np.maximum(FEATURES @ w["prior_first"] + w["prior_first_bias"], 0)
    return q, hidden @ w["prior_second"] + w["prior_second_bias"]


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponent = np.exp(logits - logits.max(1, keepdims=True))
    return exponent / exponent.sum(1, keepdims=True)


def _loss_by_hand(weights: dict, corrected: bool) -> float:
    q, prior = (_softmax(logits) for logits in _by_hand(weights))
    y = (q if corrected else prior).copy()
    y[TRAIN] = np.eye(2)[LABELS[TRAIN]]
    edges = np.argwhere(GRAPH > 0)
    pairs = ((random_bits_torch(torch.arange(12), NOISE.keys(100)).numpy()[0] * 4) >> 32).reshape(
        -1, 2
    )
    agree = [np.mean([y[i] * y[j] for i, j in chosen]) for chosen in (edges, pairs)]
    edge_term = -agree[0] * np.log(9) - agree[1] * np.log(1 / 9)
    rest = [1, 3]
    prior_term = -np.mean(q[rest] * np.log(prior[rest]))
    entropy_term = (1 if corrected else -1) * np.mean(q[rest] * np.log(q[rest]))
    generative = (edge_term + prior_term + entropy_term) * (2 if corrected else 1)
    supervised = [-np.mean(np.log(p[TRAIN, LABELS[TRAIN]])) for p in (prior, q)]
    return generative + supervised[0] + 0.7 * supervised[1]


def test_forward_pass_and_prior() -> None:
    model, weights, inputs, _ = _setting()
    q, prior = _by_hand(weights)
    np.testing.assert_allclose(model.forward(weights, inputs, None)[0], q, atol=1e-5)
    np.testing.assert_allclose(model.prior(weights, inputs, None)[0], prior, atol=1e-5)


@pytest.mark.parametrize("elbo", ["published", "corrected"])
def test_loss(elbo: str) -> None:
    model, weights, inputs, targets = _setting(replace(SETTINGS, elbo=elbo))
    loss, _ = model.loss(weights, inputs, model.prepare(inputs, targets), NOISE)
    assert loss.item() == pytest.approx(_loss_by_hand(weights, elbo == "corrected"), rel=1e-5)


def test_features_are_dropped_in_the_prior_only() -> None:
    model, weights, inputs, _ = _setting(replace(SETTINGS, dropout=0.5))
    q, prior = model.forward(weights, inputs, NOISE), model.prior(weights, inputs, NOISE)
    assert not torch.equal(q, model.forward(weights, inputs, None))
    weights = {n: w if n != "second" else torch.zeros_like(w) for n, w in weights.items()}
    assert torch.equal(model.forward(weights, inputs, NOISE), model.forward(weights, inputs, None))
    assert not torch.equal(prior, model.prior(weights, inputs, None))


def test_hyperparameters_are_those_of_the_authors() -> None:
    model = G3NN(G3NNSettings(), 3, 2)
    settings = model.settings
    assert (settings.within, settings.between, settings.supervision) == (0.9, 0.1, 1.0)
    assert (settings.hidden, settings.dropout, settings.epochs) == (64, 0.5, 2000)
    assert (settings.learning_rate, model.stopping.patience) == (0.01, 200)
    assert not model.stopping.watch_accuracy
    assert set(model.decay().values()) == {5e-4}
    assert model.decay().keys() == model.initial(np.array([0])).keys()
    assert G3NN(G3NNSettings(patience=None), 3, 2).stopping is None
    with pytest.raises(InputError, match="'wrong'"):
        G3NN(G3NNSettings(elbo="wrong"), 3, 2)
