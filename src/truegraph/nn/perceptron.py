"""A perceptron with one hidden layer on sparse features, and its gradient.

In training on the CPU both layers are one operation. A trial's hidden units stay in the cache from
one layer to the next, and their gradient is never stored.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn import device
from truegraph.nn.dense import relu_dropout, trial_matmul
from truegraph.nn.dropout import Dropout, Noise, dropout_of, random_bits
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import (
    FixedSparse,
    dropped_layout,
    row_buffers,
    scatter_row,
    sparse_product,
    surviving_row,
    weighted_sum,
)


def perceptron(
    weights: Weights, features: FixedSparse, noise: Noise | None, rate: float
) -> torch.Tensor:
    """Return relu(X W1) W2 of shape (T, rows, C), with dropout before both layers.

    Parameters
    ----------
    weights : dict of "first" (T, F, H) and "second" (T, H, C)
    features : FixedSparse of shape (rows, F)
    noise : Noise, optional
        Without it nothing is dropped.
    rate : float
        Probability to drop a stored feature, and a hidden unit.
    """
    first, second = weights["first"], weights["second"]
    before, between = dropout_of(noise, rate, 0), dropout_of(noise, rate, 1)
    trains = torch.is_grad_enabled() and device.uses_kernels(first)
    if not trains or before is None or between is None:
        hidden = sparse_product(features, first, before)
        return trial_matmul(relu_dropout(hidden, between), second)
    turned: torch.Tensor = _Perceptron.apply(
        first, second.transpose(1, 2), features, before, between
    )
    return turned.transpose(1, 2)


class _Perceptron(torch.autograd.Function):
    """From W1 (T, F, H) and the turned W2 (T, C, H) to the turned output (T, C, rows)."""

    @staticmethod
    def forward(
        ctx: Any,
        first: torch.Tensor,
        second: torch.Tensor,
        features: FixedSparse,
        before: Dropout,
        between: Dropout,
    ) -> torch.Tensor:
        first, second = first.contiguous(), second.contiguous()
        rows = features.shape[0]
        hidden = first.new_empty((len(first), rows, first.shape[2]))
        out = first.new_empty((len(first), second.shape[1], rows))
        _forward_kernel(
            dropped_layout(features, before),
            between.keys,
            first.detach().numpy(),
            second.detach().numpy(),
            hidden.numpy(),
            out.numpy(),
        )
        ctx.save_for_backward(second, hidden)
        ctx.features, ctx.before = features, before
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        second, hidden = ctx.saved_tensors
        to_first = hidden.new_empty((len(hidden), ctx.features.shape[1], hidden.shape[2]))
        to_second = torch.empty_like(second)
        _backward_kernel(
            dropped_layout(ctx.features, ctx.before),
            gradient.contiguous().numpy(),
            second.detach().numpy(),
            hidden.numpy(),
            to_first.numpy(),
            to_second.numpy(),
        )
        return to_first, to_second, None, None, None


@numba.njit(cache=True, nogil=True)
def _forward_kernel(
    layout: Any,
    hidden_keys: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    hidden: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``hidden`` (T, rows, H), after rectifier and dropout, and ``out`` (T, C, rows)."""
    starts, stops, _, values, _, _, threshold, scale = layout
    buffers = row_buffers(starts, stops, values)
    factors, kept = buffers[1:]
    for trial in range(hidden.shape[0]):
        matrix = trial * starts.shape[0] // hidden.shape[0]
        for row in range(hidden.shape[1]):
            left = surviving_row(layout, matrix, row, trial, buffers)
            weighted_sum(factors[:left], kept[:left], first[trial], hidden[trial, row])
        _rectify_and_drop(hidden[trial].reshape(-1), hidden_keys[trial], threshold, scale)
        _dots(hidden[trial], second[trial], out[trial])


@numba.njit(cache=True, nogil=True)
def _rectify_and_drop(
    units: np.ndarray, key: np.ndarray, threshold: np.uint32, scale: float
) -> None:
    low, high, zero = key[0], key[1], units.dtype.type(0)
    for k in range(units.size):
        survives = random_bits(k, low, high) < threshold and not units[k] < zero
        units[k] = units[k] * scale if survives else zero


# "reassoc" lets the compiler use vector lanes: another order of summation, fixed all the same
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _dots(hidden: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
    """out[c, row] = sum_h hidden[row, h] second[c, h]."""
    for row in range(hidden.shape[0]):
        for c in range(second.shape[0]):
            total = hidden.dtype.type(0)
            for h in range(hidden.shape[1]):
                total += hidden[row, h] * second[c, h]
            out[c, row] = total


@numba.njit(cache=True, nogil=True)
def _backward_kernel(
    layout: Any,
    gradient: np.ndarray,
    second: np.ndarray,
    hidden: np.ndarray,
    to_first: np.ndarray,
    to_second: np.ndarray,
) -> None:
    """Fill the gradients of W1 (T, F, H) and of the turned W2 (T, C, H)."""
    starts, stops, _, values, _, _, _, scale = layout
    trials, classes, rows = gradient.shape
    buffers = row_buffers(starts, stops, values)
    factors, kept = buffers[1:]
    every_class = np.arange(classes)
    slopes = np.empty((rows, classes), gradient.dtype)
    to_units = np.empty(hidden.shape[2], hidden.dtype)
    to_first[:] = 0
    to_second[:] = 0
    for trial in range(trials):
        matrix = trial * starts.shape[0] // trials
        for c in range(classes):
            for row in range(rows):
                slopes[row, c] = gradient[trial, c, row]
        for row in range(rows):
            units = hidden[trial, row]
            for c in range(classes):
                slope, target = slopes[row, c], to_second[trial, c]
                for h in range(target.size):
                    target[h] += slope * units[h]
            weighted_sum(slopes[row], every_class, second[trial], to_units)
            for h in range(units.size):  # positive exactly where it was positive and survived
                to_units[h] = to_units[h] * scale if units[h] > 0 else units.dtype.type(0)
            left = surviving_row(layout, matrix, row, trial, buffers)
            scatter_row(factors[:left], kept[:left], to_units, to_first[trial])
