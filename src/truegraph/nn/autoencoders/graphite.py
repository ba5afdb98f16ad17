r"""Graphite (Grover, Zweig and Ermon, 2019): a decoder that refines the embedding before it links.

The encoder, the loss and the divergence are those of GAE and VGAE; the decoder passes messages
once over the dense graph \hat A_ij = cos(z_i, z_j) + 1 that the embedding implies. With
\hat A_n = D^(-1/2) \hat A D^(-1/2),

    U = relu(\hat A_n Z W_z) + relu(\hat A_n X W_x),   V = \hat A_n U W_2,
    Z* = (1 - refinement) Z + refinement V,            logits = Z* Z*'.

\hat A = R R' + 1 1' with R the rows of Z at unit length, so products with it cost O(N d) and no
matrix of nodes by nodes appears; training and prediction run on one torch thread, so that library
products keep their bits. In every epoch the encoder sees the graph without a random half
of its edges; the target keeps them all. The epoch that is best on validation links is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, triu

from truegraph.nn.autoencoders.base import LinkData
from truegraph.nn.autoencoders.vgae import GAE
from truegraph.nn.dense import row_sum
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import glorot_uniform

_SMALLEST_NORM = 1e-6
_SMALLEST_DEGREE = 1e-6  # a degree is zero if all other nodes lie opposite


@dataclass(frozen=True)
class GraphiteSettings:
    """Hyperparameters of Grover et al.

    Parameters
    ----------
    hidden : int
        Width of the encoder's first layer.
    dimension : int
        Dimension d of the embedding.
    decoder_hidden : int
        Width of the decoder's hidden layer.
    refinement : float
        How much of the refined embedding the links take; 0 is the decoder of GAE.
    edge_dropout : float
        Share of the edges that the encoder does not see in an epoch.
    learning_rate : float
        Step of Adam.
    epochs : int
        Full-batch epochs, of which the best on validation links is kept.
    """

    hidden: int = 32
    dimension: int = 16
    decoder_hidden: int = 32
    refinement: float = 0.5
    edge_dropout: float = 0.5
    learning_rate: float = 0.01
    epochs: int = 500


class GraphiteAE(GAE):
    """Graphite without noise; parameters as in `GAE`, with `GraphiteSettings`."""

    name = "graphite-ae"
    settings_type = GraphiteSettings
    chooses_epoch = True

    @classmethod
    def on(cls, data: LinkData, settings: Any) -> Self:
        """Return the model of a graph with its features."""
        model = super().on(data, settings)
        model._edges = EdgeDropout(data.graph, settings.edge_dropout)
        return model

    _edges: EdgeDropout

    @property
    def _dropout(self) -> float:
        return 0.0

    def _operator(self, generator: torch.Generator | None) -> FixedSparse:
        if generator is None or self.settings.edge_dropout == 0.0:
            return self.inputs.operator
        return FixedSparse(self._edges.operator(generator))

    def initial(self, seed: int) -> Weights:
        """Return Glorot uniform weights."""
        seeds, s = np.array([seed], dtype=np.uint64), self.settings
        return super().initial(seed) | {
            "decoder_z": glorot_uniform(seeds, 3, s.dimension, s.decoder_hidden),
            "decoder_x": glorot_uniform(seeds, 4, self.inputs.features.shape[1], s.decoder_hidden),
            "decoder_last": glorot_uniform(seeds, 5, s.decoder_hidden, s.dimension),
        }

    def decode(self, weights: Weights, z: torch.Tensor) -> torch.Tensor:
        """Return the refined embedding (N, d)."""
        basis = implied_basis(z)
        of_z = torch.matmul(z[None], weights["decoder_z"])
        of_x = sparse_product(self.inputs.features, weights["decoder_x"])
        hidden = torch.relu(_spread(basis, of_z)) + torch.relu(_spread(basis, of_x))
        refined = _spread(basis, torch.matmul(hidden, weights["decoder_last"]))[0]
        share = self.settings.refinement
        return (1.0 - share) * z + share * refined


class GraphiteVAE(GraphiteAE):
    """Graphite with a posterior over embeddings; parameters as in `GraphiteAE`."""

    name = "graphite-vae"
    has_posterior = True


def implied_basis(z: torch.Tensor) -> torch.Tensor:
    """Return B (N, d + 1) such that B B' is the normalised graph that an embedding implies.

    Parameters
    ----------
    z : tensor, shape (N, d)
    """
    length = (z * z).sum(dim=1, keepdim=True).clamp(min=_SMALLEST_NORM**2).sqrt()
    rows = z / length
    factors = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
    total = row_sum(factors[None])[0]
    degree = (factors * total).sum(dim=1, keepdim=True).clamp(min=_SMALLEST_DEGREE)
    return factors / degree.sqrt()


def _spread(basis: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Multiply a (1, N, width) matrix with B B'."""
    own = basis[None]
    return torch.matmul(own, torch.matmul(own.transpose(1, 2), matrix))


class EdgeDropout:
    """A graph that loses a fixed share of its edges, other ones in each draw.

    Parameters
    ----------
    graph : csr_array, shape (N, N)
        Symmetric, without diagonal.
    share : float
        Share of the undirected edges that is lost, rounded down.
    """

    def __init__(self, graph: csr_array, share: float) -> None:
        self._upper = coo_array(triu(graph, k=1))
        self._lost = int(share * self._upper.nnz)

    def operator(self, generator: torch.Generator) -> csr_array:
        """Return the normalised adjacency of what is left in one draw."""
        order: NDArray[np.int64] = torch.randperm(self._upper.nnz, generator=generator).numpy()
        left = order[self._lost :]
        ends = self._upper.row[left], self._upper.col[left]
        half = csr_array((self._upper.data[left], ends), shape=self._upper.shape)
        return normalised_adjacency(half + half.T)
