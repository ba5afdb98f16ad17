"""GCN on four nodes, by hand, with and without dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.classifiers.gcn import GCN, GCNSettings
from truegraph.nn.dropout import Noise, survivors_torch
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
NOISE = Noise(np.array([3, 8], dtype=np.uint64), 5)


def _model(dropout: float = 0.5) -> tuple[GCN, dict[str, torch.Tensor], Inputs]:
    model = GCN(GCNSettings(hidden=5, dropout=dropout), 3, 2)
    inputs = Inputs(FixedSparse(csr_array(FEATURES)), FixedSparse(GCN.operator(csr_array(GRAPH))))
    return model, model.initial(np.array([3, 8], dtype=np.uint64)), inputs


def _by_hand(first: np.ndarray, second: np.ndarray, features: np.ndarray, mask: np.ndarray):
    loops = GRAPH + np.eye(4)
    root = np.diag(1 / np.sqrt(loops.sum(1)))
    operator = root @ loops @ root
    hidden = np.maximum(operator @ features @ first, 0) * mask
    return operator @ hidden @ second


def test_forward_pass_without_dropout() -> None:
    model, weights, inputs = _model()
    logits = model.forward(weights, inputs, None)
    for trial in range(2):
        pair = [weights[name][trial].numpy() for name in ("first", "second")]
        expected = _by_hand(*pair, FEATURES, np.ones((4, 5)))
        np.testing.assert_allclose(logits[trial], expected, atol=1e-5)


def test_forward_pass_with_dropout_on_features_and_hidden_layer() -> None:
    model, weights, inputs = _model()
    logits = model.forward(weights, inputs, NOISE)
    on_features, on_hidden = (
        survivors_torch(torch.arange(count), NOISE.dropout(0.5, layer)).numpy() * 2.0
        for layer, count in ((0, 6), (1, 20))
    )
    for trial in range(2):
        features = csr_array(FEATURES)
        features.data = features.data * on_features[trial]
        pair = [weights[name][trial].numpy() for name in ("first", "second")]
        mask = on_hidden[trial].reshape(4, 5)
        expected = _by_hand(*pair, features.toarray(), mask)
        np.testing.assert_allclose(logits[trial], expected, atol=1e-5)


def test_first_weights_are_glorot_uniform_and_the_trials_own() -> None:
    model = GCN(GCNSettings(), 1433, 7)
    weights = model.initial(np.arange(2))
    limit = np.sqrt(6 / (1433 + 16))
    assert weights["first"].shape == (2, 1433, 16)
    assert weights["second"].shape == (2, 16, 7)
    assert limit * 0.99 < weights["first"].abs().max() <= limit
    assert weights["first"].std().item() == pytest.approx(limit / np.sqrt(3), rel=0.02)
    alone = model.initial(np.array([1]))
    assert torch.equal(alone["first"][0], weights["first"][1])
    assert not torch.equal(weights["first"][0], weights["first"][1])


def test_hyperparameters_are_those_of_kipf() -> None:
    settings = GCNSettings()
    assert (settings.hidden, settings.dropout, settings.epochs) == (16, 0.5, 200)
    assert (settings.learning_rate, settings.weight_decay) == (0.01, 5e-4)
    assert GCN(settings, 3, 2).decay() == {"first": 5e-4}
