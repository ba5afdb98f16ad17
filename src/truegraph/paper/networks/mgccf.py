"""Multi-graph convolution collaborative filtering, MGCCF (Sun et al., ICDM 2019).

Three views of a user u, with e the embeddings, and the same for items with matrices of their own:

    h_u   two layers on the observed graph: n = tanh(dropout(mean of h_i) Q),
          h_u <- tanh([h_u; n] W)
    z_u   the graph of the most similar users: tanh(sum of e_u' M)
    s_u   a skip connection: tanh(e_u S)

The vector of u is h_u + z_u + s_u, the paper's best fusion. Similarity is the cosine of the rows
(for items columns) of the observed interactions. The settings that the paper used on its small data
sets are not known.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import block_diag, csr_array, diags_array
from torch.nn import Parameter, ParameterList

from truegraph.paper.networks.ranking import RankingNetwork, bipartite, means
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped, glorot_uniform

_DROPOUT = 0.1  # of means over neighbours
_BLOCK = 1024  # rows of similarities in memory


class MGCCF(RankingNetwork):
    """MGCCF with ``layers`` on the observed graph and ``neighbours`` in those of similar nodes."""

    name = "mgccf"
    draws = "interactions"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        **RankingNetwork.DEFAULTS,
        "penalty": 2e-2,
        "negatives": 10,
        "layers": 2,
        "neighbours": 10,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make the means, the graphs of similar nodes, E, and Q, W, M and S of either side."""
        super().start(generator)
        self.means = SparseMatrix(means(bipartite(self.observed)), self.place)
        sides = (self.observed, csr_array(self.observed.T))
        similar = [most_similar(side, self.options.neighbours) for side in sides]
        self.similar = SparseMatrix(block_diag(similar, format="csr"), self.place)
        width, layers = self.options.width, range(self.options.layers)

        def matrix(fan_in: int) -> Parameter:
            return glorot_uniform(generator, fan_in, width)

        self.W = ParameterList(matrix(2 * width) for _ in layers for _ in sides)
        self.Q = ParameterList(matrix(width) for _ in layers for _ in sides)
        self.M = ParameterList(matrix(width) for _ in sides)
        self.S = ParameterList(matrix(width) for _ in sides)

    def forward(self, noise: Noise = None) -> torch.Tensor:
        h: torch.Tensor = self.E
        for layer in range(self.options.layers):
            n = dropped(self.means.times(h), _DROPOUT, noise)
            n = torch.tanh(self._by_side(n, self.Q[2 * layer : 2 * layer + 2]))
            h = torch.tanh(self._by_side(torch.cat([h, n], 1), self.W[2 * layer : 2 * layer + 2]))
        z = torch.tanh(self._by_side(self.similar.times(self.E), self.M))
        return h + z + torch.tanh(self._by_side(self.E, self.S))

    def _by_side(self, nodes: torch.Tensor, matrices: ParameterList) -> torch.Tensor:
        """Multiply users with the first matrix and items with the second."""
        parts = nodes.split([self.n_users, self.n_items])
        return torch.cat([part @ own for part, own in zip(parts, matrices, strict=True)])


def most_similar(rows: csr_array, count: int) -> csr_array:
    """Return ones (n, n) at the `count` rows most similar to each row, by the cosine.

    Only rows with something in common count. Of equally similar ones the first is taken.
    """
    lengths = np.sqrt(np.maximum(np.diff(rows.indptr), 1))
    unit = csr_array(diags_array(1.0 / lengths) @ rows.astype(np.float64))
    turned = csr_array(unit.T)
    ends: list[np.ndarray] = []
    for start in range(0, unit.shape[0], _BLOCK):
        similarity = (unit[start : start + _BLOCK] @ turned).toarray()
        places = np.arange(len(similarity))
        similarity[places, start + places] = 0.0
        # Rounded, for equal cosines may differ in their last bits.
        order = np.argsort(-similarity.round(9), axis=1, kind="stable")[:, :count]
        row, place = np.nonzero(np.take_along_axis(similarity, order, axis=1) > 0.0)
        ends.append(np.stack([row + start, order[row, place]]))
    found = np.concatenate(ends, axis=1)
    shape = (unit.shape[0], unit.shape[0])
    return csr_array((np.ones(found.shape[1]), (found[0], found[1])), shape=shape)
