r"""Neural graph collaborative filtering, NGCF (Wang et al., SIGIR 2019).

With P = D^(-1) (A + I) one layer is

    S = P E,   E' = dropout(LeakyReLU_{0.2}(S W_1 + b_1 + (E * S) W_2 + b_2)),

and a node's vector joins its embedding with the output of every layer, scaled to unit length. The
next layer gets the output before it is scaled. Of the forms that were published, this is the one
with a published match of the original figures.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from scipy.sparse import csr_array, eye_array
from torch.nn.functional import leaky_relu, normalize

from truegraph.paper.networks.ranking import RankingNetwork, bipartite, means
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped, glorot_uniform

_SLOPE, _DROPOUT = 0.2, 0.1  # the authors'


class NGCF(RankingNetwork):
    """NGCF; vectors have width * (layers + 1) elements.

    The learning rate decides more than the form: on ML100K 0.01, the default of the authors'
    program, ends at the recall that is printed for NGCF elsewhere, 0.001 three points above it.
    """

    name = "ngcf"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        **RankingNetwork.DEFAULTS,
        "penalty": 1e-5,
        "layers": 3,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make P, E and the two matrices and biases of each layer."""
        super().start(generator)
        adjacency, width = bipartite(self.observed), self.options.width
        with_self = csr_array(adjacency + eye_array(adjacency.shape[0], format="csr"))
        self.P = SparseMatrix(means(with_self), self.place)
        layers = range(self.options.layers)
        self.W1, self.W2 = (
            torch.nn.ParameterList(glorot_uniform(generator, width, width) for _ in layers)
            for _ in range(2)
        )
        self.b1, self.b2 = (
            torch.nn.ParameterList(glorot_uniform(generator, 1, width) for _ in layers)
            for _ in range(2)
        )

    def forward(self, noise: Noise = None) -> torch.Tensor:
        E: torch.Tensor = self.E
        parts = [E]
        for W1, b1, W2, b2 in zip(self.W1, self.b1, self.W2, self.b2, strict=True):
            S = self.P.times(E)
            E = leaky_relu(torch.addmm(b1 + b2, S, W1).addmm(E * S, W2), _SLOPE)
            E = dropped(E, _DROPOUT, noise)
            parts.append(normalize(E))
        return torch.cat(parts, dim=1)
