"""GAT on four nodes, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.classifiers.gat import GAT, GATSettings
from truegraph.nn.dropout import Noise
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
SETTINGS = GATSettings(heads=2, hidden=5)


def _inputs() -> Inputs:
    return Inputs(FixedSparse(csr_array(FEATURES)), FixedSparse(GAT.operator(csr_array(GRAPH))))


def _weights(model: GAT) -> dict[str, torch.Tensor]:
    """Return first weights with biases that are not zero."""
    weights = model.initial(np.array([3, 8], dtype=np.uint64))
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(w.shape, generator=generator) if name.endswith("bias") else w
        for name, w in weights.items()
    }


def _head(weights: dict, layer: str, trial: int, head: int, x: np.ndarray) -> np.ndarray:
    part = {n: w[trial, head].numpy() for n, w in weights.items() if n.startswith(layer)}
    projected = x @ part[layer]
    left, right = (projected @ part[f"{layer}_scores"] + part[f"{layer}_score_bias"]).T
    raw = left[:, None] + right[None, :]
    share = np.exp(np.where(raw > 0, raw, 0.2 * raw)) * ((GRAPH + np.eye(4)) > 0)
    return share / share.sum(1, keepdims=True) @ projected + part[f"{layer}_bias"]


@pytest.mark.parametrize("output_heads", [1, 3])
def test_forward_pass(output_heads: int) -> None:
    model = GAT(replace(SETTINGS, output_heads=output_heads), 3, 2)
    weights = _weights(model)
    logits = model.forward(weights, _inputs(), None)
    for trial in range(2):
        heads = [_head(weights, "first", trial, k, FEATURES) for k in range(2)]
        hidden = np.hstack([np.where(h > 0, h, np.expm1(h)) for h in heads])
        last = [_head(weights, "second", trial, k, hidden) for k in range(output_heads)]
        np.testing.assert_allclose(logits[trial], np.mean(last, 0), atol=1e-4)


def test_each_head_drops_features_of_its_own() -> None:
    model = GAT(SETTINGS, 3, 2)
    weights = model.initial(np.array([3], dtype=np.uint64))
    weights["first"] = torch.eye(3, 5).repeat(1, 2, 1, 1)
    noise = Noise(np.array([3], dtype=np.uint64), 1)
    heads = model._project_features(weights["first"], _inputs().features, noise)
    assert not torch.equal(heads[0], heads[1])
    kept = heads[heads != 0].numpy()
    assert set(np.round(kept * 0.4, 5)) <= {1.0, 2.0, 3.0}


def test_hyperparameters_are_those_of_the_authors() -> None:
    model = GAT(GATSettings(), 3, 2)
    settings = model.settings
    assert (settings.heads, settings.hidden, settings.output_heads) == (8, 8, 1)
    assert (settings.learning_rate, settings.dropout, settings.epochs) == (0.005, 0.6, 100_000)
    assert model.stopping.patience == 100
    assert model.stopping.watch_accuracy
    assert GAT(replace(settings, patience=None), 3, 2).stopping is None
    assert set(model.decay().values()) == {5e-4}
    assert model.decay().keys() == model.initial(np.array([0])).keys()
