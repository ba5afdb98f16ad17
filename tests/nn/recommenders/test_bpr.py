"""The ranking loss: by hand, and its gradient against finite differences and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from truegraph.nn.recommenders.bpr import batch_penalty, bpr_loss
from truegraph.nn.recommenders.triples import Triples


def batch(count: int = 1, size: int = 6) -> Triples:
    rng = np.random.default_rng(0)
    return Triples(
        rng.integers(4, size=size), rng.integers(5, size=size), rng.integers(5, size=(size, count))
    )


def vectors(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    values = np.random.default_rng(1).normal(size=(9, 3))
    return torch.from_numpy(values).to(dtype).requires_grad_()


def plain_loss(found: torch.Tensor, triples: Triples, penalty: float) -> torch.Tensor:
    user = found[torch.from_numpy(triples.users)]
    liked = found[4 + torch.from_numpy(triples.positives)]
    other = found[4 + torch.from_numpy(triples.negatives)]
    margin = (user * liked).sum(1)[:, None] - (user[:, None] * other).sum(2)
    lengths = (user**2).sum() + (liked**2).sum() + (other**2).sum()
    return -torch.nn.functional.logsigmoid(margin).mean() + penalty * lengths / 2 / margin.numel()


def test_by_hand() -> None:
    found = torch.tensor([[1.0, 0.0], [2.0, 1.0], [1.0, 3.0]])  # one user, two items
    triples = Triples(np.array([0]), np.array([0]), np.array([[1]]))
    ranking = math.log(1 + math.exp(-1.0))  # 2 against 1
    assert float(bpr_loss(found, triples, 1)) == pytest.approx(ranking, rel=1e-6)
    squares = 0.5 * (1 + 5 + 10)
    assert float(batch_penalty(found, triples, 1)) == pytest.approx(squares)
    both = ranking + 0.1 * squares
    assert float(bpr_loss(found, triples, 1, 0.1)) == pytest.approx(both, rel=1e-6)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_value_and_gradient_are_torchs(count: int, penalty: float) -> None:
    ours, plain = vectors(), vectors()
    triples = batch(count)
    loss, expected = bpr_loss(ours, triples, 4, penalty), plain_loss(plain, triples, penalty)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    loss.backward()
    expected.backward()
    assert torch.allclose(ours.grad, plain.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("count", [1, 3])
def test_gradient_is_that_of_finite_differences(count: int) -> None:
    triples = batch(count)
    assert torch.autograd.gradcheck(lambda v: bpr_loss(v, triples, 4, 0.2), vectors())
    assert torch.autograd.gradcheck(lambda v: 3.0 * batch_penalty(v, triples, 4), vectors())


def test_huge_margins_stay_finite() -> None:
    found = torch.tensor([[100.0], [100.0], [-100.0]], requires_grad=True)
    right = Triples(np.array([0]), np.array([0]), np.array([[1]]))
    wrong = Triples(np.array([0]), np.array([1]), np.array([[0]]))
    assert bpr_loss(found, right, 1).item() == 0.0
    loss = bpr_loss(found, wrong, 1)
    assert loss.item() == pytest.approx(20_000.0)
    loss.backward()
    assert torch.isfinite(found.grad).all()
