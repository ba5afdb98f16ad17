"""Lists of the nearest: those of a full sort, whatever the order of the offers."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.learning.search.cells import offer, sort_list


@pytest.mark.parametrize("seed", range(5))
def test_a_list_is_the_head_of_the_sorted_offers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    offers = [(float(rng.integers(6)), node) for node in rng.permutation(40)]  # many ties
    distances, ids = np.full(7, np.inf), np.full(7, 99, dtype=np.int64)
    for distance, node in offers:
        if (distance, node) < (distances[0], ids[0]):
            offer(distances, ids, distance, node)
    sort_list(distances, ids)
    assert list(zip(distances, ids, strict=True)) == sorted(offers)[:7]
