"""Entry points of the recommenders."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from faulty_values import MATRIX, STRUCTURE, VALUES, WRONG_SIZE, Faulty
from scipy import sparse


@cache
def _recommender() -> Any:
    import truegraph

    return truegraph.Recommender("ease", random_state=0).fit(MATRIX)


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    import truegraph

    makers: dict[str, Callable[[], Any]] = {
        "Recommender": lambda: truegraph.Recommender("ease", random_state=0),
        "BayesianRecommender": lambda: truegraph.BayesianRecommender(
            "bpr-mf", options={"epochs": 2}, degree=2, random_state=0
        ),
    }
    free = MATRIX.toarray() == 0  # of which some stay free: negatives of the refit
    held = sparse.csr_array((free & (np.arange(9) % 2 == 0)).astype(float))
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    for name, make in makers.items():
        found |= {
            f"{name}.fit:interactions": (
                lambda v, make=make: make().fit(v),
                [(MATRIX, STRUCTURE | VALUES)],
            ),
            f"{name}.fit:validation": (
                lambda v, make=make: make().fit(MATRIX, validation=v),
                [(held, STRUCTURE | VALUES)],
            ),
            f"{name}.rank_all:masked": (
                lambda v: _recommender().rank_all(v, 5),
                [(MATRIX, STRUCTURE | VALUES | WRONG_SIZE | {"wide": lambda m: m[:, :-1]})],
            ),
        }
    return found
