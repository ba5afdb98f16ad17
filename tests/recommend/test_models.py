"""What models share, and lists of best items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.recommend import models
from truegraph.recommend.choosing import Search
from truegraph.recommend.ease import EASE
from truegraph.recommend.models import rank_items

WEIGHTS = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
HISTORY = csr_array(np.array([[1.0, 0.0, 1.0]], dtype=np.float32))


@pytest.mark.parametrize("weights", [WEIGHTS, csr_array(WEIGHTS)], ids=["dense", "sparse"])
def test_scores_are_sums_of_weights(weights: object) -> None:
    model = EASE({}, weights)
    assert model.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]
    direct, through_graph = model.contributions(np.array([0, 2]), 1)
    assert direct.tolist() == [2.0, 0.0]
    assert through_graph.tolist() == [0.0, 0.0]
    assert model.similarity(0).tolist() == [0.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("n_items", "looked_at"),
    [(15_000, 10_000), (30_000, 5_000), (10**6, 1_000)],  # 150 million scores, at least 1,000 users
)
def test_with_many_items_fewer_users_are_looked_at(n_items: int, looked_at: int) -> None:
    users = np.arange(10_500)
    ones = np.ones(len(users), dtype=np.float32)
    taken = csr_array((ones, (users, users)), shape=(len(users), n_items))
    nothing = csr_array(taken.shape, dtype=np.float32)
    search = Search(nothing, taken, seed=3)
    assert search.histories.shape == (looked_at, n_items)
    assert Search(taken[:50], taken[:50]).histories.shape == (50, n_items)
    again = Search(taken, taken, seed=3).histories
    assert len(np.unique(again.indices)) == looked_at  # different users


def test_best_items_by_hand() -> None:
    table = np.array([[0.1, 0.9, 0.5, 0.9], [1.0, 1.0, 1.0, 1.0]], dtype=np.float32)
    masked = csr_array(np.array([[0, 1, 0, 0], [0, 0, 0, 0]]))
    items, scores = rank_items(lambda rows: table[rows], masked, 3)
    assert items.tolist() == [[3, 2, 0], [0, 1, 2]]
    assert scores[0].tolist() == [np.float32(0.9), np.float32(0.5), np.float32(0.1)]
    allowed = np.array([True, False, True, True])
    items, scores = rank_items(lambda rows: table[rows], masked, 4, allowed)
    assert items.tolist() == [[3, 2, 0, -1], [0, 2, 3, -1]]
    assert np.isneginf(scores[:, 3]).all()


def test_the_order_is_that_of_a_stable_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_BLOCK_BYTES", 4 * 50 * 7)  # several blocks
    rng = np.random.default_rng(0)
    table = rng.integers(6, size=(40, 50)).astype(np.float32)
    masked = csr_array((rng.random((40, 50)) < 0.3).astype(np.float32))
    items, _ = rank_items(lambda rows: table[rows], masked, 10)
    hidden = np.where(masked.toarray() > 0, -np.inf, table)
    assert (items == np.argsort(-hidden, axis=1, kind="stable")[:, :10]).all()
