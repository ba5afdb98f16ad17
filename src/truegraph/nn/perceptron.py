"""A perceptron with one hidden layer on sparse features, and its gradient.

In training on the CPU both layers are one operation. A trial's hidden units stay in the cache from
one layer to the next, their gradient is never stored, and the features that dropout left are kept
for the way back.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn import device
from truegraph.nn.dense import relu_dropout, trial_matmul
from truegraph.nn.noise import Dropout, Noise, dropout_of, random_bits
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, row_bits, scatter_row, sparse_product, weighted_sum


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
        trials, inputs, units = first.shape
        rows = features.shape[0]
        hidden = first.new_empty((trials, rows, units))
        out = first.new_empty((trials, second.shape[1], rows))
        ctx.survivors = _room_for_survivors(features, trials)
        ctx.scale = features.values.dtype.type(before.scale)
        _forward_kernel(
            features.starts,
            features.stops,
            features.indices,
            features.values,
            features.bases,
            before.keys,
            between.keys,
            before.threshold,
            ctx.scale,
            first.detach().numpy(),
            second.detach().numpy(),
            hidden.numpy(),
            out.numpy(),
            *ctx.survivors,
        )
        ctx.save_for_backward(second, hidden)
        ctx.inputs = inputs
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        second, hidden = ctx.saved_tensors
        to_first = hidden.new_empty((len(hidden), ctx.inputs, hidden.shape[2]))
        to_second = torch.empty_like(second)
        _backward_kernel(
            gradient.contiguous().numpy(),
            second.detach().numpy(),
            hidden.numpy(),
            ctx.scale,
            to_first.numpy(),
            to_second.numpy(),
            *ctx.survivors,
        )
        return to_first, to_second, None, None, None


def _room_for_survivors(
    features: FixedSparse, trials: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrays for the values and columns that dropout leaves, and for each row's end."""
    most = features.stored * trials // features.count + 1  # one is written before it is refused
    return (
        np.empty(most, dtype=features.values.dtype),
        np.empty(most, dtype=np.int32),
        np.empty((trials, features.shape[0]), dtype=np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _forward_kernel(
    starts: np.ndarray,
    stops: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    bases: np.ndarray,
    keys: np.ndarray,
    hidden_keys: np.ndarray,
    threshold: np.uint32,
    scale: float,
    first: np.ndarray,
    second: np.ndarray,
    hidden: np.ndarray,
    out: np.ndarray,
    factors: np.ndarray,
    columns: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill ``hidden`` (T, rows, H), after rectifier and dropout, and ``out`` (T, C, rows)."""
    bits = np.empty(np.max(stops - starts) + 1, np.uint32)
    begin = 0
    for trial in range(hidden.shape[0]):
        matrix = trial * starts.shape[0] // hidden.shape[0]
        for row in range(hidden.shape[1]):
            start, stop = starts[matrix, row], stops[matrix, row]
            row_bits(start - bases[matrix], stop - start, keys[trial], bits)
            end = begin
            for k in range(start, stop):  # without a branch: it could not be predicted
                factors[end], columns[end] = values[k] * scale, indices[k]
                end += bits[k - start] < threshold
            weighted_sum(factors[begin:end], columns[begin:end], first[trial], hidden[trial, row])
            ends[trial, row] = begin = end
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
    gradient: np.ndarray,
    second: np.ndarray,
    hidden: np.ndarray,
    scale: float,
    to_first: np.ndarray,
    to_second: np.ndarray,
    factors: np.ndarray,
    columns: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill the gradients of W1 (T, F, H) and of the turned W2 (T, C, H)."""
    trials, classes, rows = gradient.shape
    every_class = np.arange(classes)
    slopes = np.empty((rows, classes), gradient.dtype)
    to_units = np.empty(hidden.shape[2], hidden.dtype)
    to_first[:] = 0
    to_second[:] = 0
    begin = 0
    for trial in range(trials):
        for c in range(classes):
            for row in range(rows):
                slopes[row, c] = gradient[trial, c, row]
        for row in range(rows):
            units, end = hidden[trial, row], ends[trial, row]
            for c in range(classes):
                slope, target = slopes[row, c], to_second[trial, c]
                for h in range(target.size):
                    target[h] += slope * units[h]
            weighted_sum(slopes[row], every_class, second[trial], to_units)
            for h in range(units.size):  # positive exactly where it was positive and survived
                to_units[h] = to_units[h] * scale if units[h] > 0 else units.dtype.type(0)
            scatter_row(factors[begin:end], columns[begin:end], to_units, to_first[trial])
            begin = end
