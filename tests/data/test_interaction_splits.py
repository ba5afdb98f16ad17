"""Splits of interactions: exact sizes, nothing in two sets, time order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truegraph import Interactions
from truegraph.data import InteractionSplit, split_by_time, split_randomly
from truegraph.errors import InputError


def users_with(*counts: int) -> Interactions:
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(count) for count in counts])
    return Interactions.from_arrays(users, items, times=np.arange(len(users))[::-1])


def sizes(split: InteractionSplit) -> list[tuple[int, int, int]]:
    parts = (split.train, split.validation, split.test)
    return [tuple(int(part[[row]].nnz) for part in parts) for row in range(split.train.shape[0])]


def test_sizes_round_up_as_in_the_paper() -> None:
    counts = range(2, 60)
    for n, (train, validation, test) in zip(
        counts, sizes(split_randomly(users_with(*counts), random_state=1)), strict=True
    ):
        assert test == min(math.ceil(n / 5), n - 1)
        assert validation == min(math.ceil((n - test) / 8), n - test - 1)
        assert train == n - test - validation


def test_a_single_interaction_is_for_training() -> None:
    assert sizes(split_randomly(users_with(1, 2, 3), random_state=0)) == [
        (1, 0, 0),
        (1, 0, 1),
        (1, 1, 1),
    ]


def test_the_three_sets_are_disjoint_and_complete() -> None:
    data = users_with(7, 30, 12)
    split = split_randomly(data, random_state=3)
    joined = split.train + split.validation + split.test
    assert (joined != data.matrix).nnz == 0
    assert joined.data.max() == 1


def test_the_seed_decides() -> None:
    data = users_with(20, 30)
    first, again, other = (split_randomly(data, random_state=seed) for seed in (4, 4, 5))
    assert (first.test != again.test).nnz == 0
    assert (first.test != other.test).nnz > 0


def test_the_latest_are_test() -> None:
    data = users_with(10)  # item 9 is the oldest, item 0 the latest
    split = split_by_time(data)
    assert split.test.indices.tolist() == [0, 1]
    assert split.validation.indices.tolist() == [2]
    with pytest.raises(InputError, match="no times"):
        split_by_time(Interactions.from_arrays([1], [1]))


@pytest.mark.parametrize("ratios", [(0.5, 0.5), (0.5, 0.5, 0.5), (0, 0.5, 0.5), (1.2, -0.1, -0.1)])
def test_ratios_must_make_sense(ratios: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="ratios"):
        split_randomly(users_with(5), ratios, random_state=0)


def test_other_ratios() -> None:
    split = split_randomly(users_with(10), (0.8, 0.2, 0.0), random_state=0)
    assert sizes(split) == [(8, 2, 0)]
