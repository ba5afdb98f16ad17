"""Dense operations on T trials at once whose bits do not depend on T or on the threads.

Library matrix products and sums choose their order of summation by size and by the number of
threads. Here every sum runs in a fixed order within its trial, so that a trial trained alone
and the same trial trained among others agree in every bit. Each operation has its gradient
beside it; devices other than the CPU use the torch operators.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn import device
from truegraph.nn.dropout import Dropout, random_bits, survivors_torch
from truegraph.nn.sparse import weighted_sum

# A product with fewer columns than this is faster as dot products along the inner dimension.
_NARROW = 16


def trial_matmul(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply (T, rows, inner) with (T, inner, width) trial by trial."""
    if not device.uses_kernels(left):
        return torch.bmm(left, right)
    product: torch.Tensor = _TrialMatmul.apply(left, right)
    return product


class _TrialMatmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(left, right)
        return _product(left, right)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        left, right = ctx.saved_tensors
        gradient = gradient.contiguous()
        to_left, to_right = ctx.needs_input_grad
        return (
            _product(gradient, right.transpose(1, 2)) if to_left else None,
            _outer_sum(left, gradient) if to_right else None,
        )


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    out = left.new_empty((len(left), left.shape[1], right.shape[2]))
    if right.shape[2] < _NARROW:
        _dot_kernel(_array(left), _array(right.transpose(1, 2)), out.numpy())
    else:
        _product_kernel(_array(left), _array(right), out.numpy())
    return out


def _outer_sum(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the transposed left times right, (T, columns of left, columns of right)."""
    if right.shape[2] < _NARROW:  # run along the wider side, then turn
        return _outer_sum_of(right, left).transpose(1, 2)
    return _outer_sum_of(left, right)


def _outer_sum_of(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    out = left.new_empty((len(left), left.shape[2], right.shape[2]))
    _outer_sum_kernel(_array(left), _array(right), out.numpy())
    return out


def _array(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().contiguous().numpy()
    return array


@numba.njit(cache=True, nogil=True)
def _product_kernel(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """out[t, i] = sum_k left[t, i, k] right[t, k], over the k where left is not zero.

    After rectifier and dropout most entries are zero.
    """
    factors = np.empty(left.shape[2] + 1, left.dtype)
    columns = np.empty(left.shape[2] + 1, np.int32)
    for trial in range(out.shape[0]):
        for row in range(out.shape[1]):
            count = 0
            for k in range(left.shape[2]):
                factors[count], columns[count] = left[trial, row, k], k
                count += left[trial, row, k] != 0
            weighted_sum(factors[:count], columns[:count], right[trial], out[trial, row])


# "reassoc" lets the compiler use vector lanes: another order of summation, fixed all the same
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _dot_kernel(left: np.ndarray, turned: np.ndarray, out: np.ndarray) -> None:
    """out[t, i, h] = sum_k left[t, i, k] turned[t, h, k]."""
    for trial in range(out.shape[0]):
        for row in range(out.shape[1]):
            for h in range(out.shape[2]):
                total = left.dtype.type(0)
                for k in range(left.shape[2]):
                    total += left[trial, row, k] * turned[trial, h, k]
                out[trial, row, h] = total


@numba.njit(cache=True, nogil=True)
def _outer_sum_kernel(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """out[t, k] = sum_i left[t, i, k] right[t, i], over the entries where left is not zero."""
    out[:] = 0
    for trial in range(out.shape[0]):
        for row in range(left.shape[1]):
            source = right[trial, row]
            for k in range(left.shape[2]):
                factor, target = left[trial, row, k], out[trial, k]
                if factor != 0:
                    for h in range(target.size):
                        target[h] += factor * source[h]


def add_bias(tensor: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Add a bias of shape (T, width) to every row of a (T, rows, width) tensor."""
    if not device.uses_kernels(tensor):
        return tensor + bias[:, None, :]
    shifted: torch.Tensor = _AddBias.apply(tensor, bias)
    return shifted


class _AddBias(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return tensor + bias[:, None, :]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        bias = gradient.new_empty((len(gradient), gradient.shape[2]))
        _row_sum_kernel(_array(gradient), bias.numpy())
        return gradient, bias


@numba.njit(cache=True, nogil=True)
def _row_sum_kernel(tensor: np.ndarray, out: np.ndarray) -> None:
    out[:] = 0
    for trial in range(tensor.shape[0]):
        for row in range(tensor.shape[1]):
            for h in range(tensor.shape[2]):
                out[trial, h] += tensor[trial, row, h]


def row_sum(tensor: torch.Tensor) -> torch.Tensor:
    """Sum a (T, rows, width) tensor over its rows, shape (T, width)."""
    if not device.uses_kernels(tensor):
        return tensor.sum(1)
    total: torch.Tensor = _RowSum.apply(tensor)
    return total


class _RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.rows = tensor.shape[1]
        out = tensor.new_empty((len(tensor), tensor.shape[2]))
        _row_sum_kernel(_array(tensor), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient[:, None, :].expand(-1, ctx.rows, -1)


def dropout_values(tensor: torch.Tensor, dropout: Dropout | None) -> torch.Tensor:
    """Drop elements of a (batch, rows, width) tensor and rescale the rest."""
    if dropout is None:
        return tensor
    if not device.uses_kernels(tensor):
        return tensor * _mask_torch(tensor, dropout)
    dropped: torch.Tensor = _DropValues.apply(tensor, dropout)
    return dropped


def relu_dropout(tensor: torch.Tensor, dropout: Dropout | None) -> torch.Tensor:
    """Rectify, then drop and rescale, in one pass over a (batch, rows, width) tensor."""
    if dropout is None:
        return torch.relu(tensor)
    if not device.uses_kernels(tensor):
        return torch.relu(tensor) * _mask_torch(tensor, dropout)
    activated: torch.Tensor = _ReluDropout.apply(tensor, dropout)
    return activated


def _mask_torch(tensor: torch.Tensor, dropout: Dropout) -> torch.Tensor:
    entries = torch.arange(tensor[0].numel(), device=tensor.device)
    return survivors_torch(entries, dropout).view(tensor.shape) * dropout.scale


class _DropValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dropout: Dropout) -> torch.Tensor:
        ctx.dropout = dropout
        return _dropped(tensor, dropout, rectify=False)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _dropped(gradient, ctx.dropout, rectify=False), None


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dropout: Dropout) -> torch.Tensor:
        out = _dropped(tensor, dropout, rectify=True)
        ctx.save_for_backward(out)
        ctx.scale = dropout.scale
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (out,) = ctx.saved_tensors
        back = torch.empty_like(out)
        # positive exactly where the input was positive and survived
        _where_positive_kernel(
            _array(gradient).reshape(-1),
            out.numpy().reshape(-1),
            _array(out).dtype.type(ctx.scale),
            back.numpy().reshape(-1),
        )
        return back, None


def _dropped(tensor: torch.Tensor, dropout: Dropout, rectify: bool) -> torch.Tensor:
    source = _array(tensor)
    out = torch.empty(tensor.shape, dtype=tensor.dtype)
    flat = (len(source), -1)
    mask = (dropout.keys, dropout.threshold, source.dtype.type(dropout.scale))
    _drop_kernel(source.reshape(flat), mask, rectify, out.numpy().reshape(flat))
    return out


@numba.njit(cache=True, nogil=True)
def _drop_kernel(source: np.ndarray, dropout: Any, rectify: bool, out: np.ndarray) -> None:
    keys, threshold, scale = dropout
    zero = source.dtype.type(0)
    for batch in range(source.shape[0]):
        low, high = keys[batch, 0], keys[batch, 1]
        for k in range(source.shape[1]):
            value = source[batch, k]
            survives = random_bits(k, low, high) < threshold and not (rectify and value < zero)
            out[batch, k] = value * scale if survives else zero


@numba.njit(cache=True, nogil=True)
def _where_positive_kernel(
    gradient: np.ndarray, out: np.ndarray, scale: float, back: np.ndarray
) -> None:
    for k in range(out.size):
        back[k] = gradient[k] * scale if out[k] > 0 else out.dtype.type(0)
