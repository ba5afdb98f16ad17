"""The loss of decoded features: against the dense formula, and its gradients."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.errors import InputError
from truegraph.nn.autoencoders.feature_reconstruction import FeatureLoss, can_be_decoded


def random_case(n_nodes: int, n_features: int, dimension: int):
    rng = np.random.default_rng([n_nodes, n_features, dimension])
    features = sparse.random_array((n_nodes, n_features), density=0.2, rng=rng, format="lil")
    features[0, 1] = 1.0
    features = sparse.csr_array(features)
    parts = [(n_nodes, dimension), (dimension, n_features), (n_features,)]
    return features, [torch.from_numpy(rng.normal(scale=0.7, size=shape)) for shape in parts]


def dense_loss(features, z, weights, bias):
    y = torch.from_numpy(features.toarray())
    pos_weight = (y.numel() - y.sum()) / y.sum()
    logits = z @ weights + bias
    zero = torch.zeros_like(logits)
    positive, negative = torch.logaddexp(-logits, zero), torch.logaddexp(logits, zero)
    return (pos_weight * y * positive + (1.0 - y) * negative).mean()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-10)])
@pytest.mark.parametrize(
    "shape", [(1, 2, 1), (5, 3, 2), (64, 128, 4), (65, 129, 15), (300, 257, 50)], ids=str
)
def test_equals_the_dense_loss_with_its_gradients(shape, dtype, tolerance):
    features, parts = random_case(*shape)
    leaves = [part.clone().requires_grad_() for part in parts]
    expected = dense_loss(features, *leaves)
    gradients = torch.autograd.grad(expected, leaves)
    ours = [part.to(dtype).requires_grad_() for part in parts]
    loss = FeatureLoss(features)(*ours)
    assert loss.item() == pytest.approx(expected.item(), rel=tolerance)
    for own, gradient in zip(torch.autograd.grad(loss, ours), gradients, strict=True):
        assert own.dtype == dtype
        assert (own - gradient).abs().max() <= tolerance * gradient.abs().max()


def test_gradients_agree_with_finite_differences():
    features, parts = random_case(6, 4, 3)
    leaves = [part.requires_grad_() for part in parts]
    loss = FeatureLoss(features)
    assert torch.autograd.gradcheck(lambda *own: 1.5 * loss(*own), leaves)


def test_compiled_gradient_agrees_with_differences_of_the_compiled_loss():
    features, parts = random_case(150, 140, 20)
    loss = FeatureLoss(features)
    z, weights, bias = (part.float() for part in parts)
    direction = torch.randn(weights.shape, generator=torch.Generator().manual_seed(0))
    _, (_, gradient, _) = loss.value_and_gradients(z, weights, bias)
    step = 1e-2
    ahead, _ = loss.value_and_gradients(z, weights + step * direction, bias)
    behind, _ = loss.value_and_gradients(z, weights - step * direction, bias)
    slope = (gradient * direction).sum().item()
    assert (ahead - behind) / (2.0 * step) == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_logits_have_the_closed_form(dtype):
    features, parts = random_case(30, 20, 4)
    z, weights, bias = (torch.zeros_like(part).to(dtype) for part in parts)
    total, entries = features.sum(), 600
    pos_weight = (entries - total) / total
    expected = math.log(2.0) * (pos_weight * total + entries - total) / entries
    assert FeatureLoss(features)(z, weights, bias).item() == pytest.approx(expected, rel=1e-6)


def test_bits_do_not_depend_on_the_number_of_threads():
    features, parts = random_case(500, 300, 50)
    loss, before = FeatureLoss(features), torch.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            results.append(loss.value_and_gradients(*(part.float() for part in parts)))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert results[0][0] == results[1][0]
    assert all(torch.equal(a, b) for a, b in zip(results[0][1], results[1][1], strict=True))


def test_memory_is_linear():
    features = sparse.random_array(
        (4000, 3000), density=0.001, rng=np.random.default_rng(0), format="csr"
    )
    loss = FeatureLoss(features)
    parts = (torch.zeros((4000, 8)), torch.zeros((8, 3000)), torch.zeros(3000))
    tracemalloc.start()
    try:
        loss.value_and_gradients(*parts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000  # one dense matrix would take 48 MB


def test_negative_and_constant_features_cannot_be_decoded():
    good = sparse.csr_array(np.array([[0.0, 1.0], [0.3, 0.0]]))
    assert can_be_decoded(good)
    assert can_be_decoded(7.0 * good)
    for bad in (-good, 0.0 * good, sparse.csr_array(np.ones((2, 2)))):
        assert not can_be_decoded(bad)
    with pytest.raises(
        InputError, match=r"features lie between -1 and 0.*scale them into \[0, 1\]"
    ):
        FeatureLoss(-good)


def test_features_above_1_count_as_1():
    features, parts = random_case(20, 10, 3)
    larger = features.copy()
    larger.data[larger.data == 1.0] = 40.0
    assert FeatureLoss(larger)(*parts) == FeatureLoss(features)(*parts)
