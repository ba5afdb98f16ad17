"""APPNP (Klicpera et al., ICLR 2019): a perceptron whose predictions are spread by PageRank.

Z = p(A) relu(X W1) W2, where p(A) is K steps of Z <- (1 - restart) A Z + restart H. Training needs
the rows of p(A) at the labelled nodes alone: they are computed once, and no epoch has to propagate.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.paper.networks.mlp import MLP
from truegraph.paper.networks.sparse import Noise, SparseMatrix

_BLOCK = 10_000_000  # numbers that a block of the propagation holds


class Spread(NamedTuple):
    """Features (n, F) of the nodes that count; A (N, N) for all nodes, or rows of p(A) (n0, n)."""

    features: SparseMatrix
    operator: SparseMatrix | None
    rows: torch.Tensor | None


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
    ) -> Spread:
        """Return features and operator, or the rows of p(A) at some nodes."""
        options, operator = self.options, self.operator(graph)
        if nodes is None:
            own = SparseMatrix(features, self.device)
            return Spread(own, SparseMatrix(operator, self.device), None)
        rows = pagerank_rows(operator, nodes, options.restart, options.steps)
        kept = np.flatnonzero(rows.any(axis=0))
        near = torch.from_numpy(np.ascontiguousarray(rows[:, kept])).to(self.device)
        return Spread(SparseMatrix(features[kept], self.device), None, near)

    def forward(self, inputs: Any, noise: Noise = None) -> torch.Tensor:
        """Return the logits (rows, C)."""
        H = self.perceptron(inputs.features, noise)
        if inputs.rows is not None:
            rows: torch.Tensor = inputs.rows @ H
            return rows
        return propagated(inputs.operator, H, self.options.restart, self.options.steps)


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
