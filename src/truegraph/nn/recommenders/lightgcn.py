"""LightGCN, He et al., SIGIR 2020: the mean of the propagated embeddings, and nothing else.

The vectors are (E + A E + A^2 E + A^3 E) / 4 with A = D^-1/2 A D^-1/2. They are linear in the
embeddings E and A is symmetric, so the gradient with respect to E is the same expression applied to
the gradient with respect to the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array

from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import RankingModel, RankingSettings, initial_embeddings
from truegraph.nn.recommenders.bpr import batch_penalty, bpr_loss
from truegraph.nn.recommenders.propagation import symmetric_normalised
from truegraph.nn.recommenders.triples import Sampling, Triples
from truegraph.nn.sparse import FixedSparse, multiply


@dataclass(frozen=True)
class LightGCNSettings(RankingSettings):
    """Hyperparameters of LightGCN.

    Parameters
    ----------
    layers : int
    """

    layers: int = 3


class LightGCN(RankingModel):
    """LightGCN; vectors are as wide as the embeddings, whose lengths are penalised."""

    name: ClassVar[str] = "lightgcn"
    settings_type: ClassVar[type[RankingSettings]] = LightGCNSettings
    sampling: ClassVar[Sampling] = "users"
    settings: LightGCNSettings

    def __init__(self, settings: LightGCNSettings, train: csr_array) -> None:
        super().__init__(settings, train)
        self.operator = FixedSparse(symmetric_normalised(train))

    def initial(self, seed: int) -> Weights:
        """Return Glorot-uniform embeddings."""
        shape = (self.n_users, self.n_items, self.settings.width)
        return {"embeddings": initial_embeddings(seed, *shape)}

    def vectors(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        """Return the mean of the propagated embeddings; LightGCN drops nothing."""
        mean: torch.Tensor = _MeanOfLayers.apply(
            weights["embeddings"], self.operator, self.settings.layers
        )
        return mean

    def loss(self, weights: Weights, triples: Triples, noise: Noise | None) -> torch.Tensor:
        """Return BPR with a penalty on the embeddings, not on the vectors."""
        ranking = bpr_loss(self.vectors(weights, noise), triples, self.n_users)
        lengths = batch_penalty(weights["embeddings"], triples, self.n_users)
        return ranking + self.settings.penalty * lengths

    def fold_in(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Give new users the mean of their start and of what their items send in each layer."""
        by_item = 1.0 / np.sqrt(
            np.maximum(np.bincount(self.train.indices, minlength=self.n_items), 1)
        )
        by_user = 1.0 / np.sqrt(np.maximum(np.diff(history.indptr), 1))
        rows = csr_array(diags_array(by_user) @ history @ diags_array(by_item))
        total = self.first_vectors(weights, history)
        state = weights["embeddings"].detach()
        for _ in range(self.settings.layers):
            items = state[self.n_users :].numpy()
            total = total + torch.from_numpy((rows @ items).astype(np.float32))
            state = multiply(self.operator, state[None], None, transposed=False)[0]
        return total / (self.settings.layers + 1)


class _MeanOfLayers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: torch.Tensor, operator: FixedSparse, layers: int) -> torch.Tensor:
        ctx.operator, ctx.layers = operator, layers
        return _mean_of_layers(dense.contiguous(), operator, layers)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return _mean_of_layers(gradient.contiguous(), ctx.operator, ctx.layers), None, None


def _mean_of_layers(dense: torch.Tensor, operator: FixedSparse, layers: int) -> torch.Tensor:
    # Horner's scheme: E + A (E + A (E + A E))
    total = dense
    for _ in range(layers):
        total = multiply(operator, total[None], None, transposed=False)[0].add_(dense)
    return total / (layers + 1)
