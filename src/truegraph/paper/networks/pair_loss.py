r"""Losses of decoders, exact over all pairs, with memory linear in the nodes.

With logits x_ij and targets y_ij in [0, 1], the weighted cross-entropy of Kipf and Welling (2016)

    sum_ij [ pos_weight y_ij softplus(-x_ij) + (1 - y_ij) softplus(x_ij) ]

is one smooth sum over all pairs and a correction on the few stored ones, since softplus(-x) =
softplus(x) - x:

    sum_ij softplus(x_ij) + sum_stored [ a_ij softplus(x_ij) + b_ij x_ij ],

with a = y (pos_weight - 1), b = -y pos_weight for a target and a = -1, b = 0 for a masked pair.
The first sum is taken tile by tile and never stored; the same pass gives its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, triu
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from truegraph.data.operators import without_diagonal
from truegraph.errors import InputError

_TILE = 512  # nodes on each side of a tile, whose logits stay in the cache
_ROWS = 256  # the same for nodes and all features
_LEAST = 1e-18  # of sigmoid(-x): logits above 41 count as 41 in the value, not in the gradient

Sums = tuple[torch.Tensor, ...]  # a total, and its gradients; the total is 0 if not asked for


class PairLoss:
    """Weighted cross-entropy between z z' and a graph with self-loops, over all N^2 pairs.

    `graph` (N, N) is symmetric with weights in [0, 1]; the target is A + I. The mean runs over all
    ordered pairs but the non-zero entries of `masked` (N, N). The weights come from the sum s of A,
    as in Kipf and Welling: pos_weight = (N^2 - s) / s, times N^2 / (2 (N^2 - s)).

    With `has_value` False only the gradient is right, which takes two thirds of the time.
    """

    has_value = True

    def __init__(
        self, graph: csr_array, masked: csr_array | None = None, device: str = "cpu"
    ) -> None:
        values, links, shape = graph.data, without_diagonal(graph), graph.shape
        if not ((values >= 0.0) & (values <= 1.0)).all():
            raise InputError(
                f"target has values from {values.min():g} to {values.max():g}, but each is the "
                "probability of a link; scale the weights into [0, 1]."
            )
        total, pairs = float(links.sum()), float(shape[0]) ** 2
        if not 0.0 < total < pairs:
            raise InputError(
                f"graph has links of total weight {total:g} among {shape[0]} nodes, so the "
                "weight of a positive pair is undefined; give a graph with at least one link."
            )
        hidden: Any = csr_array(shape if masked is None else masked)
        hidden = (hidden != 0).astype(np.float64)
        self.pos_weight = (pairs - total) / total
        self.scale = pairs / (2.0 * (pairs - total)) / (pairs - hidden.nnz)
        target = links + eye_array(shape[0], format="csr")
        kept = target - target.multiply(hidden)
        # One complex matrix a + ib keeps both coefficients on one pattern.
        both = csr_array((self.pos_weight - 1.0 - 1j * self.pos_weight) * kept - hidden)
        self._stored = _Stored(triu(both + both.T - diags_array(both.diagonal())), device)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the loss of an embedding (N, d) as a scalar that can be differentiated once."""
        sums = partial(softplus_of_pairs, has_value=self.has_value)
        total: torch.Tensor = _KnownGradient.apply(sums, z)
        return self.scale * (total + self._stored.correction(z, z))


class FeatureLoss:
    """Mean weighted cross-entropy between z W + bias and sparse features (N, F).

    Features are not negative, those above 1 count as 1, and not all are 0 nor all 1
    (`can_be_decoded`); pos_weight = (N F - sum) / sum.
    """

    def __init__(self, features: csr_array, device: str = "cpu") -> None:
        entries = coo_array(features).astype(np.float64)
        y, count = np.minimum(entries.data, 1.0), float(np.prod(entries.shape))
        pos_weight = (count - y.sum()) / y.sum()
        both = (pos_weight - 1.0 - 1j * pos_weight) * y
        self.scale = 1.0 / count
        self._stored = _Stored(coo_array((both, entries.coords), shape=entries.shape), device)

    def __call__(self, z: torch.Tensor, W: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Return the loss of z (N, d), weights W (d, F) and bias (F,) as a scalar."""
        left = torch.cat([z, torch.ones_like(z[:, :1])], dim=1)
        right = torch.cat([W, bias[None]]).T
        total: torch.Tensor = _KnownGradient.apply(softplus_of_entries, left, right)
        return self.scale * (total + self._stored.correction(left, right))


class _Stored:
    """The pairs whose targets are not zero, with coefficients a + ib of softplus(x) and of x."""

    def __init__(self, matrix: Any, device: str) -> None:
        entries = coo_array(matrix)
        ends = [entries.row.astype(np.int64), entries.col.astype(np.int64)]
        parts = [part.astype(np.float32) for part in (entries.data.real, entries.data.imag)]
        tensors = [torch.from_numpy(part).to(device) for part in (*ends, *parts)]
        self.rows, self.columns, self.a, self.b = tensors

    def correction(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the sum of a softplus(x) + b x over the pairs, with x = left_i . right_j."""
        ends = left.index_select(0, self.rows), right.index_select(0, self.columns)
        logits = (ends[0] * ends[1]).sum(dim=1)
        return (self.a * softplus(logits) + self.b * logits).sum()


class _KnownGradient(torch.autograd.Function):
    """A sum whose gradients come with it; torch would keep all N^2 logits to find them."""

    @staticmethod
    def forward(ctx: Any, sums: Callable[..., Sums], *parts: torch.Tensor) -> torch.Tensor:
        total, *gradients = sums(*(part.detach() for part in parts))
        ctx.save_for_backward(*gradients)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *(gradient * grad_output for gradient in ctx.saved_tensors)


def softplus_of_pairs(z: torch.Tensor, tile: int = _TILE, has_value: bool = True) -> Sums:
    """Return sum_ij softplus(z_i . z_j), and its gradient 2 sum_j sigmoid(z_i . z_j) z_j (N, d).

    Tiles right of the diagonal stand for their mirror images.
    """
    gradient, sums = torch.zeros_like(z), []
    for p in range(0, len(z), tile):
        for q in range(p, len(z), tile):
            total, by_rows, by_columns = _softplus(z[p : p + tile], z[q : q + tile], has_value)
            sums.append(total if p == q else 2.0 * total)
            gradient[p : p + tile] += by_rows
            if p != q:
                gradient[q : q + tile] += by_columns
    return torch.stack(sums).sum(), 2.0 * gradient


def softplus_of_entries(left: torch.Tensor, right: torch.Tensor) -> Sums:
    """Return sum_ij softplus(left_i . right_j), and its gradients (N, d) and (F, d)."""
    right = right.contiguous()
    totals, by_left, by_right = zip(*(_softplus(r, right) for r in left.split(_ROWS)), strict=True)
    return torch.stack(totals).sum(), torch.cat(by_left), torch.stack(by_right).sum(dim=0)


def _softplus(rows: torch.Tensor, columns: torch.Tensor, has_value: bool = True) -> Sums:
    """Sum softplus(rows_i . columns_j); with t = sigmoid(-x) it is -log t, and its slope 1 - t."""
    t = (rows @ -columns.T).sigmoid_()
    by_rows = columns.sum(dim=0) - t @ columns
    by_columns = rows.sum(dim=0) - (rows.T @ t).T
    if not has_value:
        return t.new_zeros(()), by_rows, by_columns
    half = len(t.clamp_(min=_LEAST)) // 2  # products of two: logarithms take most of the time
    logs = (t[:half] * t[half : 2 * half]).log_(), t[2 * half :].log_()
    return -(logs[0].sum() + logs[1].sum()), by_rows, by_columns


def can_be_decoded(features: csr_array) -> bool:
    """Return whether no entry is negative, and not all are 0 nor all are 1 or more."""
    total = float(np.minimum(features.data, 1.0).sum())
    entries = float(features.shape[0]) * features.shape[1]
    return bool((features.data >= 0.0).all()) and 0.0 < total < entries
