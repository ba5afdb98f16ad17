"""Attention: by hand, by finite differences, and by torch's operators."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn import device
from truegraph.nn.attention import Neighbourhoods, attend
from truegraph.nn.dropout import Dropout, Noise, survivors_torch
from truegraph.nn.sparse import FixedSparse

PATTERN = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]], dtype=float)
OWN = np.array([[0, 3, 0]])


def _near(stacked: bool = False) -> Neighbourhoods:
    if not stacked:
        return Neighbourhoods(FixedSparse(csr_array(PATTERN), dtype=np.float64), OWN)
    both = FixedSparse([csr_array(PATTERN), csr_array(1 - PATTERN)], dtype=np.float64)
    return Neighbourhoods(both, np.vstack([OWN, [[2, 0, 4]]]))


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _dropout(batch: int) -> Dropout:
    return Dropout(Noise(np.arange(batch, dtype=np.uint64), 3).keys(1), 0.4)


def _by_hand(values, scores, mask, slope):
    raw = scores[OWN[0], 0][:, None] + scores[:, 1][None, :]
    active = np.where(raw >= 0, raw, np.expm1(np.minimum(raw, 0)) if slope is None else slope * raw)
    share = np.exp(active) * PATTERN
    share = share / np.maximum(share.sum(1, keepdims=True), 1e-30)
    return (share * mask) @ values


@pytest.mark.parametrize("slope", [0.2, None])
def test_coefficients_are_a_softmax_over_the_neighbourhood(slope: float | None) -> None:
    values, scores = _random(2, 5, 3), 2 * _random(2, 5, 2, seed=1)
    out = attend(_near(), values, scores, slope, None)
    for batch in range(2):
        expected = _by_hand(values[batch].numpy(), scores[batch].numpy(), 1.0, slope)
        np.testing.assert_allclose(out[batch], expected, atol=1e-12)
    assert (out[:, 2] == 0).all()  # a row without neighbours


def test_dropout_comes_after_the_softmax() -> None:
    values, scores, dropout = _random(2, 5, 3), _random(2, 5, 2, seed=1), _dropout(2)
    out = attend(_near(), values, scores, 0.2, dropout)
    kept = survivors_torch(torch.arange(6), dropout).numpy() / 0.6
    for batch in range(2):
        mask = np.zeros_like(PATTERN)
        mask[PATTERN > 0] = kept[batch]
        expected = _by_hand(values[batch].numpy(), scores[batch].numpy(), mask, 0.2)
        np.testing.assert_allclose(out[batch], expected, atol=1e-12)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("slope", [0.2, None])
@pytest.mark.parametrize("drop", [False, True])
def test_gradient_agrees_with_finite_differences(stacked, slope, drop) -> None:
    values = _random(4, 5, 3).requires_grad_()
    scores = _random(4, 5, 2, seed=1).requires_grad_()
    dropout = _dropout(4) if drop else None
    assert torch.autograd.gradcheck(
        lambda v, s: attend(_near(stacked), v, s, slope, dropout), (values, scores)
    )


@pytest.mark.parametrize("slope", [0.2, None])
@pytest.mark.parametrize("drop", [False, True])
def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch, slope, drop) -> None:
    dropout = _dropout(4) if drop else None

    def value_and_gradients() -> tuple[torch.Tensor, ...]:
        values = _random(4, 5, 3).requires_grad_()
        scores = _random(4, 5, 2, seed=1).requires_grad_()
        out = attend(_near(stacked=True), values, scores, slope, dropout)
        return (out.detach(), *torch.autograd.grad((out**2).sum(), (values, scores)))

    ours = value_and_gradients()
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    for first, second in zip(ours, value_and_gradients(), strict=True):
        torch.testing.assert_close(first, second)


def test_large_scores_do_not_overflow() -> None:
    values, scores = _random(1, 5, 3).float(), 1e4 * _random(1, 5, 2, seed=1).float()
    near = Neighbourhoods(FixedSparse(csr_array(PATTERN)), OWN)
    assert attend(near, values, scores, 0.2, None).isfinite().all()
