"""The seed that a `random_state` stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from truegraph.errors import InputError


def seed_from(random_state: Any) -> int:
    """Return an integer as it is; from anything else, draw one."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r} must be an integer >= 0, a RandomState or None."
        ) from error


def derived_seed(seed: int, number: int) -> int:
    """Return one of the independent seeds that a seed stands for."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
