"""Dropout bits: the same from both implementations, and as random as dropout needs."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch

from truegraph.nn.dropout import (
    Dropout,
    Noise,
    derive_seeds,
    dropout_of,
    random_bits,
    random_bits_torch,
    survivors_torch,
)


@numba.njit
def _bits(count: int, low: np.uint32, high: np.uint32) -> np.ndarray:
    out = np.empty(count, np.uint32)
    for k in range(count):
        out[k] = random_bits(k, low, high)
    return out


def _noise(trials: int = 4, step: int = 7) -> Noise:
    return Noise(np.arange(trials, dtype=np.uint64), step)


def test_numba_and_torch_give_the_same_bits() -> None:
    keys = _noise().keys(layer=1)
    from_torch = random_bits_torch(torch.arange(5000), keys).numpy()
    for key, row in zip(keys, from_torch, strict=True):
        np.testing.assert_array_equal(_bits(5000, key[0], key[1]), row)


def test_keys_differ_by_trial_step_layer_and_head() -> None:
    keys = [_noise(step=s).keys(layer, heads=3) for s in range(20) for layer in range(5)]
    assert len(np.unique(np.concatenate(keys), axis=0)) == 20 * 5 * 4 * 3


def test_a_trials_keys_do_not_depend_on_its_neighbours() -> None:
    alone = Noise(np.array([2], dtype=np.uint64), 7)
    np.testing.assert_array_equal(_noise().keys(3, heads=2)[4:6], alone.keys(3, heads=2))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.6, 0.9])
def test_the_share_dropped_is_the_rate(rate: float) -> None:
    count = 200_000
    dropout = Dropout(_noise().keys(0), rate)
    kept = survivors_torch(torch.arange(count), dropout).double().mean(1).numpy()
    deviation = np.sqrt(rate * (1 - rate) / count)
    np.testing.assert_allclose(kept, 1 - rate, atol=4.5 * deviation)
    assert dropout.scale * (1 - rate) == pytest.approx(1)


def test_masks_of_neighbouring_entries_steps_and_trials_are_uncorrelated() -> None:
    count = 100_000
    now, later = (
        random_bits_torch(torch.arange(count), _noise(step=s).keys(0)).numpy() for s in (7, 8)
    )
    pairs = [(now[0, 1:], now[0, :-1]), (now[0], now[1]), (now[0], later[0])]
    for first, second in pairs:
        assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / np.sqrt(count)


def test_derived_seeds_are_another_stream() -> None:
    seeds = np.arange(100, dtype=np.uint64)
    streams = [seeds, *(derive_seeds(seeds, stream) for stream in range(5))]
    assert len(np.unique(np.concatenate(streams))) == 600
    np.testing.assert_array_equal(derive_seeds([3], 2), derive_seeds(seeds, 2)[3:4])


def test_nothing_is_dropped_without_noise_or_rate() -> None:
    assert dropout_of(None, 0.5, 0) is None
    assert dropout_of(_noise(), 0.0, 0) is None
    assert dropout_of(_noise(), 0.5, 0) is not None
