"""APPNP (Klicpera et al., ICLR 2019), and the perceptron whose predictions it spreads by PageRank.

Z = p(A) relu(X W1) W2, where p(A) is K steps of Z <- (1 - restart) A Z + restart H. Training needs
the rows of p(A) at the labelled nodes alone: they are computed once, and no epoch has to propagate.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.paper.networks.gcn import GCN
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped

_BLOCK = 10_000_000  # numbers that a block of the propagation holds


class MLP(GCN):
    """relu(X W1) W2, with the options of the GCN: what there is to gain without a graph."""

    name = "mlp"

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> Any:
        return SparseMatrix(features if nodes is None else features[nodes], self.device)

    def forward(self, inputs: Any, noise: Noise = None) -> torch.Tensor:
        rate = self.options.dropout
        hidden = torch.relu(inputs.times(self.W1, rate, noise))
        return dropped(hidden, rate, noise) @ self.W2


class APPNP(MLP):
    """Z = p(A) relu(X W1) W2; L2 on W1 only."""

    name = "appnp"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        **MLP.DEFAULTS,
        "hidden": 64,
        "weight_decay": 5e-3,
        "restart": 0.1,
        "steps": 10,
    }

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> tuple[SparseMatrix, SparseMatrix | torch.Tensor]:
        """Return X and A, or with nodes the rows of p(A) there, and X where they are not zero."""
        restart, steps, A = self.options.restart, self.options.steps, self.operator(graph)
        if nodes is None:
            return SparseMatrix(features, self.device), SparseMatrix(A, self.device)
        rows = pagerank_rows(A, nodes, restart, steps)
        kept = np.flatnonzero(rows.any(axis=0))
        near = torch.from_numpy(np.ascontiguousarray(rows[:, kept])).to(self.device)
        return SparseMatrix(features[kept], self.device), near

    def forward(self, inputs: Any, noise: Noise = None) -> torch.Tensor:
        X, spread = inputs
        H = super().forward(X, noise)
        if isinstance(spread, SparseMatrix):
            return propagated(spread, H, self.options.restart, self.options.steps)
        return spread @ H


def propagated(A: SparseMatrix, H: torch.Tensor, restart: float, steps: int) -> torch.Tensor:
    """Return p(A) H, (N, width)."""
    Z = H
    for _ in range(steps):
        Z = (1.0 - restart) * A.times(Z) + restart * H
    return Z


def pagerank_rows(
    operator: csr_array, nodes: NDArray[np.int64], restart: float, steps: int
) -> NDArray[np.float32]:
    """Return the rows of p(A) at n nodes, (n, N)."""
    A = csr_array(operator.T).astype(np.float32)
    found = np.empty((len(nodes), A.shape[0]), dtype=np.float32)
    width = max(1, _BLOCK // A.shape[0])
    for begin in range(0, len(nodes), width):
        part = nodes[begin : begin + width]
        H = np.zeros((A.shape[0], len(part)), dtype=np.float32)
        H[part, np.arange(len(part))] = 1.0
        Z = H
        for _ in range(steps):
            Z = np.float32(1.0 - restart) * (A @ Z) + np.float32(restart) * H
        found[begin : begin + width] = Z.T
    return found
