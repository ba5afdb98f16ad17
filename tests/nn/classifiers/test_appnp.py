"""APPNP on four nodes, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.classifiers import appnp
from truegraph.nn.classifiers.appnp import APPNP, APPNPSettings, _reached
from truegraph.nn.dropout import Noise
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.targets import Targets, cross_entropy
from truegraph.nn.training.training import Training

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)


def _operator() -> np.ndarray:
    loops = GRAPH + np.eye(4)
    root = np.diag(1 / np.sqrt(loops.sum(1)))
    return root @ loops @ root


def _logits(settings: APPNPSettings) -> tuple[np.ndarray, np.ndarray]:
    model = APPNP(settings, 3, 2)
    weights = model.initial(np.array([3]))
    operator = FixedSparse(APPNP.operator(csr_array(GRAPH)))
    logits = model.forward(weights, Inputs(FixedSparse(csr_array(FEATURES)), operator), None)
    first, second = weights["first"][0].numpy(), weights["second"][0].numpy()
    return logits[0].numpy(), np.maximum(FEATURES @ first, 0) @ second


def test_two_steps_by_hand() -> None:
    logits, start = _logits(APPNPSettings(hidden=5, restart=0.2, steps=2))
    once = 0.8 * _operator() @ start + 0.2 * start
    np.testing.assert_allclose(logits, 0.8 * _operator() @ once + 0.2 * start, atol=1e-5)


def test_many_steps_reach_personalised_pagerank() -> None:
    logits, start = _logits(APPNPSettings(hidden=5, restart=0.2, steps=200))
    limit = 0.2 * np.linalg.solve(np.eye(4) - 0.8 * _operator(), start)
    np.testing.assert_allclose(logits, limit, atol=1e-5)


def test_trials_have_the_same_bits_on_a_shared_graph_as_on_graphs_of_their_own() -> None:
    model = APPNP(APPNPSettings(hidden=5), 3, 2)
    weights = model.initial(np.array([3, 8, 9]))
    features, operator = FixedSparse(csr_array(FEATURES)), APPNP.operator(csr_array(GRAPH))
    shared = model.forward(weights, Inputs(features, FixedSparse(operator)), None)
    own = model.forward(weights, Inputs(features, FixedSparse([operator] * 3)), None)
    assert shared.shape == (3, 4, 2)
    assert torch.equal(shared, own)


def test_training_sees_the_rows_of_the_propagation_at_the_labelled_nodes() -> None:
    """Without dropout the loss is that of the forward pass on the whole graph."""
    model = APPNP(APPNPSettings(hidden=5, dropout=0.0), 3, 2)
    weights = model.initial(np.array([3, 8]))
    inputs = Inputs(FixedSparse(csr_array(FEATURES)), FixedSparse(APPNP.operator(csr_array(GRAPH))))
    labels = np.tile([0, 1, 1, 0], (2, 1))
    targets = Targets.from_sets(labels, [np.array([0, 2]), np.array([1, 2, 3])], "train")
    noise = Noise(np.arange(2, dtype=np.uint64), 0)
    losses, _ = model.loss(weights, inputs, model.prepare(inputs, targets), noise)
    expected = cross_entropy(model.forward(weights, inputs, None), targets)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_hyperparameters() -> None:
    settings = APPNPSettings()
    assert (settings.hidden, settings.dropout, settings.epochs) == (64, 0.5, 200)
    assert (settings.restart, settings.steps, settings.weight_decay) == (0.1, 10, 5e-3)
    assert APPNP(settings, 3, 2).decay() == {"first": 5e-3}


def test_training_may_leave_out_what_hardly_counts() -> None:
    spread = np.array([[0.5, 0.3, 0.15, 0.05, 0.0], [0.6, 0.2, 0.15, 0.05, 0.0]], dtype=np.float32)
    assert _reached(spread, APPNPSettings()).tolist() == [0, 1, 2, 3]
    assert _reached(spread, APPNPSettings(coverage=0.9)).tolist() == [0, 1, 2]
    assert _reached(spread, APPNPSettings(coverage=0.5)).tolist() == [0]
    assert _reached(spread[:, ::-1], APPNPSettings(reach=2)).tolist() == [3, 4]


def test_a_trial_that_leaves_nodes_out_has_the_same_bits_alone_and_among_others() -> None:
    rng = np.random.default_rng(0)
    links = rng.random((300, 300)) < 0.02
    graph = csr_array((links | links.T).astype(float))
    features, labels = csr_array(rng.random((300, 12))), rng.integers(0, 3, 300)
    train = [rng.choice(300, size, replace=False) for size in (6, 30, 12)]
    settings = APPNPSettings(coverage=0.8, epochs=5)
    trained = [
        Training(
            "appnp",
            features,
            labels,
            [train[trial] for trial in trials],
            seeds=trials,
            settings=settings,
        )
        .run(graph)
        .weights["first"]
        for trials in ([0, 1, 2], [2])
    ]
    assert torch.equal(trained[0][2:], trained[1])


def test_propagation_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = APPNP(APPNPSettings(), 3, 2)
    operator = APPNP.operator(csr_array(GRAPH))
    whole = model._rows(operator, np.arange(4))
    monkeypatch.setattr(appnp, "_BLOCK", 1)
    assert np.array_equal(model._rows(operator, np.arange(4)), whole)
