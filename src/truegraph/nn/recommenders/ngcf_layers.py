"""NGCF's layers in their default form, forward and backward, one pass over memory per layer.

Computes what `truegraph.nn.recommenders.ngcf` says for P = D^-1 (A + I) and the activation of the
sum. Automatic gradients of the same formulas take twice the time: they pass over every
intermediate result again for activation, dropout, scaling and joining. Tests compare both.

With S = P E a layer is X = S W1 + (E * S) W2 + b1 + b2, Y = dropout(LeakyReLU(X)), and its part of
the vectors R = Y / |Y|, row by row. Back, with g the gradients::

    g_Y = g_next + (g_R - R (R . g_R)) / |Y|,   g_X = g_Y * mask * slope
    g_E = (g_X W2') * S + P' (g_X W1' + (g_X W2') * E)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import torch

from truegraph.nn.dropout import Dropout, random_bits
from truegraph.nn.recommenders.propagation import Propagation
from truegraph.nn.sparse import multiply

_SHORTEST = 1e-12  # rows shorter than this are divided by it, as torch's normalize does


class Layer(NamedTuple):
    """Matrices and biases of the two terms of a layer."""

    matrix1: torch.Tensor
    bias1: torch.Tensor
    matrix2: torch.Tensor
    bias2: torch.Tensor


def joined_layers(
    embeddings: torch.Tensor,
    layers: list[Layer],
    operator: Propagation,
    slope: float,
    dropouts: list[Dropout | None],
) -> torch.Tensor:
    """Return the embeddings and the scaled output of every layer, side by side.

    Parameters
    ----------
    embeddings : Tensor of shape (nodes, width)
    layers : list of Layer
        Matrices (width, width), biases (width,).
    operator : Propagation of shape (nodes, nodes)
    slope : float
        Of the LeakyReLU.
    dropouts : list of Dropout or None
        One for each layer.

    Returns
    -------
    Tensor of shape (nodes, width * (layers + 1))
    """
    flat = [tensor for layer in layers for tensor in layer]
    joined: torch.Tensor = _JoinedLayers.apply(operator, slope, dropouts, embeddings, *flat)
    return joined


class _JoinedLayers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        operator: Propagation,
        slope: float,
        dropouts: list[Dropout | None],
        embeddings: torch.Tensor,
        *flat: torch.Tensor,
    ) -> torch.Tensor:
        width = embeddings.shape[1]
        layers = [Layer(*flat[k : k + 4]) for k in range(0, len(flat), 4)]
        joined = embeddings.new_empty((len(embeddings), width * (len(layers) + 1)))
        joined[:, :width] = embeddings
        states, messages, lengths = [embeddings.contiguous()], [], []
        for place, (layer, dropout) in enumerate(zip(layers, dropouts, strict=True), start=1):
            own = states[-1]
            sent = multiply(operator.forth, own[None], None, transposed=False)[0]
            state = torch.addmm(layer.bias1 + layer.bias2, sent, layer.matrix1)
            state.addmm_(own * sent, layer.matrix2)
            length = state.new_empty(len(state))
            _activate(state.numpy().reshape(-1), *_mask(dropout), slope)
            _scale_rows(state.numpy(), joined.numpy(), place * width, length.numpy())
            states.append(state)
            messages.append(sent)
            lengths.append(length)
        ctx.save_for_backward(joined, *states, *messages, *lengths, *flat)
        ctx.operator, ctx.slope, ctx.dropouts = operator, slope, dropouts
        return joined

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        count = len(ctx.dropouts)
        joined, *saved = ctx.saved_tensors
        states, saved = saved[: count + 1], saved[count + 1 :]
        messages, lengths, flat = saved[:count], saved[count : 2 * count], saved[2 * count :]
        width = states[0].shape[1]
        array = gradient.contiguous().numpy()
        to_state = torch.zeros_like(states[0])
        to_weights: list[torch.Tensor] = []
        for place in range(count, 0, -1):
            layer = Layer(*flat[4 * place - 4 : 4 * place])
            own, sent = states[place - 1], messages[place - 1]
            part = (array, joined.numpy(), place * width)
            slopes = (_mask(ctx.dropouts[place - 1])[1], np.float32(ctx.slope))
            length, state = lengths[place - 1].numpy(), states[place].numpy()
            _deactivate(part, length, state, slopes, to_state.numpy())
            product = to_state @ layer.matrix2.T
            to_bias = to_state.sum(0)
            to_weights[:0] = [sent.T @ to_state, to_bias, (own * sent).T @ to_state, to_bias]
            to_sent = torch.addmm(product * own, to_state, layer.matrix1.T)
            back = multiply(ctx.operator.back, to_sent[None], None, transposed=False)[0]
            to_state = torch.addcmul(back, product, sent)
        to_state += gradient[:, :width]
        return None, None, None, to_state, *to_weights


def _mask(dropout: Dropout | None) -> tuple[np.ndarray, np.float32, np.uint32]:
    """Return key, scale and threshold; without dropout the scale is 1 and the key unused."""
    if dropout is None:
        return np.zeros(2, np.uint32), np.float32(1.0), np.uint32(0)
    return dropout.keys[0], np.float32(dropout.scale), dropout.threshold


@numba.njit(cache=True, nogil=True)
def _activate(
    flat: np.ndarray, key: np.ndarray, scale: np.float32, threshold: np.uint32, slope: float
) -> None:
    """Activate and drop in place."""
    low, high = key[0], key[1]
    zero, leak = np.float32(0), np.float32(slope)
    for k in range(flat.size):
        flat[k] = flat[k] if flat[k] > zero else leak * flat[k]
    if threshold > 0:
        for k in range(flat.size):
            flat[k] = flat[k] * scale if random_bits(k, low, high) < threshold else zero


# "reassoc" lets the compiler use vector lanes: another order of summation, fixed all the same
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _scale_rows(state: np.ndarray, joined: np.ndarray, first: int, lengths: np.ndarray) -> None:
    """Write the rows divided by their lengths to ``joined`` from a column on, and the lengths.

    A slice of columns handed in would keep the loops from using vector lanes.
    """
    width = state.shape[1]
    for row in range(state.shape[0]):
        values, scaled = state[row], joined[row, first : first + width]
        square = np.float32(0)
        for h in range(width):
            square += values[h] * values[h]
        length = max(np.sqrt(square), np.float32(_SHORTEST))
        lengths[row] = length
        for h in range(width):
            scaled[h] = values[h] / length


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def _deactivate(
    part: Any, lengths: np.ndarray, state: np.ndarray, slopes: Any, to_state: np.ndarray
) -> None:
    """Turn the gradient of a layer's output into that before activation, in place."""
    to_joined, joined, first = part
    scale, leak = slopes
    zero = np.float32(0)
    width = state.shape[1]
    for row in range(state.shape[0]):
        own, values = to_state[row], state[row]
        given, unit = to_joined[row, first : first + width], joined[row, first : first + width]
        along = zero
        for h in range(width):
            along += unit[h] * given[h]
        inverse = np.float32(1) / lengths[row]
        for h in range(width):
            through = own[h] + (given[h] - unit[h] * along) * inverse
            # what was dropped is zero now; a zero before activation has measure zero
            slope_here = scale if values[h] > zero else (leak * scale if values[h] < zero else zero)
            own[h] = through * slope_here
