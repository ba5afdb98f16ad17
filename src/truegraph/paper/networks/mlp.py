"""A two-layer perceptron on the features: what there is to gain without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.paper.networks.gcn import GCN
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped


class MLP(GCN):
    """relu(X W1) W2, with the options of the GCN."""

    name = "mlp"

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> Any:
        """Return the features of the nodes; the graph is not used."""
        return SparseMatrix(features if nodes is None else features[nodes], self.device)

    def forward(self, inputs: Any, noise: Noise = None) -> torch.Tensor:
        """Return the logits (rows, C)."""
        return self.perceptron(inputs, noise)

    def perceptron(self, features: SparseMatrix, noise: Noise) -> torch.Tensor:
        """Return relu(X W1) W2 with dropout before both layers."""
        rate = self.options.dropout
        hidden = torch.relu(features.times(self.W1, rate, noise))
        return dropped(hidden, rate, noise) @ self.W2
