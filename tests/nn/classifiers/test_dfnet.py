"""DFNET-ATT on four nodes, by hand, with dense matrices and textbook batch normalisation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.classifiers.dfnet import DFNet, DFNetSettings
from truegraph.nn.classifiers.feedback_filter import filter_coefficients
from truegraph.nn.dropout import Noise
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.targets import Targets

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
SETTINGS = DFNetSettings(units=(2, 3), heads=2, dropout=0.0, attention_dropout=0.0)
NOISE = Noise(np.array([3, 8], dtype=np.uint64), 0)
LABELS, TRAIN = np.array([1, -1, 0, 1]), np.array([0, 2, 3])


def _setting(settings: DFNetSettings = SETTINGS) -> tuple[DFNet, dict, Inputs]:
    model = DFNet(settings, 3, 2)
    weights = model.initial(NOISE.seeds)
    generator = torch.Generator().manual_seed(0)
    for name in weights:  # nothing may hide behind a one or a zero
        if name.startswith(("gamma", "beta", "mean", "variance")):
            weights[name] = torch.rand(weights[name].shape, generator=generator) + 0.5
    inputs = Inputs(FixedSparse(csr_array(FEATURES)), FixedSparse(DFNet.operator(csr_array(GRAPH))))
    return model, weights, inputs


def _operator() -> np.ndarray:
    def normalised(matrix: np.ndarray) -> np.ndarray:
        root = np.diag(1 / np.sqrt(matrix.sum(1)))
        return root @ matrix @ root

    return -normalised(normalised(GRAPH + np.eye(4)) + np.eye(4))


def _layer_by_hand(w: dict, k: int, units: int, x: np.ndarray, batch: bool) -> np.ndarray:
    mean, variance = (x.mean(0), x.var(0)) if batch else (w[f"mean_{k}"], w[f"variance_{k}"])
    x = w[f"gamma_{k}"] * (x - mean) / np.sqrt(variance + 1e-3) + w[f"beta_{k}"]
    numerator, denominator = filter_coefficients()
    powers = [np.linalg.matrix_power(_operator(), p) for p in range(6)]
    ahead = sum(b * p for b, p in zip(numerator, powers, strict=False))
    back = sum(a * p for a, p in zip(denominator, powers[1:], strict=True))
    wide = -back @ x @ w[f"ar_{k}"] + ahead @ FEATURES @ w[f"ma_{k}"] + w[f"bias_{k}"]
    heads = []
    for head, values in enumerate(np.split(wide, 2, axis=1)):
        left, right = np.split(w[f"scores_{k}"][head], 2)
        raw = (values @ left + w[f"score_bias_{k}"][head])[:, None] + (values @ right)[None, :]
        share = np.exp(np.where(raw > 0, raw, np.expm1(raw))) * ((GRAPH + np.eye(4)) > 0)
        heads.append(share / share.sum(1, keepdims=True) @ values)
    return np.maximum(np.hstack(heads), 0)


def _by_hand(weights: dict, trial: int, batch: bool) -> np.ndarray:
    w = {name: tensor[trial].numpy().astype(float) for name, tensor in weights.items()}
    x = FEATURES
    for k, units in enumerate((2, 3)):
        x = np.hstack([x, _layer_by_hand(w, k, units, x, batch)])
    return x @ w["last"] + w["last_bias"]


def test_forward_pass_uses_the_running_moments() -> None:
    model, weights, inputs = _setting()
    logits = model.forward(weights, inputs, None)
    for trial in range(2):
        np.testing.assert_allclose(logits[trial], _by_hand(weights, trial, False), rtol=2e-3)


def test_loss_uses_the_moments_of_the_batch_and_averages_them() -> None:
    model, weights, inputs = _setting()
    targets = Targets.from_sets(np.tile(LABELS, (2, 1)), [TRAIN, TRAIN], "train")
    prepared = model.prepare(inputs, targets)
    losses, first = model.loss(weights, inputs, prepared, NOISE)
    for trial in range(2):
        logits = torch.from_numpy(_by_hand(weights, trial, True))[TRAIN]
        expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(LABELS[TRAIN]))
        assert losses[trial].item() == pytest.approx(expected.item(), rel=1e-2)
    # the first average is the batch's own; later ones keep 99 parts in 100 in the long run
    np.testing.assert_allclose(first["mean_0"], np.tile(FEATURES.mean(0), (2, 1)), rtol=1e-5)
    np.testing.assert_allclose(first["variance_0"], np.tile(FEATURES.var(0), (2, 1)), rtol=1e-4)
    _, late = model.loss(weights, inputs, prepared, replace(NOISE, step=5000))
    expected = 0.99 * weights["mean_0"] + 0.01 * first["mean_0"]
    torch.testing.assert_close(late["mean_0"], expected)
    assert {name[: name.rindex("_")] for name in first} == {"mean", "variance"}


def test_gradient_agrees_with_a_finite_difference() -> None:
    model, weights, inputs = _setting()
    targets = Targets.from_sets(np.tile(LABELS, (2, 1)), [TRAIN, TRAIN], "train")
    prepared = model.prepare(inputs, targets)
    for name in ("ar_1", "gamma_0", "beta_1", "scores_0", "ma_0"):
        leaf = weights[name].clone().requires_grad_()
        loss = model.loss({**weights, name: leaf}, inputs, prepared, NOISE)[0].sum()
        direction = torch.randn(leaf.shape, generator=torch.Generator().manual_seed(1))
        slope = (torch.autograd.grad(loss, leaf)[0] * direction).sum().item()
        ends = [
            model.loss({**weights, name: weights[name] + h * direction}, inputs, prepared, NOISE)[0]
            for h in (-1e-3, 1e-3)
        ]
        difference = (ends[1].double().sum() - ends[0].double().sum()).item() / 2e-3
        assert slope == pytest.approx(difference, rel=0.05, abs=0.02), name


def test_columns_and_biases_have_length_one_after_a_step() -> None:
    model, weights, _ = _setting()
    model.constrain(weights)
    for name in ("ar_0", "ma_1", "last"):
        np.testing.assert_allclose(weights[name].norm(dim=1), 1, rtol=1e-4)
    np.testing.assert_allclose(weights["bias_1"].view(2, 2, 3).norm(dim=2), 1, rtol=1e-4)
    np.testing.assert_allclose(weights["scores_1"].norm(dim=2), 1, rtol=1e-4)
    np.testing.assert_allclose(weights["score_bias_0"].abs(), 1, rtol=1e-4)
    np.testing.assert_allclose(weights["last_bias"].norm(dim=1), 1, rtol=1e-4)


def test_legacy_class_weights_are_off_by_one() -> None:
    model, _, inputs = _setting(replace(SETTINGS, legacy_class_weights=True))
    targets = Targets.from_sets(LABELS[None], [TRAIN], "train")
    _, weighted = model.prepare(inputs, targets)
    # four nodes, three "classes": unlabelled (1 node), class 0 (1 node), class 1 (2 nodes);
    # class 0 gets the weight of the unlabelled, class 1 that of class 0
    assert weighted.classes.tolist() == [1, 0, 1]
    np.testing.assert_allclose(weighted.weights, [4 / 9, 4 / 9, 4 / 9], rtol=1e-6)
    _, plain = _setting()[0].prepare(inputs, targets)
    np.testing.assert_allclose(plain.weights, 1 / 3, rtol=1e-6)


def test_hyperparameters_are_those_of_the_authors() -> None:
    model = DFNet(DFNetSettings(), 3, 2)
    settings = model.settings
    assert (settings.units, settings.heads) == ((8, 16, 32, 64), 4)
    assert (settings.dropout, settings.attention_dropout) == (0.9, 0.5)
    assert (settings.learning_rate, settings.epochs, model.stopping) == (0.002, 200, None)
    assert model.decay()["ar_3"] == pytest.approx(1.8e-3)
    weights = DFNet(DFNetSettings(), 500, 7).initial(np.array([0]))
    assert weights["ar_3"].shape == (1, 500 + 4 * (8 + 16 + 32), 4 * 64)
    assert weights["ma_0"].std().item() == pytest.approx(np.sqrt(2 / 508), rel=0.02)
