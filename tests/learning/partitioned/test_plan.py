"""Memory decides the number of partitions; sizes are read as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.learning.partitioned.plan import (
    check_nodes,
    memory_bytes,
    partition_points,
    points_in_memory,
)
from truegraph.learning.partitioned.spreading import cut_into_partitions
from truegraph.learning.search.approximate import SIZES


@pytest.mark.parametrize(
    ("text", "count"),
    [("8GB", 8e9), ("500 mb", 5e8), ("1.5GiB", 1.5 * 2**30), (2e9, 2e9), ("1000000000", 1e9)],
)
def test_sizes(text: str | float, count: float) -> None:
    assert memory_bytes(text) == count


@pytest.mark.parametrize("text", ["", "much", "8XB", "-1GB", "1.2.3GB", None, 0, float("nan")])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(InputError, match="is no size; give for example '8GB'"):
        memory_bytes(text)


def test_partitions_follow_the_memory() -> None:
    sizes = SIZES
    few, many = (points_in_memory(memory, 30, 16) for memory in (8e9, 1e9))
    assert 2.5 * many < few
    assert partition_points(points_in_memory(0.4e9, 1000, 1000), 1000, sizes) == SIZES[0]
    with pytest.raises(InputError, match="too little for a process"):
        points_in_memory(1e8, 30, 16)
    with pytest.raises(InputError, match="too many"):
        check_nodes(2**31)


def test_partitions_are_runs_of_large_cells_of_about_equal_size() -> None:
    counts = np.random.default_rng(0).integers(0, 100, size=50)
    cuts = cut_into_partitions(counts, 500)
    sizes = np.add.reduceat(counts, cuts[:-1])
    assert cuts[0] == 0
    assert cuts[-1] == 50
    assert sizes.sum() == counts.sum()
    assert sizes.min() > 0
    assert sizes.max() <= 600
    np.testing.assert_array_equal(cut_into_partitions(np.array([5, 1000, 0, 0]), 100), [0, 4])
