"""Adam with coupled L2, elementwise over all trials, writing to fresh memory.

The new weights go to other arrays than the old ones, so that an interrupted step leaves the
last complete state untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn import device

Weights = dict[str, torch.Tensor]
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class AdamState:
    """Weights with the first and second moments of their gradients, and the steps done.

    Every tensor has the trials as its leading dimension.
    """

    weights: Weights
    first: Weights
    second: Weights
    steps: int

    @classmethod
    def start(cls, weights: Weights) -> AdamState:
        """Return the state before the first step."""
        zeros = [{name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2)]
        return cls(weights, zeros[0], zeros[1], 0)

    def select(self, trials: np.ndarray | slice) -> AdamState:
        """Return copies of the state of some trials."""
        return AdamState(
            select_trials(self.weights, trials),
            select_trials(self.first, trials),
            select_trials(self.second, trials),
            self.steps,
        )


def select_trials(weights: Weights, trials: np.ndarray | slice) -> Weights:
    """Return copies of the weights of some trials."""
    return {name: tensor.detach()[trials].clone() for name, tensor in weights.items()}


def adam_step(
    state: AdamState,
    gradients: Weights,
    decay: dict[str, float],
    learning_rate: float,
    spare: AdamState,
) -> AdamState:
    """Return the state after one step, written to the memory of ``spare``.

    Parameters
    ----------
    state : AdamState
    gradients : dict of tensors
        Weights without a gradient (running averages) are copied.
    decay : dict
        Coefficient of L2 per weight: the gradient gets ``decay * weight`` added.
    learning_rate : float
    spare : AdamState
        Shapes as in ``state``; its content is lost.
    """
    steps = state.steps + 1
    rate = learning_rate / (1.0 - _BETA1**steps)
    root = float(np.sqrt(1.0 - _BETA2**steps))
    for name, weight in state.weights.items():
        if name not in gradients:
            spare.weights[name].copy_(weight.detach())
            continue
        old = (weight.detach(), state.first[name], state.second[name])
        new = (spare.weights[name].detach(), spare.first[name], spare.second[name])
        update = _update_kernel if device.uses_kernels(weight) else _update_torch
        update(gradients[name].contiguous(), old, new, decay.get(name, 0.0), rate, root)
    return AdamState(spare.weights, spare.first, spare.second, steps)


Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _update_kernel(
    gradient: torch.Tensor, old: Triple, new: Triple, decay: float, rate: float, root: float
) -> None:
    before, after = (tuple(tensor.numpy().reshape(-1) for tensor in part) for part in (old, new))
    numbers = (np.float32(decay), np.float32(rate), np.float32(root))
    _adam_kernel(numbers, gradient.numpy().reshape(-1), before, after)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _adam_kernel(numbers: Any, gradient: np.ndarray, old: Any, new: Any) -> None:
    decay, rate, root = numbers
    weight, first, second = old
    new_weight, new_first, new_second = new
    beta1, beta2, epsilon = np.float32(_BETA1), np.float32(_BETA2), np.float32(_EPSILON)
    rest1, rest2 = np.float32(1.0 - _BETA1), np.float32(1.0 - _BETA2)
    for k in range(gradient.size):
        slope = gradient[k] + decay * weight[k]
        m = beta1 * first[k] + rest1 * slope
        v = beta2 * second[k] + rest2 * slope * slope
        new_first[k], new_second[k] = m, v
        new_weight[k] = weight[k] - rate * m / (np.sqrt(v) / root + epsilon)


def _update_torch(
    gradient: torch.Tensor, old: Triple, new: Triple, decay: float, rate: float, root: float
) -> None:
    weight, first, second = old
    slope = gradient + decay * weight
    new[1].copy_(_BETA1 * first + (1.0 - _BETA1) * slope)
    new[2].copy_(_BETA2 * second + (1.0 - _BETA2) * slope * slope)
    new[0].copy_(weight - rate * new[1] / (new[2].sqrt() / root + _EPSILON))
