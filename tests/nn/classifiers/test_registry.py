"""What every registered model promises: the same checks for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn import device
from truegraph.nn.classifiers.registry import CLASSIFIERS, find_classifier
from truegraph.nn.dropout import Noise
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Classifier, Inputs
from truegraph.nn.training.targets import Targets, cross_entropy
from truegraph.nn.training.trained import TrainedClassifier
from truegraph.nn.training.training import Training

SEEDS = [11, 3, 5]
NAMES = sorted(CLASSIFIERS)
# models whose training loss is the cross-entropy of the forward pass
PLAIN = ["appnp", "chebynet", "gat", "gcn", "mlp"]


def _settings(name: str, epochs: int = 6):
    return replace(find_classifier(name).settings_type(), epochs=epochs)


def _model(problem, graphs, name: str, **changes) -> tuple[Classifier, Inputs, Targets]:
    kind = find_classifier(name)
    model = kind(replace(kind.settings_type(), **changes), 12, 3)
    operator = FixedSparse([kind.operator(graph) for graph in graphs])
    targets = Targets.from_sets(np.tile(problem.labels, (5, 1)), problem.train, "train")
    return model, Inputs(FixedSparse(problem.features), operator), targets


def train_classifier(
    name: str, features, graphs, labels, train, *, progress=None, on_epoch=None, **how
) -> TrainedClassifier:
    training = Training(name, features, labels, train, **how)
    return training.run(graphs, progress=progress, on_epoch=on_epoch)


def _train(problem, name: str, trials=range(3), graphs=None, **options) -> TrainedClassifier:
    return train_classifier(
        name,
        problem.features,
        problem.graph if graphs is None else graphs,
        problem.labels,
        [problem.train[t] for t in trials],
        validation=[problem.validation[t] for t in trials],
        seeds=[SEEDS[t] for t in trials],
        **{"settings": _settings(name), "classes": 3, **options},
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_is_the_same_alone_and_among_others(problem, other_graphs, name: str) -> None:
    together = _train(problem, name, graphs=other_graphs[:3])
    alone = _train(problem, name, [2], graphs=[other_graphs[2]])
    for weight, weights in zip(alone.weights.values(), together.weights.values(), strict=True):
        assert torch.equal(weight[0], weights[2])
    np.testing.assert_array_equal(alone.predict_proba()[0], together.predict_proba()[2])
    np.testing.assert_array_equal(next(alone.sample_proba(1))[0], next(together.sample_proba(1))[2])


@pytest.mark.parametrize("name", NAMES)
def test_other_devices_find_the_same_loss_and_gradient(problem, other_graphs, monkeypatch, name):
    model, inputs, targets = _model(problem, other_graphs, name)
    weights = {n: w.requires_grad_() for n, w in model.initial(np.arange(5)).items()}
    noise = Noise(np.arange(5, dtype=np.uint64), 0)

    def loss_and_gradients() -> list[torch.Tensor]:
        losses, updates = model.loss(weights, inputs, model.prepare(inputs, targets), noise)
        leaves = [w for n, w in weights.items() if n not in updates]
        return [losses.detach(), *torch.autograd.grad(losses.sum(), leaves)]

    ours = loss_and_gradients()
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    for first, second in zip(ours, loss_and_gradients(), strict=True):
        scale = first.abs().max().item()
        torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-3 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_learns(problem, name: str) -> None:
    epochs = 60 if name == "dfnet-att" else 300
    trained = _train(problem, name, settings=_settings(name, epochs))
    accuracy = (trained.predict_proba().argmax(2) == problem.labels).mean()
    assert accuracy > (0.6 if name == "mlp" else 0.8)


@pytest.mark.parametrize("name", NAMES)
def test_weights_serve_on_other_nodes_and_without_any_edge(problem, name: str) -> None:
    trained = _train(problem, name)
    proba = trained.predict_proba(csr_array((7, 7)), problem.features[:7])
    assert proba.shape == (3, 7, 3)
    assert np.isfinite(proba).all()


@pytest.mark.parametrize("name", PLAIN)
def test_what_the_loss_skips_changes_neither_loss_nor_gradient(problem, other_graphs, name) -> None:
    model, inputs, targets = _model(problem, other_graphs, name, dropout=0.0)
    weights = {n: w.requires_grad_() for n, w in model.initial(np.arange(5)).items()}
    noise = Noise(np.arange(5, dtype=np.uint64), 0)
    part, _ = model.loss(weights, inputs, model.prepare(inputs, targets), noise)
    whole = cross_entropy(model.forward(weights, inputs, noise), targets)
    torch.testing.assert_close(part, whole)
    leaves = list(weights.values())
    for first, second in zip(
        torch.autograd.grad(part.sum(), leaves),
        torch.autograd.grad(whole.sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "changes",
    [{"epochs": -1}, {"epochs": 2.5}, {"learning_rate": "fast"}, {"weight_decay": float("nan")}],
)
def test_impossible_settings_are_refused_by_name(name: str, changes: dict) -> None:
    with pytest.raises(InputError, match=f"{next(iter(changes))}=.* must be"):
        find_classifier(name).settings_type(**changes)


def test_a_share_of_one_cannot_be_dropped() -> None:
    with pytest.raises(InputError, match=r"dropout=1\.0"):
        find_classifier("gcn").settings_type(dropout=1.0)
