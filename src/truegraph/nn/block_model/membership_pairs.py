"""Agreement of memberships over random pairs of nodes, drawn anew in every step."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from truegraph.nn import device
from truegraph.nn.dropout import random_bits, random_bits_torch


def random_pair_agreement(
    memberships: torch.Tensor, keys: np.ndarray, counts: np.ndarray
) -> torch.Tensor:
    """Sum y_i . y_j over pairs (i, j) drawn uniformly with replacement.

    Parameters
    ----------
    memberships : Tensor of shape (T, N, C)
        Rows y_i.
    keys : ndarray of shape (T, 2), uint32
        Which pairs are drawn (:meth:`truegraph.nn.dropout.Noise.keys`).
    counts : ndarray of shape (T,), int64
        How many pairs each trial draws.

    Returns
    -------
    Tensor of shape (T,)
    """
    if not device.uses_kernels(memberships):
        return _agreement_torch(memberships, keys, counts)
    agreement: torch.Tensor = _Agreement.apply(memberships, keys, counts)
    return agreement


class _Agreement(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, memberships: torch.Tensor, keys: np.ndarray, counts: np.ndarray
    ) -> torch.Tensor:
        memberships = memberships.contiguous()
        ctx.save_for_backward(memberships)
        ctx.fixed = (keys, counts)
        total = memberships.new_empty(len(memberships))
        _agreement_kernel(keys, counts, memberships.detach().numpy(), total.numpy())
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (memberships,) = ctx.saved_tensors
        back = torch.zeros_like(memberships)
        keys, counts = ctx.fixed
        slopes = gradient.contiguous().numpy()
        _agreement_back_kernel(keys, counts, memberships.detach().numpy(), slopes, back.numpy())
        return back, None, None


@numba.njit(inline="always")
def _draw(entry: int, key: np.ndarray, nodes: int) -> int:
    bits = np.uint64(random_bits(entry, key[0], key[1]))
    return int((bits * np.uint64(nodes)) >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _agreement_kernel(
    keys: np.ndarray, counts: np.ndarray, memberships: np.ndarray, total: np.ndarray
) -> None:
    nodes, width = memberships.shape[1:]
    for trial in range(len(total)):
        agreement = 0.0
        for pair in range(counts[trial]):
            first = memberships[trial, _draw(2 * pair, keys[trial], nodes)]
            second = memberships[trial, _draw(2 * pair + 1, keys[trial], nodes)]
            for c in range(width):
                agreement += first[c] * second[c]
        total[trial] = agreement


@numba.njit(cache=True, nogil=True)
def _agreement_back_kernel(
    keys: np.ndarray,
    counts: np.ndarray,
    memberships: np.ndarray,
    gradient: np.ndarray,
    back: np.ndarray,
) -> None:
    nodes, width = memberships.shape[1:]
    for trial in range(len(gradient)):
        slope = gradient[trial]
        for pair in range(counts[trial]):
            i = _draw(2 * pair, keys[trial], nodes)
            j = _draw(2 * pair + 1, keys[trial], nodes)
            for c in range(width):
                back[trial, i, c] += slope * memberships[trial, j, c]
                back[trial, j, c] += slope * memberships[trial, i, c]


def _agreement_torch(
    memberships: torch.Tensor, keys: np.ndarray, counts: np.ndarray
) -> torch.Tensor:
    entries = torch.arange(2 * int(counts.max()), device=memberships.device)
    drawn = (random_bits_torch(entries, keys) * memberships.shape[1]) >> 32
    totals = []
    for rows, own, count in zip(memberships, drawn, counts, strict=True):
        first, second = own[: 2 * count].view(-1, 2).T
        totals.append((rows[first] * rows[second]).sum())
    return torch.stack(totals)
