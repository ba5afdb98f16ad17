r"""LightGCN (He et al., SIGIR 2020): the mean of the propagated embeddings, and nothing else.

With \tilde A = D^(-1/2) A D^(-1/2) the vectors are (E + \tilde A E + ... + \tilde A^L E) / (L + 1).
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.ranking import (
    RankingNetwork,
    Triples,
    bipartite,
    bpr,
    half_squares,
)
from truegraph.paper.networks.sparse import Noise, SparseMatrix


class LightGCN(RankingNetwork):
    """LightGCN with ``layers`` L; the penalty is on the embeddings, not on the vectors."""

    name = "lightgcn"
    DEFAULTS: ClassVar[dict[str, Any]] = {**RankingNetwork.DEFAULTS, "layers": 3}

    def start(self, generator: torch.Generator) -> None:
        """Make A and E."""
        super().start(generator)
        adjacency = bipartite(self.observed)
        self.A = SparseMatrix(normalised_adjacency(adjacency, self_loops=False), self.place)

    def forward(self, noise: Noise = None) -> torch.Tensor:
        total: torch.Tensor = self.E
        for _ in range(self.options.layers):  # Horner's scheme: E + A (E + A (E + A E))
            total = self.A.times(total) + self.E
        return total / (self.options.layers + 1)

    def loss(self, batch: Triples, noise: Noise = None) -> torch.Tensor:
        """Return BPR on the vectors, and the penalty on the embeddings."""
        lengths = half_squares(*self.rows(self.E, batch))
        return bpr(*self.rows(self(noise), batch)) + self.options.penalty * lengths
