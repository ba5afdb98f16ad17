"""Matrix factorisation trained on triples, BPR-MF (Rendle et al., UAI 2009)."""

from __future__ import annotations

import torch

from truegraph.paper.networks.ranking import RankingNetwork
from truegraph.paper.networks.sparse import Noise


class BPRMF(RankingNetwork):
    """The vectors are the embeddings themselves."""

    name = "bpr-mf"

    def forward(self, noise: Noise = None) -> torch.Tensor:
        return self.E
