"""APPNP (Klicpera et al., ICLR 2019): a perceptron whose predictions are spread by PageRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.nn.classifiers.mlp import MLP, MLPSettings
from truegraph.nn.dense import trial_matmul
from truegraph.nn.dropout import Noise
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import Weights
from truegraph.nn.perceptron import perceptron
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.receptive import operators_of
from truegraph.nn.training.targets import Targets, cross_entropy

_BLOCK = 10_000_000  # numbers that a block of the propagation holds
# Sums run over a multiple of so many nodes: a sum in vector lanes has no remainder then, and trials
# with fewer nodes get the same bits alone as beside others.
_LANES = 128


@dataclass(frozen=True)
class APPNPSettings(MLPSettings):
    """Hyperparameters of APPNP, for 200 epochs without early stopping.

    Parameters
    ----------
    restart : float
        Probability that the random walk returns to where it began.
    steps : int
        Number of propagation steps.
    coverage : float
        Share of the propagated weight that training keeps: of the nodes that the labelled ones
        reach, those with the least weight are left out as far as this allows. Their hidden units
        are then not computed in every epoch. Predictions are on the whole graph all the same.
    reach : int, optional
        Largest number of nodes to keep.
    """

    hidden: int = 64
    weight_decay: float = 5e-3
    restart: float = 0.1
    steps: int = 10
    coverage: float = 1.0
    reach: int | None = None


class SpreadRows(NamedTuple):
    """What the loss needs.

    ``spread`` (T, n0, n) are the rows of p(A) at the n0 labelled nodes, ``features`` (n, F) those
    of the nodes that they reach.
    """

    features: FixedSparse
    spread: torch.Tensor
    targets: Targets


class APPNP(MLP):
    """Z = p(A) relu(X W1) W2, p(A) being ``steps`` steps of personalised PageRank."""

    name = "appnp"
    settings_type = APPNPSettings

    @staticmethod
    def operator(adjacency: Any) -> csr_array:
        """Return the normalised adjacency with self-loops."""
        return normalised_adjacency(adjacency)

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C)."""
        start = super().forward(weights, inputs, noise)
        if inputs.operator.count > 1:
            return self._spread(inputs.operator, start)
        # One graph for all trials: propagate them side by side, in rows wide enough to be fast.
        trials, nodes, classes = start.shape
        side_by_side = start.transpose(0, 1).reshape(1, nodes, trials * classes)
        spread = self._spread(inputs.operator, side_by_side)
        return spread.view(nodes, trials, classes).transpose(0, 1)

    def _spread(self, operator: FixedSparse, start: torch.Tensor) -> torch.Tensor:
        """Return p(A) times each of (batch, N, width)."""
        restart = self.settings.restart
        returned, spread = restart * start, start
        for _ in range(self.settings.steps):
            spread = sparse_product(operator, spread).mul_(1.0 - restart).add_(returned)
        return spread

    def prepare(self, inputs: Inputs, targets: Targets) -> SpreadRows:  # type: ignore[override]
        """Return the rows of p(A) at the labelled nodes, so that no epoch has to propagate."""
        pairs = zip(operators_of(inputs, targets), targets.sets(), strict=True)
        rows = [self._rows(operator, labelled) for operator, labelled in pairs]
        reached = [_reached(spread, self.settings) for spread in rows]
        width = -(-max(map(len, reached)) // _LANES) * _LANES
        size = (len(rows), max(map(len, rows)), width)
        stacked = np.zeros(size, dtype=np.float32)
        for trial, (spread, nodes) in enumerate(zip(rows, reached, strict=True)):
            stacked[trial, : len(spread), : len(nodes)] = spread[:, nodes]
        features = inputs.features.select_rows(reached, height=width)
        return SpreadRows(features, torch.from_numpy(stacked), targets.local())

    def _rows(self, operator: csr_array, nodes: np.ndarray) -> np.ndarray:
        """Return the rows of p(A) at some nodes, (len(nodes), N)."""
        backward = FixedSparse(operator.T.tocsr())
        found = np.empty((len(nodes), operator.shape[0]), dtype=np.float32)
        width = max(1, _BLOCK // operator.shape[0])
        for begin in range(0, len(nodes), width):
            part = nodes[begin : begin + width]
            start = torch.zeros((1, operator.shape[0], len(part)))
            start[0, part, np.arange(len(part))] = 1.0
            found[begin : begin + width] = self._spread(backward, start)[0].T
        return found

    def loss(  # type: ignore[override]
        self, weights: Weights, inputs: Inputs, prepared: SpreadRows, noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return the mean cross-entropy of each trial's labelled nodes, (T,)."""
        start = perceptron(weights, prepared.features, noise, self.settings.dropout)
        logits = trial_matmul(prepared.spread.to(start.device), start)
        return cross_entropy(logits, prepared.targets), {}


def _reached(spread: np.ndarray, settings: APPNPSettings) -> np.ndarray:
    """Return the columns of (n0, N) that carry weight, without the lightest ones."""
    weight = spread.sum(axis=0, dtype=np.float64)
    most = len(weight) if settings.reach is None else settings.reach
    if settings.coverage >= 1.0 and np.count_nonzero(weight) <= most:
        return np.flatnonzero(weight)
    order = np.argsort(-weight, kind="stable")
    kept = np.searchsorted(np.cumsum(weight[order]), settings.coverage * weight.sum()) + 1
    return np.sort(order[: min(kept, most)])
