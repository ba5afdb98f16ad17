"""Training of the small network that scores pairs of nodes.

It is to find links that a graph lacks: the links are cut into parts, and those of a part are
scored, beside as many random pairs, with vectors that were smoothed over the graph without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from truegraph.data.graphs.link_splits import Pairs
from truegraph.nn.autoencoders.base import one_torch_thread
from truegraph.tasks.links.refined.pair_network import PairNetwork

_WIDTH = 128
_DROPOUT = 0.5
_LEARNING_RATE = 5e-3
_WEIGHT_DECAY = 1e-2
_PASSES = 12
_BATCH = 2048  # links, and as many other pairs

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """Links to be found, and what may be known when they are looked for.

    Attributes
    ----------
    links : ndarray of int64, shape (n, 2)
    vectors : ndarray of float32, shape (N, d)
        Of all nodes, from the graph without these links.
    """

    links: Pairs
    vectors: Vectors


class _Scorer(nn.Module):
    """The network itself."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.project = nn.Linear(dimension, _WIDTH, bias=False)
        self.normalise = nn.LayerNorm(_WIDTH)
        self.inner = nn.Linear(_WIDTH, _WIDTH)
        self.drop = nn.Dropout(_DROPOUT)
        self.outer = nn.Linear(_WIDTH, 1)

    def embed(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return h of vectors (n, d), (n, 128)."""
        embedded: torch.Tensor = self.normalise(self.project(vectors))
        return embedded

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the logits of pairs of vectors (n, d) each, (n,)."""
        both = self.embed(first) * self.embed(second)
        logits: torch.Tensor = self.outer(self.drop(torch.relu(self.inner(both))))[:, 0]
        return logits


def train_pair_network(
    parts: list[TrainingPart],
    whole: Vectors,
    non_links: Callable[[int, np.random.Generator], Pairs],
    seed: int,
) -> PairNetwork:
    """Train a network to find the links of every part.

    Parameters
    ----------
    parts : list of TrainingPart
    whole : ndarray of float32, shape (N, d)
        Vectors of all nodes from the whole graph, which predictions are made with.
    non_links : callable
        Draws so many pairs without a link, or fewer if there are no more.
    seed : int
    """
    rng = np.random.default_rng([seed, 3])
    with one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _Scorer(whole.shape[1])
        optimiser = torch.optim.AdamW(
            network.parameters(), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY
        )
        network.train()
        for _ in range(_PASSES):
            for number in rng.permutation(len(parts)):
                part = parts[number]
                vectors, links = torch.from_numpy(part.vectors), rng.permutation(part.links)
                others = np.resize(non_links(len(links), rng), links.shape)
                for begin in range(0, len(links), _BATCH):
                    batch = slice(begin, begin + _BATCH)
                    _step(network, optimiser, vectors, links[batch], others[batch])
        return _finished(network.eval(), torch.from_numpy(whole))


def _step(
    network: _Scorer,
    optimiser: torch.optim.Optimizer,
    vectors: torch.Tensor,
    links: Pairs,
    others: Pairs,
) -> None:
    """Take one step towards telling links (n, 2) from other pairs (m, 2)."""
    ends = torch.from_numpy(np.concatenate([links, others]))
    truth = torch.zeros(len(ends))
    truth[: len(links)] = 1.0
    optimiser.zero_grad()
    logits = network(vectors[ends[:, 0]], vectors[ends[:, 1]])
    nn.functional.binary_cross_entropy_with_logits(logits, truth).backward()
    optimiser.step()


def _finished(network: _Scorer, whole: torch.Tensor) -> PairNetwork:
    with torch.no_grad():
        embedded = network.embed(whole)
    layers = (network.inner.weight, network.inner.bias, network.outer.weight[0], network.outer.bias)
    arrays = (tensor.detach().numpy().copy() for tensor in (embedded, *layers))
    return PairNetwork(*arrays)
