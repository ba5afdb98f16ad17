"""GCN (Kipf and Welling, ICLR 2017): two graph convolutions without bias."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.networks.sparse import Field, Noise, dropped, glorot_uniform


class GCN(NodeNetwork):
    """A relu(A X W1) W2 with A = D^(-1/2) (A_obs + I) D^(-1/2); L2 on W1 only."""

    name = "gcn"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 16,
        "dropout": 0.5,
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "epochs": 200,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make W1 (F, hidden) and W2 (hidden, C)."""
        self.W1 = glorot_uniform(generator, self.features, self.options.hidden)
        self.W2 = glorot_uniform(generator, self.options.hidden, self.classes)

    def forward(self, inputs: Field, noise: Noise = None) -> torch.Tensor:
        rate = self.options.dropout
        hidden = inputs.inner.times(inputs.features.times(self.W1, rate, noise))
        return inputs.outer.times(dropped(torch.relu(hidden), rate, noise) @ self.W2)

    def weight_decay(self) -> dict[str, float]:
        return {"W1": self.options.weight_decay}
