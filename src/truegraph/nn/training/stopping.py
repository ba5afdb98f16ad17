"""Early stopping, trial by trial.

A trial that stops keeps its best weights; the others go on as if it had never been there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Patience(NamedTuple):
    """How each of T trials stands: best values so far and epochs since the last gain."""

    loss: np.ndarray
    accuracy: np.ndarray
    waited: np.ndarray

    @classmethod
    def start(cls, trials: int) -> Patience:
        """Return the standing before the first epoch."""
        return cls(np.full(trials, np.inf), np.full(trials, -np.inf), np.zeros(trials, dtype=int))

    def select(self, trials: np.ndarray) -> Patience:
        """Return the standing of some trials."""
        return Patience(*(part[trials] for part in self))


@dataclass(frozen=True)
class EarlyStopping:
    """Stop after ``patience`` epochs without a gain on the validation nodes.

    Parameters
    ----------
    patience : int
    watch_accuracy : bool
        False: a gain is a lower loss, and its weights are kept. True (the rule of GAT): a gain
        is a loss or an accuracy at least as good as the best, and the weights are kept only
        when both are.
    """

    patience: int
    watch_accuracy: bool = False

    def judge(
        self, standing: Patience, loss: np.ndarray, accuracy: np.ndarray
    ) -> tuple[Patience, np.ndarray]:
        """Return the standing after an epoch, and which trials should keep its weights."""
        if self.watch_accuracy:
            lower, higher = loss <= standing.loss, accuracy >= standing.accuracy
            gain, keep = lower | higher, lower & higher
        else:
            gain = keep = loss < standing.loss
        after = Patience(
            np.minimum(loss, standing.loss),
            np.maximum(accuracy, standing.accuracy),
            np.where(gain, 0, standing.waited + 1),
        )
        return after, keep

    def exhausted(self, standing: Patience) -> np.ndarray:
        """Return which trials have run out of patience."""
        return standing.waited >= self.patience
