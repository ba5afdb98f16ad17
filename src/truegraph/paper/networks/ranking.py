"""What the networks of recommendation have in common: embeddings, the graph, BPR, new users.

Nodes are the users and then the items. A network makes a vector of every node; the score of a user
and an item is the dot product of their vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, diags_array, vstack
from torch.nn.functional import embedding, softplus

from truegraph.errors import InputError
from truegraph.options import checked_options
from truegraph.paper.networks.sparse import Noise, glorot_uniform


class Triples(NamedTuple):
    """One batch: users (n,), positives (n,) and negatives (n, count), numbers from 0."""

    users: torch.Tensor
    positives: torch.Tensor
    negatives: torch.Tensor


class RankingNetwork(torch.nn.Module):
    """A recommender on observed interactions (U, I) that is trained on triples.

    `options` take the place of those of `DEFAULTS`: ``width`` of the embeddings; ``learning_rate``
    of Adam, None for what is best on held-out interactions; ``penalty`` on squared lengths;
    ``batch`` triples with ``negatives`` for each positive; at most ``epochs``, and ``patience``
    epochs without a gain. A batch `draws` "users", with one positive each, or "interactions".
    `generator` draws the first weights on the CPU.
    """

    name: ClassVar[str]
    draws: ClassVar[str] = "users"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "width": 64,
        "learning_rate": None,
        "penalty": 1e-4,
        "batch": 1024,
        "negatives": 1,
        "epochs": 1000,
        "patience": 50,
    }

    def __init__(
        self,
        observed: csr_array,
        options: Mapping[str, Any] | None = None,
        generator: torch.Generator | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        self.options = SimpleNamespace(**checked_options(self.DEFAULTS, options))
        rate = self.options.learning_rate
        is_number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
        if rate is not None and not (is_number and 0.0 < rate < np.inf):
            raise InputError(f"learning_rate={rate!r} must be a finite number above 0.")
        self.observed, self.place = observed, device
        self.n_users, self.n_items = (int(size) for size in observed.shape)
        self.start(torch.Generator().manual_seed(0) if generator is None else generator)
        self.to(device)

    def start(self, generator: torch.Generator) -> None:
        """Make the operators and the weights; here E, Glorot uniform, users and items apart."""
        width = self.options.width
        sides = [glorot_uniform(generator, size, width) for size in (self.n_users, self.n_items)]
        self.E = torch.nn.Parameter(torch.cat([side.detach() for side in sides]))

    def forward(self, noise: Noise = None) -> torch.Tensor:
        """Return the vectors (U + I, d); without noise nothing is dropped."""
        raise NotImplementedError

    def loss(self, batch: Triples, noise: Noise = None) -> torch.Tensor:
        """Return the loss of a batch: BPR, and the penalty on the batch's vectors."""
        u, i, j = self.rows(self(noise), batch)
        return bpr(u, i, j) + self.options.penalty * half_squares(u, i, j)

    def rows(self, vectors: torch.Tensor, batch: Triples) -> tuple[torch.Tensor, ...]:
        """Return the vectors of users (n, d), positives (n, d) and negatives (n, count, d)."""
        users, positives, negatives = batch
        items = torch.cat([positives, negatives.flatten()]) + self.n_users
        found = embedding(torch.cat([users, items]), vectors)  # at once: one gradient is filled
        u, i, j = found.split([len(users), len(users), negatives.numel()])
        return u, i, j.view(*negatives.shape, -1)

    @torch.no_grad()
    def new_users(self, histories: csr_array) -> NDArray[np.float32]:
        """Return vectors (m, d) of new users with these histories (m, I), without training.

        The new users join the graph. Each starts from the mean embedding of the users of its items.
        """
        both = csr_array(vstack([self.observed, histories], format="csr"))
        parts = self.state_dict()
        users, items = self.E.detach().cpu().split([self.n_users, self.n_items])
        by_item = means(csr_array(self.observed.T)) @ users.numpy()
        begin = torch.from_numpy((means(histories) @ by_item).astype(np.float32))
        parts["E"] = torch.cat([users, begin, items])
        wider = type(self).restored(both, vars(self.options), parts, self.place)
        found: NDArray[np.float32] = wider()[self.n_users : both.shape[0]].cpu().numpy()
        return found

    @classmethod
    def restored(
        cls,
        observed: csr_array,
        options: Mapping[str, Any],
        weights: Mapping[str, torch.Tensor],
        device: str = "cpu",
    ) -> Self:
        """Return a network with these weights."""
        network = cls(observed, options, device=device)
        network.load_state_dict(dict(weights))
        return network


def bpr(u: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
    """Return the mean of -log sigmoid(u . i - u . j) over users, positives and negatives."""
    margins = (u[:, None] * (i[:, None] - j)).sum(2)
    return softplus(-margins).mean()


def half_squares(u: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
    """Return half the squared lengths of a batch's vectors, per user, positive and negative."""
    total = u.square().sum() + i.square().sum() + j.square().sum()
    return 0.5 * total / (j.shape[0] * j.shape[1])


def bipartite(observed: csr_array) -> csr_array:
    """Return the symmetric adjacency matrix over users and items."""
    pairs = observed.astype(np.float64)
    return csr_array(block_array([[None, pairs], [pairs.T, None]], format="csr"))


def means(weights: csr_array) -> csr_array:
    """Divide each row by its sum; a row without entries stays so."""
    sums = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return csr_array(diags_array(scale) @ weights)
