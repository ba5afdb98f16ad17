"""The perceptron as one operation: values, gradients, and the same bits alone or among others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from truegraph.nn import device
from truegraph.nn.dropout import Noise
from truegraph.nn.perceptron import perceptron
from truegraph.nn.sparse import FixedSparse

RATE = 0.4
TRIALS, INPUTS, HIDDEN, CLASSES = 3, 11, 8, 4


def _matrix(seed: int = 0) -> csr_array:
    return csr_array(random_array((30, INPUTS), density=0.3, rng=np.random.default_rng(seed)))


def _features(kind: str, dtype: type[np.floating] = np.float32) -> FixedSparse:
    if kind == "own":
        return FixedSparse([_matrix(seed) for seed in range(TRIALS)], dtype=dtype)
    shared = FixedSparse(_matrix(), dtype=dtype)
    if kind == "shared":
        return shared
    return shared.select_rows([np.arange(9), np.array([2, 5]), np.array([29, 3, 8])], height=16)


def _weights(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"first": (TRIALS, INPUTS, HIDDEN), "second": (TRIALS, HIDDEN, CLASSES)}
    return {
        name: torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()
        for name, shape in shapes.items()
    }


def _noise() -> Noise:
    return Noise(np.arange(TRIALS, dtype=np.uint64), 5)


def _value_and_gradients(features: FixedSparse) -> list[torch.Tensor]:
    weights = _weights()
    value = perceptron(weights, features, _noise(), RATE)
    slope = torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
    return [value.detach(), *torch.autograd.grad((value * slope).sum(), list(weights.values()))]


@pytest.mark.parametrize("kind", ["shared", "own", "selected"])
def test_gradients_agree_with_finite_differences(kind: str) -> None:
    features, weights = _features(kind, np.float64), _weights(torch.float64)

    def output(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return perceptron({"first": first, "second": second}, features, _noise(), RATE)

    assert torch.autograd.gradcheck(output, tuple(weights.values()))


@pytest.mark.parametrize("kind", ["shared", "own", "selected"])
def test_layer_by_layer_it_is_the_same(kind: str) -> None:
    """Samples of a prediction take no gradient and go layer by layer."""
    features = _features(kind)
    in_one = perceptron(_weights(), features, _noise(), RATE).detach()
    with torch.no_grad():
        layered = perceptron(_weights(), features, _noise(), RATE)
    torch.testing.assert_close(layered, in_one, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["shared", "own", "selected"])
def test_the_torch_operators_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _value_and_gradients(_features(kind))
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    for one, other in zip(ours, _value_and_gradients(_features(kind)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_a_trial_has_the_same_bits_alone_and_among_others() -> None:
    features, weights = _features("own"), _weights()
    together = perceptron(weights, features, _noise(), RATE)
    chosen = np.array([2])
    own = {name: weight.detach()[chosen].requires_grad_() for name, weight in weights.items()}
    noise = Noise(_noise().seeds[chosen], _noise().step)
    alone = perceptron(own, features.select(chosen), noise, RATE)
    assert torch.equal(together[chosen], alone)
    whole = torch.autograd.grad(together.sum(), list(weights.values()))
    part = torch.autograd.grad(alone.sum(), list(own.values()))
    for one, other in zip(whole, part, strict=True):
        assert torch.equal(one[chosen], other)


def test_not_a_number_is_not_hidden() -> None:
    weights = _weights()
    weights["first"] = torch.full_like(weights["first"], torch.nan).requires_grad_()
    assert perceptron(weights, _features("shared"), _noise(), RATE).isnan().any()
