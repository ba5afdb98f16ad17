r"""The loss of a linear decoder of the features, exact over all N F entries, memory linear.

For z (N, d), weights W (d, F) and a bias (F,), logits x = z W + bias and features y in [0, 1],

    mean_if [ pos_weight y_if softplus(-x_if) + (1 - y_if) softplus(x_if) ],

where pos_weight is the ratio of what is missing to what is there, (N F - sum y) / sum y. Value and
gradient come from one pass over blocks, as in `ReconstructionLoss`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch.autograd.function import once_differentiable

from truegraph.errors import InputError
from truegraph.nn.autoencoders.base import one_torch_thread
from truegraph.nn.autoencoders.feature_kernel import logits_to_slopes
from truegraph.nn.autoencoders.reconstruction_kernel import ROWS_PER_PRODUCT, WIDTH

_ROWS_PER_BLOCK = 256  # of the torch path

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class FeatureLoss:
    """Weighted cross-entropy between z W + bias and sparse features in [0, 1].

    Parameters
    ----------
    features : csr_array of float, shape (N, F)
        Not negative; what is above 1 counts as 1.
    """

    def __init__(self, features: csr_array) -> None:
        rows = csr_array(features, copy=True).astype(np.float64)
        rows.sum_duplicates()
        if not can_be_decoded(rows):
            raise InputError(
                f"features lie between {rows.min():g} and {rows.max():g}, but the decoder takes "
                "them for probabilities; scale them into [0, 1], neither all 0 nor all 1."
            )
        rows.data = np.minimum(rows.data, 1.0)
        total, entries = float(rows.sum()), float(rows.shape[0]) * rows.shape[1]
        self.pos_weight = (entries - total) / total
        self.scale = 1.0 / entries
        self._features = rows
        self._stored = (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)

    def __call__(self, z: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Return the loss of z (N, d), weights (d, F) and bias (F,) as a scalar."""
        loss: torch.Tensor = _EntryLoss.apply(z, weights, bias, self)
        return loss

    def value_and_gradients(
        self, z: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
    ) -> tuple[float, Gradients]:
        """Return the loss and its gradients by z, weights and bias from one pass."""
        if z.device.type == "cpu" and z.dtype == torch.float32:
            with one_torch_thread():
                return self._compiled(z, weights, bias)
        return self._in_blocks(z, weights, bias)

    def _compiled(
        self, z: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
    ) -> tuple[float, Gradients]:
        """Do small blocks: the products by torch, the rest by compiled loops."""
        (n_nodes, dimension), n_features = z.shape, len(bias)
        # A column of ones makes the bias one more weight; blocks begin at aligned addresses.
        left = _zeros(n_nodes, dimension + 1, multiple=4)
        left[:, :dimension], left[:, dimension] = z, 1.0
        right = _zeros(left.shape[1], n_features, multiple=WIDTH)
        right[:dimension, :n_features], right[dimension, :n_features] = weights, bias
        turned = right.T.contiguous()
        by_left, by_right = torch.empty_like(left), torch.zeros_like(right)
        room = torch.empty((ROWS_PER_PRODUCT, right.shape[1]))
        indptr, indices, values = self._stored
        value = 0.0
        for start in range(0, n_nodes, ROWS_PER_PRODUCT):
            rows = left[start : start + ROWS_PER_PRODUCT]
            stop = start + len(rows)
            x = torch.mm(rows, right, out=room[: len(rows)])
            stored = (indptr[start : stop + 1], indices, values)
            value += logits_to_slopes(x.numpy(), n_features, *stored, self.pos_weight)
            torch.mm(x, turned, out=by_left[start:stop])
            by_right.addmm_(rows.T, x)
        by_right *= self.scale
        by_weights, by_bias = by_right[:dimension, :n_features], by_right[dimension, :n_features]
        return self.scale * value, (by_left[:, :dimension] * self.scale, by_weights, by_bias)

    def _in_blocks(
        self, z: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
    ) -> tuple[float, Gradients]:
        by_z, by_weights, by_bias = (torch.zeros_like(part) for part in (z, weights, bias))
        value = 0.0
        for start in range(0, len(z), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            y = torch.from_numpy(self._features[rows].toarray()).to(z)
            logits = z[rows] @ weights + bias
            softplus = torch.nn.functional.softplus(logits)
            factor = 1.0 + (self.pos_weight - 1.0) * y
            value += float((factor * softplus - self.pos_weight * y * logits).sum())
            slopes = (factor * torch.sigmoid(logits) - self.pos_weight * y) * self.scale
            by_z[rows] = slopes @ weights.T
            by_weights += z[rows].T @ slopes
            by_bias += slopes.sum(dim=0)
        return self.scale * value, (by_z, by_weights, by_bias)


def _zeros(rows: int, columns: int, multiple: int) -> torch.Tensor:
    """Return zeros with at least so many columns, a whole multiple of something."""
    return torch.zeros((rows, -(-columns // multiple) * multiple))


def can_be_decoded(features: csr_array) -> bool:
    """Return whether no entry is negative, and not all are 0 nor all are 1 or more."""
    total = float(np.minimum(features.data, 1.0).sum())
    entries = float(features.shape[0]) * features.shape[1]
    return bool((features.data >= 0.0).all()) and 0.0 < total < entries


class _EntryLoss(torch.autograd.Function):
    """The loss as a torch function whose gradients are made in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, z: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, loss: FeatureLoss
    ) -> torch.Tensor:
        value, gradients = loss.value_and_gradients(z.detach(), weights.detach(), bias.detach())
        ctx.save_for_backward(*gradients)
        return z.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return *(gradient * grad_output for gradient in ctx.saved_tensors), None
