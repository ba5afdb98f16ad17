"""What every training needs: seeds, Adam, a loss that is finite, and one thread.

On one thread sums come in one order, so that a seed gives the same bits on any number of cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.optim.adam import adam

from truegraph.errors import TruegraphError

_SETTINGS: dict[str, Any] = {
    **{"beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    **{"fused": True, "amsgrad": False, "maximize": False},
}
_locks: dict[int, threading.RLock] = {}  # by process: a forked child must not wait for its parent


class TrainingError(TruegraphError):
    """Training failed: a loss is not finite."""


def stream(seed: int, number: int, device: str | torch.device = "cpu") -> torch.Generator:
    """Return one of the independent streams of random numbers of a seed."""
    state = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


class Adam:
    """Adam with L2 on the weights whose names `weight_decay` has.

    This calls the function behind `torch.optim.Adam`. The class loads torch's compiler at its first
    step, which takes 0.9 processor seconds in every process.
    """

    def __init__(
        self,
        weights: Mapping[str, torch.Tensor],
        learning_rate: float,
        weight_decay: Mapping[str, float] | None = None,
    ) -> None:
        self._rate, self._weights = learning_rate, list(weights.values())
        self._decay = [(weight_decay or {}).get(name, 0.0) for name in weights]
        self._moments = [[torch.zeros_like(weight) for _ in range(2)] for weight in self._weights]
        self._steps = [torch.zeros((), device=weight.device) for weight in self._weights]

    @torch.no_grad()
    def step(self, loss: torch.Tensor) -> None:
        """Move the weights down the gradient of a loss."""
        slopes = torch.autograd.grad(loss, self._weights)
        parts = (self._weights, slopes, self._moments, self._steps, self._decay)
        for weight, slope, (first, second), steps, decay in zip(*parts, strict=True):
            # The fused loop reads memory in the order of the gradient.
            lists: Any = [[weight], [slope.contiguous()], [first], [second], [], [steps]]
            adam(*lists, **_SETTINGS, lr=self._rate, weight_decay=decay)


def check_finite(loss: torch.Tensor, name: str) -> None:
    """Raise a TrainingError if the last loss of a model is not finite; NaN never goes away."""
    if not torch.isfinite(loss):
        raise TrainingError(
            f"the loss of {name} is {loss.item()}. Scale the columns of the features (a DataFrame "
            "or a .csv or .parquet file is scaled for you), or lower learning_rate in options."
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work on one thread; blocks of different threads run one after another.

    Threads started inside the block also use one thread and must not enter a block of their own.
    """
    with _locks.setdefault(os.getpid(), threading.RLock()):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
