"""Dense operations: values, gradients, and the same bits alone and among others."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from truegraph.nn import device
from truegraph.nn.dense import add_bias, dropout_values, relu_dropout, row_sum, trial_matmul
from truegraph.nn.dropout import Dropout, Noise


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _dropout(batch: int, rate: float = 0.4) -> Dropout:
    return Dropout(Noise(np.arange(batch, dtype=np.uint64), 3).keys(1), rate)


OPERATIONS = {
    "matmul": (trial_matmul, (3, 6, 5), (3, 5, 7)),
    "bias": (add_bias, (3, 6, 5), (3, 5)),
    "row sum": (row_sum, (3, 6, 5)),
    "dropout": (lambda x: dropout_values(x, _dropout(len(x))), (3, 6, 5)),
    "relu": (lambda x: relu_dropout(x, None), (3, 6, 5)),
    "relu and dropout": (lambda x: relu_dropout(x, _dropout(len(x))), (3, 6, 5)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradient_agrees_with_finite_differences(name: str) -> None:
    operation, *shapes = OPERATIONS[name]
    arguments = [_random(*s, seed=k).requires_grad_() for k, s in enumerate(shapes)]
    assert torch.autograd.gradcheck(operation, arguments)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_torch_operators_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operation, *shapes = OPERATIONS[name]
    arguments = [_random(*s, seed=k) for k, s in enumerate(shapes)]
    ours = operation(*arguments)
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    torch.testing.assert_close(ours, operation(*arguments))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_trial_has_the_same_bits_alone_and_among_others(name: str) -> None:
    operation, *shapes = OPERATIONS[name]
    arguments = [_random(50, *s[1:], seed=k).float() for k, s in enumerate(shapes)]
    together = operation(*arguments)
    # trial 0 has the first key of every batch, so it can stand alone
    assert torch.equal(together[:1], operation(*(a[:1] for a in arguments)))


def test_matmul_and_bias_by_hand() -> None:
    left = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    right = torch.tensor([[[5.0], [6.0]]])
    assert trial_matmul(left, right).tolist() == [[[17.0], [39.0]]]
    assert add_bias(left, torch.tensor([[10.0, 20.0]])).tolist() == [[[11.0, 22.0], [13.0, 24.0]]]


def test_dropout_keeps_the_mean() -> None:
    dropped = dropout_values(torch.ones(2, 500, 100), _dropout(2, 0.6))
    assert set(dropped.unique().tolist()) == {0.0, 2.5}
    np.testing.assert_allclose(dropped.mean((1, 2)), 1.0, atol=4.5 * np.sqrt(1.5 / 50_000))
    assert not torch.equal(dropped[0], dropped[1])


def test_not_a_number_is_not_hidden() -> None:
    tensor = torch.full((1, 40, 1), torch.nan)
    assert relu_dropout(tensor, _dropout(1, 0.5)).isnan().any()
