r"""Graphite (Grover, Zweig and Ermon, 2019): a decoder that refines the embedding before it links.

The encoder, the loss and the divergence are those of GAE and VGAE; the decoder passes messages
once over the dense graph \hat A_ij = cos(z_i, z_j) + 1 that the embedding implies. With
\hat A_n = D^(-1/2) \hat A D^(-1/2),

    U = relu(\hat A_n Z W_z) + relu(\hat A_n X W_x),   V = \hat A_n U W_v,
    Z* = (1 - refinement) Z + refinement V,            logits = Z* Z*'.

\hat A = R R' + 1 1' with R the rows of Z at unit length, so products with it cost O(N d) and no
matrix of nodes by nodes appears. In every epoch the encoder sees the graph without a random half
of its edges; the target keeps them all. The epoch that is best on validation links is kept.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array, eye_array, triu

from truegraph.data.operators import without_diagonal
from truegraph.paper.networks.gae import GAE, Variational
from truegraph.paper.networks.sparse import Noise, SparseMatrix, glorot_uniform

_SMALLEST_NORM = 1e-6
_SMALLEST_DEGREE = 1e-6  # a degree is zero if all other nodes lie opposite


class GraphiteAE(GAE):
    """Graphite without noise; parameters as in `GAE`.

    The encoder misses a share ``edge_dropout`` of the edges in each epoch; ``refinement`` 0 is the
    decoder of GAE.
    """

    name: ClassVar[str] = "graphite-ae"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 32,
        "dimension": 16,
        "decoder_hidden": 32,
        "refinement": 0.5,
        "edge_dropout": 0.5,
        "learning_rate": 0.01,
        "epochs": 500,
    }
    chooses_epoch: ClassVar[bool] = True

    def __init__(self, features: csr_array, graph: csr_array, *args: Any, **options: Any) -> None:
        super().__init__(features, graph, *args, **options)
        self.edges = EdgeDropout(graph, self.options.edge_dropout, str(self.W_0.device))

    def start(self, generator: torch.Generator) -> None:
        super().start(generator)
        options = self.options
        self.W_z = glorot_uniform(generator, options.dimension, options.decoder_hidden)
        self.W_x = glorot_uniform(generator, self.X.shape[1], options.decoder_hidden)
        self.W_v = glorot_uniform(generator, options.decoder_hidden, options.dimension)

    def hidden(self, noise: Noise = None) -> torch.Tensor:
        r"""Return \tilde A H, (N, hidden), with noise on a graph that lacks some edges."""
        A = self.A if noise is None else self.edges.drawn(noise)
        return A.times(torch.relu(A.times(self.X.times(self.W_0))))

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Return the refined embedding Z* (N, d)."""
        B = implied_basis(z)
        U = torch.relu(_spread(B, z @ self.W_z)) + torch.relu(_spread(B, self.X.times(self.W_x)))
        V = _spread(B, U @ self.W_v)
        share = self.options.refinement
        return (1.0 - share) * z + share * V


class GraphiteVAE(Variational, GraphiteAE):
    """Graphite with a posterior over embeddings; parameters as in `GraphiteAE`."""

    name: ClassVar[str] = "graphite-vae"


def implied_basis(z: torch.Tensor) -> torch.Tensor:
    """Return B (N, d + 1), B B' being the normalised graph that an embedding (N, d) implies."""
    length = (z * z).sum(dim=1, keepdim=True).clamp(min=_SMALLEST_NORM**2).sqrt()
    rows = z / length
    factors = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
    degree = (factors * factors.sum(dim=0)).sum(dim=1, keepdim=True).clamp(min=_SMALLEST_DEGREE)
    return factors / degree.sqrt()


def _spread(B: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Multiply a matrix (N, width) with B B'."""
    return B @ (B.T @ matrix)


class EdgeDropout:
    """A symmetric graph (N, N) that loses a fixed share of its edges, other ones in each draw."""

    def __init__(self, graph: csr_array, share: float, device: str = "cpu") -> None:
        upper = coo_array(triu(without_diagonal(graph), k=1))
        self._lost = int(share * upper.nnz)
        self._weights = torch.from_numpy(np.append(upper.data, 1.0).astype(np.float32)).to(device)
        numbers = csr_array((np.arange(1.0, upper.nnz + 1), (upper.row, upper.col)), upper.shape)
        loops = (upper.nnz + 1.0) * eye_array(upper.shape[0], format="csr")
        pattern = csr_array(numbers + numbers.T + loops)  # each entry says which edge it is
        self._numbers = torch.from_numpy(pattern.data.astype(np.int64) - 1).to(device)
        self._pattern = SparseMatrix(pattern, device)

    def drawn(self, noise: torch.Generator) -> SparseMatrix:
        """Return the normalised adjacency (N, N), with self-loops, of what is left in one draw."""
        edges = len(self._weights) - 1
        lost = torch.randperm(edges, generator=noise, device=noise.device)[: self._lost]
        left = self._weights.index_fill(0, lost.to(self._weights.device), 0.0)
        values = left[self._numbers]
        rows, columns = self._pattern.entries
        degree = torch.zeros_like(values[: self._pattern.shape[0]]).index_add_(0, rows, values)
        root = degree.rsqrt()
        return self._pattern.with_values(values * root[rows] * root[columns])
