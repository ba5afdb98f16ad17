"""Attention over a graph's neighbourhoods, and its gradient.

The coefficients of a row are softmax_j act(left_i + right_j) over the stored entries j of row i
of a pattern. They are never kept: the backward pass computes them again from the scores and the
logarithm of each row's total, so memory grows with the nodes and not with the edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import torch

from truegraph.nn import device
from truegraph.nn.dropout import Dropout, survivors_torch
from truegraph.nn.sparse import FixedSparse, row_bits, row_buffers, weighted_sum


class Neighbourhoods(NamedTuple):
    """Which columns each row attends to; the values of the pattern are not used.

    ``own`` (count, rows), int64, is the column that stands for the row's own node.
    """

    pattern: FixedSparse
    own: np.ndarray


def attend(
    near: Neighbourhoods,
    values: torch.Tensor,
    scores: torch.Tensor,
    slope: float | None,
    dropout: Dropout | None,
) -> torch.Tensor:
    """Average the values of each row's neighbourhood with attention coefficients.

    Parameters
    ----------
    near : Neighbourhoods of shape (rows, columns)
    values : Tensor of shape (batch, columns, width)
    scores : Tensor of shape (batch, columns, 2)
        What a node adds to a score as the attending node (left) and as the attended one (right).
    slope : float or None
        Slope of the leaky rectifier for negative scores; None for the exponential linear unit.
    dropout : Dropout, optional
        Drops coefficients after the softmax, and rescales the rest.

    Returns
    -------
    Tensor of shape (batch, rows, width)
        Zero for rows without neighbours.
    """
    if not device.uses_kernels(values):
        return _attend_torch(near, values, scores, slope, dropout)
    averaged: torch.Tensor = _Attend.apply(values, scores, near, slope, dropout)
    return averaged


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        values: torch.Tensor,
        scores: torch.Tensor,
        near: Neighbourhoods,
        slope: float | None,
        dropout: Dropout | None,
    ) -> torch.Tensor:
        values, scores = values.contiguous(), scores.contiguous()
        ctx.fixed = _kernel_arguments(near, slope, dropout, values)
        size = (len(values), near.pattern.shape[0])
        out, totals = values.new_empty((*size, values.shape[2])), values.new_empty(size)
        arrays = (values, scores, out, totals)
        _attend_kernel(ctx.fixed, tuple(array.detach().numpy() for array in arrays))
        ctx.save_for_backward(*arrays)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        values, scores, out, totals = ctx.saved_tensors
        to_values, to_scores = torch.zeros_like(values), torch.zeros_like(scores)
        arrays = (values, scores, out, totals, gradient.contiguous(), to_values, to_scores)
        _attend_back_kernel(ctx.fixed, tuple(array.detach().numpy() for array in arrays))
        return to_values, to_scores, None, None, None


def _kernel_arguments(
    near: Neighbourhoods, slope: float | None, dropout: Dropout | None, values: torch.Tensor
) -> tuple[Any, ...]:
    pattern, number = near.pattern, values.detach().numpy().dtype.type
    layout = (pattern.starts, pattern.stops, pattern.indices, pattern.bases, near.own)
    mask: tuple[Any, ...] = (np.zeros((1, 2), np.uint32), False, np.uint32(0), number(1.0))
    if dropout is not None:
        mask = (dropout.keys, True, dropout.threshold, number(dropout.scale))
    return layout, mask, (slope is None, number(0.0 if slope is None else slope))


@numba.njit(inline="always")
def _activate(score: float, exponential: bool, slope: float) -> float:
    if score >= 0:
        return score
    return np.expm1(score) if exponential else slope * score


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _attend_kernel(fixed: Any, arrays: Any) -> None:
    starts, stops, indices, bases, own = fixed[0]
    keys, dropping, threshold, scale = fixed[1]
    exponential, slope = fixed[2]
    values, scores, out, totals = arrays
    bits, factors, kept = row_buffers(starts, stops, values)
    for batch in range(out.shape[0]):
        matrix = batch * starts.shape[0] // out.shape[0]
        key = keys[batch % keys.shape[0]]
        for row in range(out.shape[1]):
            start, stop = starts[matrix, row], stops[matrix, row]
            left, peak = scores[batch, own[matrix, row], 0], values.dtype.type(-np.inf)
            for k in range(start, stop):
                score = _activate(left + scores[batch, indices[k], 1], exponential, slope)
                factors[k - start] = score
                peak = max(peak, score)
            mass = values.dtype.type(0)
            for k in range(stop - start):
                factors[k] = np.exp(factors[k] - peak)
                mass += factors[k]
            totals[batch, row] = peak + np.log(mass)
            if dropping:
                row_bits(start - bases[matrix], stop - start, key, bits)
            share, left_over = scale / mass, 0
            for k in range(stop - start):  # without a branch: it could not be predicted
                factors[left_over], kept[left_over] = factors[k] * share, indices[start + k]
                left_over += bits[k] < threshold or not dropping
            weighted_sum(factors[:left_over], kept[:left_over], values[batch], out[batch, row])


# "reassoc" lets the compiler use vector lanes: another order of summation, fixed all the same
@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _attend_back_kernel(fixed: Any, arrays: Any) -> None:
    starts, stops, indices, bases, own = fixed[0]
    keys, dropping, threshold, scale = fixed[1]
    exponential, slope = fixed[2]
    values, scores, out, totals, gradient, to_values, to_scores = arrays
    zero, one = values.dtype.type(0), values.dtype.type(1)
    bits, _, _ = row_buffers(starts, stops, values)
    for batch in range(out.shape[0]):
        matrix = batch * starts.shape[0] // out.shape[0]
        key = keys[batch % keys.shape[0]]
        for row in range(out.shape[1]):
            start, stop = starts[matrix, row], stops[matrix, row]
            if dropping:
                row_bits(start - bases[matrix], stop - start, key, bits)
            slopes, self_column = gradient[batch, row], own[matrix, row]
            # sum_j share_j d loss / d share_j, the term that the softmax subtracts
            mean = zero
            for h in range(slopes.size):
                mean += slopes[h] * out[batch, row, h]
            left, total, to_left = scores[batch, self_column, 0], totals[batch, row], zero
            for k in range(start, stop):
                column = indices[k]
                raw = left + scores[batch, column, 1]
                score = _activate(raw, exponential, slope)
                share, along = np.exp(score - total), zero
                if bits[k - start] < threshold or not dropping:
                    along = scale * _follow(
                        share * scale, slopes, values[batch, column], to_values[batch, column]
                    )
                to_score = share * (along - mean)
                if raw <= 0:  # at the kink the slope on the left, as in torch
                    to_score *= score + one if exponential else slope
                to_left += to_score
                to_scores[batch, column, 1] += to_score
            to_scores[batch, self_column, 0] += to_left


@numba.njit(inline="always")
def _follow(factor: float, slopes: np.ndarray, source: np.ndarray, target: np.ndarray) -> float:
    """Add factor * slopes to the target and return the dot product of slopes and source."""
    along = source.dtype.type(0)
    for h in range(slopes.size):
        target[h] += factor * slopes[h]
    for h in range(slopes.size):
        along += slopes[h] * source[h]
    return along


def _attend_torch(
    near: Neighbourhoods,
    values: torch.Tensor,
    scores: torch.Tensor,
    slope: float | None,
    dropout: Dropout | None,
) -> torch.Tensor:
    pattern, averages = near.pattern, []
    for batch in range(len(values)):
        matrix = batch * pattern.count // len(values)
        (rows, columns), _, entries = pattern.on_device(values.device, matrix)
        own = torch.from_numpy(near.own[matrix]).to(values.device)
        raw = scores[batch, own[rows], 0] + scores[batch, columns, 1]
        score = _activate_torch(raw, slope)
        peak = score.new_full((pattern.shape[0],), -torch.inf)
        peak = peak.scatter_reduce(0, rows, score.detach(), "amax")
        exponent = torch.exp(score - peak[rows])
        mass = score.new_zeros(pattern.shape[0]).index_add(0, rows, exponent)
        share = exponent / mass[rows]
        if dropout is not None:
            mask = survivors_torch(entries, Dropout(dropout.keys[batch : batch + 1], dropout.rate))
            share = share * mask[0] * dropout.scale
        empty = values.new_zeros((pattern.shape[0], values.shape[2]))
        averages.append(empty.index_add(0, rows, share[:, None] * values[batch, columns]))
    return torch.stack(averages)


def _activate_torch(raw: torch.Tensor, slope: float | None) -> torch.Tensor:
    if slope is None:
        return torch.nn.functional.elu(raw)
    return torch.nn.functional.leaky_relu(raw, slope)
