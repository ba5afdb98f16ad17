"""The seed that a random_state stands for."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph import InputError
from truegraph.seeds import seed_from


def test_an_integer_is_its_own_seed() -> None:
    assert seed_from(7) == seed_from(np.int32(7)) == 7


def test_a_generator_gives_its_next_number() -> None:
    generator = np.random.RandomState(3)
    expected = [np.random.RandomState(3).randint(2**31 - 1)]
    first, second = seed_from(generator), seed_from(generator)
    assert [first] == expected
    assert first != second


@pytest.mark.parametrize("state", [-1, "seven", 1.5])
def test_anything_else_is_named(state: object) -> None:
    with pytest.raises(InputError, match="random_state"):
        seed_from(state)
