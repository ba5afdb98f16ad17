"""Lists of best items: full ranking, masks, ties by item number."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.recommend import top_items
from truegraph.recommend.top_items import rank_items


def test_best_items_by_hand() -> None:
    table = np.array([[0.1, 0.9, 0.5, 0.9], [1.0, 1.0, 1.0, 1.0]], dtype=np.float32)
    masked = csr_array(np.array([[0, 1, 0, 0], [0, 0, 0, 0]]))
    items, scores = rank_items(lambda users: table[users], np.arange(2), masked, 3)
    assert items.tolist() == [[3, 2, 0], [0, 1, 2]]
    assert scores[0].tolist() == [np.float32(0.9), np.float32(0.5), np.float32(0.1)]


def test_lists_end_when_the_candidates_do() -> None:
    table = np.arange(4, dtype=np.float32)[None]
    allowed = np.array([True, False, True, True])
    masked = csr_array(np.array([[0, 0, 0, 1]]))
    items, scores = rank_items(lambda users: table, np.zeros(1, int), masked, 4, allowed)
    assert items.tolist() == [[2, 0, -1, -1]]
    assert np.isneginf(scores[0, 2:]).all()


def test_the_order_is_that_of_a_stable_sort(monkeypatch) -> None:
    monkeypatch.setattr(top_items, "_BLOCK_BYTES", 4 * 50 * 7)  # several blocks
    rng = np.random.default_rng(0)
    table = rng.integers(6, size=(40, 50)).astype(np.float32)
    masked = csr_array((rng.random((40, 50)) < 0.3).astype(np.float32))
    items, _ = rank_items(lambda users: table[users], np.arange(40), masked, 10)
    hidden = np.where(masked.toarray() > 0, -np.inf, table)
    expected = np.argsort(-hidden, axis=1, kind="stable")[:, :10]
    assert (items == expected).all()


def test_the_scores_handed_in_are_not_changed() -> None:
    table = np.ones((1, 3), dtype=np.float32)
    rank_items(lambda users: table, np.zeros(1, int), csr_array(np.array([[1, 0, 0]])), 2)
    assert table.tolist() == [[1, 1, 1]]
