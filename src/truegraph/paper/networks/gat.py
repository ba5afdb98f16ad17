"""GAT (Velickovic et al., ICLR 2018): two layers of attention over neighbourhoods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch

from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.networks.sparse import (
    Field,
    Noise,
    SparseMatrix,
    dropped,
    glorot_uniform,
    zeros,
)

_leaky_relu = partial(torch.nn.functional.leaky_relu, negative_slope=0.2)


class GAT(NodeNetwork):
    """Heads W h, averaged over neighbourhoods by softmax_j LeakyReLU(a1 W h_i + a2 W h_j).

    The heads of the first layer are concatenated, those of the second averaged. Each drops its own
    inputs, coefficients and projected features. L2 is on all weights: the authors' exception for
    biases never takes effect. For Pubmed they use ``output_heads=8``, ``learning_rate=0.01`` and
    ``weight_decay=1e-3``. With ``patience=None`` all epochs are trained, and the last weights kept.
    """

    name = "gat"
    watches_accuracy = True
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "heads": 8,
        "hidden": 8,
        "output_heads": 1,
        "dropout": 0.6,
        "learning_rate": 0.005,
        "weight_decay": 5e-4,
        "epochs": 100_000,
        "patience": 100,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make W (K, in, width), a (K, width, 2) with its bias, and the bias of each layer."""
        heads, hidden, last = self.options.heads, self.options.hidden, self.options.output_heads
        self.W1, self.a1 = _projection(generator, heads, self.features, hidden)
        self.W2, self.a2 = _projection(generator, last, heads * hidden, self.classes)
        self.c1, self.c2 = zeros(heads, 2), zeros(last, 2)
        self.b1, self.b2 = zeros(heads, hidden), zeros(last, self.classes)

    def forward(self, inputs: Field, noise: Noise = None) -> torch.Tensor:
        rate = self.options.dropout
        H = torch.stack([inputs.features.times(W, rate, noise) for W in self.W1], dim=1)
        h = self._attention(H, self.a1, self.c1, inputs.inner, inputs.inner_own, noise)
        h = torch.nn.functional.elu(h + self.b1).flatten(1)
        H = torch.stack([dropped(h, rate, noise) @ W for W in self.W2], dim=1)
        h = self._attention(H, self.a2, self.c2, inputs.outer, inputs.outer_own, noise)
        return (h + self.b2).mean(1)

    def _attention(
        self,
        H: torch.Tensor,
        a: torch.Tensor,
        c: torch.Tensor,
        near: SparseMatrix,
        own: torch.Tensor,
        noise: Noise,
    ) -> torch.Tensor:
        rate = self.options.dropout
        scores = torch.bmm(H.transpose(0, 1), a).transpose(0, 1) + c
        return attend(near, own, dropped(H, rate, noise), scores, _leaky_relu, rate, noise)


def _projection(
    generator: torch.Generator, heads: int, fan_in: int, width: int
) -> tuple[torch.nn.Parameter, torch.nn.Parameter]:
    W = glorot_uniform(generator, heads, fan_in, width)
    left, right = (glorot_uniform(generator, heads, width, 1).detach() for _ in range(2))
    return W, torch.nn.Parameter(torch.cat([left, right], dim=2))


def attend(
    near: SparseMatrix,
    own: torch.Tensor,
    values: torch.Tensor,
    scores: torch.Tensor,
    activation: Callable[[torch.Tensor], torch.Tensor],
    rate: float,
    noise: Noise,
) -> torch.Tensor:
    """Return the values (columns, K, width) of K heads averaged over neighbourhoods, by row.

    The coefficients of row i are softmax_j activation(left_i + right_j) over the stored entries j
    of row i in `near` (rows, columns), left and right being `scores` (columns, K, 2); own[i] is the
    column of node i itself. With noise, a share `rate` of the coefficients is dropped.
    """
    rows, columns = near.entries
    left = scores[..., 0].index_select(0, own).index_select(0, rows)
    raw = activation(left + scores[..., 1].index_select(0, columns))
    highest = _by_row(near, raw.detach(), "max").index_select(0, rows)
    exponent = torch.exp(raw - highest)
    share = exponent / _by_row(near, exponent, "sum").index_select(0, rows)
    weighted = dropped(share, rate, noise)[..., None] * values.index_select(0, columns)
    return values.new_zeros((near.shape[0], *values.shape[1:])).index_add(0, rows, weighted)


def _by_row(near: SparseMatrix, entries: torch.Tensor, how: str) -> torch.Tensor:
    """Reduce a tensor over the stored entries (stored, K) by row, to (rows, K)."""
    return torch.segment_reduce(entries, how, lengths=near.row_lengths, axis=0, unsafe=True)
