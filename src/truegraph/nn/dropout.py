"""Random bits that can be computed again at will: counter-based hashing for dropout.

A dropout mask is never stored. Whether entry ``e`` of a layer survives is a function of
(trial seed, step, layer, ``e``) alone, so the backward pass recomputes the mask of the forward
pass, a trial sees the same masks alone or beside forty-nine others, and the number of threads
plays no part. The same function exists as numba code (CPU) and as torch integer arithmetic
(every other device); both give the same bits.

The bits come from two rounds of a 32-bit multiply-xorshift finaliser keyed with 64 bits; the key
comes from the splitmix64 finaliser applied to seed, step and layer in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import torch

_LOW = 0xFFFFFFFF
_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)
# Heads of one layer get keys of their own; no layer has more heads than this.
_HEADS = 1024


class Dropout(NamedTuple):
    """One layer's dropout: ``keys`` of shape (batch, 2), uint32, and the probability to drop."""

    keys: np.ndarray
    rate: float

    @property
    def threshold(self) -> np.uint32:
        """An entry survives when its 32 random bits are below this."""
        return np.uint32(round((1.0 - self.rate) * 2**32))

    @property
    def scale(self) -> float:
        """What a surviving entry is multiplied with, so that the mean is kept."""
        return 1.0 / (1.0 - self.rate)


@dataclass(frozen=True)
class Noise:
    """The randomness of one training step of T trials.

    Parameters
    ----------
    seeds : ndarray of shape (T,), uint64
        One seed per trial.
    step : int
        Number of the step; every step has masks of its own.
    """

    seeds: np.ndarray
    step: int

    def keys(self, layer: int, heads: int = 1) -> np.ndarray:
        """Return the keys of a layer, shape (T * heads, 2), trial by trial."""
        return _layer_keys(self.seeds, np.uint64(self.step), layer * _HEADS, heads).view(np.uint32)

    def dropout(self, rate: float, layer: int, heads: int = 1) -> Dropout | None:
        """Return the layer's dropout, or None when nothing is dropped."""
        return Dropout(self.keys(layer, heads), rate) if rate > 0.0 else None


def dropout_of(noise: Noise | None, rate: float, layer: int, heads: int = 1) -> Dropout | None:
    """Return the dropout of a layer; None without noise (prediction) or with rate 0."""
    return None if noise is None else noise.dropout(rate, layer, heads)


def derive_seeds(seeds: Sequence[int] | np.ndarray, stream: int) -> np.ndarray:
    """Return seeds of another, independent stream: uint64 of the same shape as ``seeds``."""
    derived = _derive(np.asarray(seeds, dtype=np.uint64), np.uint64(stream))
    return np.asarray(derived)


@numba.njit(cache=True)
def _splitmix(x: np.uint64) -> np.uint64:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True)
def _layer_keys(seeds: np.ndarray, step: np.uint64, first_tag: int, heads: int) -> np.ndarray:
    keys = np.empty((seeds.size * heads, 1), np.uint64)
    for trial in range(seeds.size):
        stepped = _splitmix(_splitmix(seeds[trial]) ^ step)
        for head in range(heads):
            keys[trial * heads + head, 0] = _splitmix(stepped ^ np.uint64(first_tag + head))
    return keys


@numba.njit(cache=True)
def _derive(seeds: np.ndarray, stream: np.uint64) -> np.ndarray:
    derived = np.empty_like(seeds)
    for trial in range(seeds.size):
        derived[trial] = _splitmix(seeds[trial] ^ _splitmix(~stream))
    return derived


_u32 = numba.uint32


@numba.njit(inline="always")
def _mix(x: np.uint32) -> np.uint32:
    x = _u32(x ^ (x >> _u32(16)))
    x = _u32(x * _u32(_MULTIPLIERS[0]))
    x = _u32(x ^ (x >> _u32(15)))
    x = _u32(x * _u32(_MULTIPLIERS[1]))
    return _u32(x ^ (x >> _u32(16)))


@numba.njit(inline="always")
def random_bits(entry: int, low: np.uint32, high: np.uint32) -> np.uint32:
    """Return the 32 random bits of an entry under the key (low, high): numba code."""
    return _mix(_u32(_mix(_u32(_u32(entry) + low)) ^ high))


def random_bits_torch(entries: torch.Tensor, keys: np.ndarray) -> torch.Tensor:
    """Return the same bits as :func:`random_bits` as int64, shape (batch, entries)."""
    key = torch.from_numpy(keys.astype(np.int64)).to(entries.device)
    bits = _mix_torch((entries[None, :] + key[:, :1]) & _LOW)
    return _mix_torch(bits ^ key[:, 1:])


def _mix_torch(x: torch.Tensor) -> torch.Tensor:
    x = x ^ (x >> 16)
    x = (x * _MULTIPLIERS[0]) & _LOW
    x = x ^ (x >> 15)
    x = (x * _MULTIPLIERS[1]) & _LOW
    return x ^ (x >> 16)


def survivors_torch(entries: torch.Tensor, dropout: Dropout) -> torch.Tensor:
    """Return which entries survive, bool of shape (batch, entries)."""
    return random_bits_torch(entries, dropout.keys) < int(dropout.threshold)
