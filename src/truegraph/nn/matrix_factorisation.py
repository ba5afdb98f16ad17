"""Matrix factorisation trained on triples (BPR-MF), Rendle et al., UAI 2009."""

from __future__ import annotations

from typing import ClassVar

import torch
from scipy.sparse import csr_array

from truegraph.nn.noise import Noise
from truegraph.nn.optimiser import Weights
from truegraph.nn.ranking_model import RankingModel, initial_embeddings


class MatrixFactorisation(RankingModel):
    """The vectors are the embeddings themselves."""

    name: ClassVar[str] = "bpr-mf"

    def initial(self, seed: int) -> Weights:
        """Return Glorot-uniform embeddings."""
        shape = (self.n_users, self.n_items, self.settings.width)
        return {"embeddings": initial_embeddings(seed, *shape)}

    def vectors(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        """Return the embeddings; nothing is dropped."""
        return weights["embeddings"]

    def fold_in(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Give new users the mean vector of the users who share their items."""
        return self.first_vectors(weights, history)
