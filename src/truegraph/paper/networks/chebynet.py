"""ChebyNet (Defferrard et al., NeurIPS 2016) in the form that Kipf and Welling compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack
from scipy.sparse.linalg import eigsh

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped, glorot_uniform

_SMALL = 10  # nodes up to which all eigenvalues are computed at once


# L (N, N), the features, and T_0(L) .. T_K(L) at the n nodes asked for, below each other
Polynomials = tuple[SparseMatrix, SparseMatrix, SparseMatrix | None]


class ChebyNet(NodeNetwork):
    """Layers sum_k T_k(L) X W_k, L the normalised Laplacian scaled to [-1, 1]; L2 on the first."""

    name = "chebynet"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 16,
        "dropout": 0.5,
        "degree": 3,
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "epochs": 200,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make W1 (K + 1, F, hidden) and W2 (K + 1, hidden, C)."""
        terms, hidden = self.options.degree + 1, self.options.hidden
        self.W1 = glorot_uniform(generator, terms, self.features, hidden)
        self.W2 = glorot_uniform(generator, terms, hidden, self.classes)

    @staticmethod
    def operator(graph: csr_array) -> csr_array:
        """Return (2 / largest eigenvalue) (I - D^(-1/2) A D^(-1/2)) - I, without self-loops."""
        walk = normalised_adjacency(graph, self_loops=False)
        identity = eye_array(walk.shape[0], format="csr")
        laplacian = csr_array(identity - walk)
        return csr_array((2.0 / _largest_eigenvalue(laplacian)) * laplacian - identity)

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> Polynomials:
        """Return L, and T_0(L) .. T_K(L) at some nodes, so that the last layer is one product."""
        L, rows = self.operator(graph), None
        if nodes is not None:
            terms = [csr_array(eye_array(L.shape[0], format="csr")[nodes])]
            for k in range(self.options.degree):
                ahead = terms[-1] @ L
                terms.append(ahead if k == 0 else 2.0 * ahead - terms[-2])
            rows = SparseMatrix(vstack(terms, format="csr"), self.device)
        return SparseMatrix(L, self.device), SparseMatrix(features, self.device), rows

    def forward(self, inputs: Polynomials, noise: Noise = None) -> torch.Tensor:
        (L, X, rows), rate, terms = inputs, self.options.dropout, self.options.degree + 1
        projected = X.times(self.W1.transpose(0, 1).flatten(1), rate, noise).chunk(terms, 1)
        hidden = dropped(torch.relu(clenshaw(L, projected)), rate, noise)
        if rows is None:
            return clenshaw(L, list(hidden @ self.W2))
        return torch.bmm(rows.times(hidden).unflatten(0, (terms, -1)), self.W2).sum(0)

    def weight_decay(self) -> dict[str, float]:
        return {"W1": self.options.weight_decay}


def clenshaw(L: SparseMatrix, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return sum_k T_k(L) Z_k, with as many products as the degree."""
    later, latest = torch.zeros_like(parts[0]), torch.zeros_like(parts[0])
    for Z in reversed(parts[1:]):
        later, latest = latest, Z + 2.0 * L.times(latest) - later
    return parts[0] + L.times(latest) - later


def _largest_eigenvalue(laplacian: csr_array) -> float:
    if laplacian.shape[0] <= _SMALL:
        largest = np.linalg.eigvalsh(laplacian.toarray())[-1]
    else:
        start = np.random.default_rng(0).normal(size=laplacian.shape[0])
        largest = eigsh(laplacian, 1, which="LM", v0=start, return_eigenvectors=False)[0]
    return round(float(largest), 9)  # its last bits may depend on the number of threads
