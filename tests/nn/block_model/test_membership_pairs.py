"""Random pairs of nodes: drawn evenly, summed rightly, differentiated rightly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from truegraph.nn import device
from truegraph.nn.block_model.membership_pairs import random_pair_agreement
from truegraph.nn.dropout import Noise, random_bits_torch

COUNTS = np.array([5, 9])


def _keys(step: int = 0) -> np.ndarray:
    return Noise(np.arange(2, dtype=np.uint64), step).keys(100)


def _memberships() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(2, 6, 3, generator=generator, dtype=torch.float64)


def test_agreement_is_the_sum_over_the_drawn_pairs() -> None:
    rows = _memberships()
    total = random_pair_agreement(rows, _keys(), COUNTS)
    drawn = (random_bits_torch(torch.arange(18), _keys()).numpy() * 6) >> 32
    for trial, count in enumerate(COUNTS):
        pairs = drawn[trial, : 2 * count].reshape(-1, 2)
        expected = sum(float(rows[trial, i] @ rows[trial, j]) for i, j in pairs)
        assert total[trial].item() == pytest.approx(expected)


def test_every_node_is_drawn_equally_often() -> None:
    single = torch.eye(6, dtype=torch.float64)[None]  # agreement counts pairs (i, i)
    count = 60_000
    own = random_pair_agreement(single, _keys()[:1], np.array([count])).item()
    assert own / count == pytest.approx(1 / 6, abs=4.5 * np.sqrt(5 / 36 / count))


def test_gradient_agrees_with_finite_differences() -> None:
    rows = _memberships().requires_grad_()
    assert torch.autograd.gradcheck(lambda y: random_pair_agreement(y, _keys(), COUNTS), (rows,))


def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = random_pair_agreement(_memberships(), _keys(), COUNTS)
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    torch.testing.assert_close(ours, random_pair_agreement(_memberships(), _keys(), COUNTS))


def test_each_step_draws_anew() -> None:
    first, second = (random_pair_agreement(_memberships(), _keys(s), COUNTS) for s in (0, 1))
    assert not torch.equal(first, second)
