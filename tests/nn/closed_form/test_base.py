"""What the recommenders of one calculation share: choosing, scoring, packing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from truegraph import InputError
from truegraph.nn.closed_form.base import Search, check_at_least, packed, unpacked
from truegraph.nn.closed_form.ease import EASE

WEIGHTS = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
HISTORY = csr_array(np.array([[1.0, 0.0, 1.0]], dtype=np.float32))


@pytest.mark.parametrize("weights", [WEIGHTS, csr_array(WEIGHTS)], ids=["dense", "sparse"])
def test_scores_are_sums_of_weights(weights: object) -> None:
    model = EASE(None, weights)
    assert model.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]
    direct, through_graph = model.contributions(np.array([0, 2]), 1)
    assert direct.tolist() == [2.0, 0.0]
    assert through_graph.tolist() == [0.0, 0.0]
    assert model.similarity(0).tolist() == [0.0, 2.0, 1.0]
    again = EASE.restored(None, model.arrays())
    assert again.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]


def test_matrices_come_back_as_they_were() -> None:
    sparse = unpacked(packed(csr_array(WEIGHTS), "w"), "w")
    assert isinstance(sparse, csr_array)
    assert (sparse != csr_array(WEIGHTS)).nnz == 0
    assert np.array_equal(unpacked(packed(WEIGHTS, "w"), "w"), WEIGHTS)


def test_settings_below_their_bounds_are_named() -> None:
    @dataclass
    class Settings:
        penalty: float | None

    check_at_least(Settings(None), {"penalty": 1.0})
    check_at_least(Settings(1.0), {"penalty": 1.0})
    for wrong in (0.5, float("nan")):
        with pytest.raises(InputError, match="must be at least 1"):
            check_at_least(Settings(wrong), {"penalty": 1.0})


@pytest.mark.parametrize(
    ("n_items", "looked_at"),
    [(15_000, 10_000), (30_000, 5_000), (10**6, 1_000)],  # 150 million scores, at least 1,000 users
)
def test_with_many_items_fewer_users_are_looked_at(n_items: int, looked_at: int) -> None:
    users = np.arange(10_500)
    ones = np.ones(len(users), dtype=np.float32)
    taken = csr_array((ones, (users, users)), shape=(len(users), n_items))
    nothing = csr_array(taken.shape, dtype=np.float32)
    search = Search(taken, nothing, seed=3)
    assert search.histories.shape == (looked_at, n_items)
    again = Search(taken, taken, seed=3).histories
    assert (Search(taken, taken, seed=3).histories != again).nnz == 0
    assert len(np.unique(again.indices)) == looked_at  # different users


def test_few_users_are_all_looked_at() -> None:
    everyone = csr_array(eye_array(50, dtype=np.float32))
    assert Search(everyone, everyone).histories.shape == (50, 50)
