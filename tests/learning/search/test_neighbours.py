from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from truegraph.learning.search.approximate import recall_of
from truegraph.learning.search.neighbours import ExactSearch, all_neighbours
from truegraph.progress import Progress

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=40)


def brute_force(queries: np.ndarray, base: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
    """Rank by (distance, id) with the query itself left out."""
    values = ((queries[:, None] - base) ** 2).sum(axis=2)
    real = own >= 0
    values[np.flatnonzero(real), own[real]] = np.inf
    return np.argsort(values, axis=1, kind="stable")[:, :k]


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 300),
    dimension=st.integers(1, 5),
    sparse=st.booleans(),
    share=st.floats(0.01, 1.0),
)
@REPEATABLE
def test_exact_search_is_brute_force(
    seed: int, count: int, dimension: int, sparse: bool, share: float
) -> None:
    """On a small grid of integers: many duplicates, many ties, and no rounding anywhere."""
    points = np.random.default_rng(seed).integers(0, 4, size=(count, dimension)).astype(float)
    k = max(1, int(share * (count - 1)))
    own = np.arange(count)
    form = csr_array(points) if sparse else points
    found = ExactSearch(form).query(form, own, k)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, brute_force(points, points, own, k))


@pytest.mark.parametrize("dimension", [1, 3, 17])
def test_exact_search_of_other_points(dimension: int) -> None:
    rng = np.random.default_rng(1)
    base, queries = rng.normal(size=(700, dimension)), rng.normal(size=(90, dimension))
    own = np.full(90, -1)
    found = ExactSearch(base).query(queries, own, 25)
    np.testing.assert_array_equal(found, brute_force(queries, base, own, 25))
    sparse = ExactSearch(csr_array(base)).query(csr_array(queries), own, 25)
    np.testing.assert_array_equal(sparse, found)


def test_a_large_common_part_of_dense_points_costs_no_digits() -> None:
    points = np.random.default_rng(2).integers(0, 30, size=(200, 2)).astype(float)
    own = np.arange(200)
    near = ExactSearch(points).query(points, own, 10)
    far = ExactSearch(points + 2.0**40).query(points + 2.0**40, own, 10)
    np.testing.assert_array_equal(far, near)


def test_other_points_are_searched_as_well() -> None:
    rng = np.random.default_rng(5)
    base, queries = rng.normal(size=(1500, 3)), rng.normal(size=(800, 3))
    truth = brute_force(queries, base, np.full(800, -1), 10)
    for engine in ("exact", "ivf", "sketch"):
        found, recall = all_neighbours(
            queries, base, 10, engine=engine, same=False, random_state=rng, progress=Progress()
        )
        assert recall_of(found, truth) >= 0.97
        assert recall >= 0.98
