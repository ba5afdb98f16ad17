"""Bounds of recommenders: lengths of lists, sizes of masks, memory with many items."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Recommender
from truegraph.data.interactions import pair_matrix

MATRIX = csr_array((np.random.default_rng(0).random((12, 9)) < 0.4).astype(float))


@pytest.fixture(scope="module")
def recommender() -> Recommender:
    return Recommender("ease", random_state=0).fit(MATRIX)


ASK: dict[str, Callable[[Any, Any], Any]] = {
    "recommend": lambda r, k: r.recommend([0, 1], k=k),
    "recommend_for_history": lambda r, k: r.recommend_for_history([0, 1], k=k),
    "similar_items": lambda r, k: r.similar_items(0, k=k),
    "rank_all": lambda r, k: r.rank_all(MATRIX, k),
}


@pytest.mark.parametrize("k", [10**9, 0, -3, 2.5, "10", None])
@pytest.mark.parametrize("method", ASK)
def test_impossible_lengths_are_refused(recommender: Recommender, method: str, k: object) -> None:
    with pytest.raises(InputError, match="k="):
        ASK[method](recommender, k)


def test_a_list_may_be_longer_than_the_items(recommender: Recommender) -> None:
    found = {method: ask(recommender, 50) for method, ask in ASK.items()}
    free = [np.flatnonzero(row == 0).tolist() for row in MATRIX.toarray()]
    for user in (0, 1):
        items = found["recommend"].query("user == @user")["item"]
        assert sorted(items) == free[user]
    assert sorted(found["recommend_for_history"]["item"]) == list(range(2, 9))
    assert sorted(found["similar_items"]["item"]) == list(range(1, 9))
    assert found["rank_all"].shape == (12, 50)
    for row, items in zip(found["rank_all"], free, strict=True):
        assert sorted(row[: len(items)]) == items
        assert (row[len(items) :] == -1).all()


@pytest.mark.parametrize("masked", [MATRIX[:3], MATRIX[:, :4]])
def test_a_mask_of_another_size_is_refused(recommender: Recommender, masked: csr_array) -> None:
    with pytest.raises(InputError, match="masked has shape"):
        recommender.rank_all(masked)


@pytest.mark.parametrize("model", ["graph-ease", "gf-cf", "turbo-cf", "item-knn"])
def test_no_model_needs_memory_of_items_by_items(model: str) -> None:
    """Just above 15,000 items, from where on nothing is dense."""
    n_users, n_items, tastes = 1_000, 16_000, 40
    users = np.arange(n_users).repeat(20)
    own = np.random.default_rng(0).integers(n_items // tastes, size=len(users))
    matrix = pair_matrix(users, users % tastes + tastes * own, (n_users, n_items))
    options = {"degree": 5, "low_pass_rank": 32, "neighbours": 30}
    options = options if model == "graph-ease" else None
    tracemalloc.start()
    made = Recommender(model, options=options, validation_share=0.0, random_state=0).fit(matrix)
    table = made.recommend(range(20), k=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (table["item"] % tastes == table["user"] % tastes).mean() > 0.9
    assert peak < 0.4 * 4 * n_items**2  # of one matrix in single precision
