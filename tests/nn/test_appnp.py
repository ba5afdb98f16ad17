"""APPNP on four nodes, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.nn import appnp
from truegraph.nn.appnp import APPNP, APPNPSettings, _reached
from truegraph.nn.model import Inputs
from truegraph.nn.sparse import FixedSparse

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


def test_propagation_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = APPNP(APPNPSettings(), 3, 2)
    operator = APPNP.operator(csr_array(GRAPH))
    whole = model._rows(operator, np.arange(4))
    monkeypatch.setattr(appnp, "_BLOCK", 1)
    assert np.array_equal(model._rows(operator, np.arange(4)), whole)
