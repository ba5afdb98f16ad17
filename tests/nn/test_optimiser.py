"""Adam: the steps of torch's, written elsewhere, the same alone and among others."""

from __future__ import annotations

import pytest
import torch

from truegraph.nn import device
from truegraph.nn.optimiser import AdamState, adam_step


def _weights(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(3, 5, 7, generator=generator) for name in ("decayed", "free")}


def _steps(count: int = 5) -> AdamState:
    state = AdamState.start(_weights(0))
    spare = AdamState.start(_weights(1))
    for step in range(count):
        after = adam_step(state, _weights(10 + step), {"decayed": 0.1}, 0.01, spare)
        state, spare = after, state
    return state


def test_steps_are_those_of_torch() -> None:
    ours = _steps()
    reference = {name: w.clone().requires_grad_() for name, w in _weights(0).items()}
    optimiser = torch.optim.Adam(
        [
            {"params": [reference["decayed"]], "weight_decay": 0.1},
            {"params": [reference["free"]]},
        ],
        lr=0.01,
    )
    for step in range(5):
        for name, gradient in _weights(10 + step).items():
            reference[name].grad = gradient
        optimiser.step()
    assert ours.steps == 5
    for name, weight in reference.items():
        torch.testing.assert_close(ours.weights[name], weight.detach(), rtol=1e-5, atol=1e-6)


def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _steps()
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    for name, weight in _steps().weights.items():
        torch.testing.assert_close(ours.weights[name], weight, rtol=1e-5, atol=1e-6)


def test_the_old_state_is_left_as_it_was() -> None:
    state, spare = AdamState.start(_weights(0)), AdamState.start(_weights(1))
    adam_step(state, _weights(10), {}, 0.01, spare)
    assert state.steps == 0
    assert all(torch.equal(state.weights[name], w) for name, w in _weights(0).items())


def test_weights_without_a_gradient_are_carried_over() -> None:
    state, spare = AdamState.start(_weights(0)), AdamState.start(_weights(1))
    after = adam_step(state, {"free": _weights(10)["free"]}, {}, 0.01, spare)
    assert torch.equal(after.weights["decayed"], _weights(0)["decayed"])
    assert not torch.equal(after.weights["free"], _weights(0)["free"])
