"""Sets of items: the rank of a next item, the conformal quantile, and that sets hold it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Recommender
from truegraph.data import load_interactions, split_randomly
from truegraph.recommend.next_items import item_ranks, next_ranks, rank_threshold
from truegraph.recommend.top_items import rank_items

DATA = load_interactions("planted")


def test_ranks_are_places_in_the_lists() -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 5, (6, 20)).astype(np.float32)  # with many equal ones
    seen = csr_array((generator.random((6, 20)) < 0.3).astype(float))
    lists, _ = rank_items(lambda users: scores[users], np.arange(6), seen, 20)
    items = np.array([row[row >= 0][4] for row in lists])
    assert item_ranks(scores, items, seen).tolist() == [5] * 6


def test_the_quantile_is_conformal() -> None:
    ranks = np.arange(1, 20)
    assert rank_threshold(ranks, 0.9) == 18
    assert rank_threshold(ranks, 0.5) == 10
    with pytest.raises(InputError, match="cannot be learned from 19 users"):
        rank_threshold(ranks, 0.96)
    with pytest.raises(InputError, match=r"coverage=1\.0"):
        rank_threshold(ranks, 1.0)


def test_sets_hold_the_next_item_as_often_as_asked() -> None:
    split = split_randomly(DATA, (0.8, 0.0, 0.2), random_state=0)
    train = csr_array(split.train)
    recommender = Recommender("ease", random_state=0, validation_share=0.2).fit(train)
    asked = np.flatnonzero(np.diff(split.test.indptr))
    for coverage in (0.5, 0.8):
        size = recommender.set_size(coverage)
        table = recommender.recommend_set(asked, coverage)
        assert table.groupby("user").size().max() == size
        lists = recommender.rank_all(train, size)
        held = [
            np.isin(split.test.indices[split.test.indptr[u] : split.test.indptr[u + 1]], lists[u])
            for u in asked
        ]
        realised = np.mean([part.mean() for part in held])
        assert realised > coverage - 0.08
    assert recommender.set_size(0.5) < recommender.set_size(0.8)


def test_sets_survive_saving_and_need_held_out_interactions(tmp_path: Path) -> None:
    recommender = Recommender("ease", random_state=0).fit(DATA)
    recommender.save(tmp_path / "saved")
    assert Recommender.load(tmp_path / "saved").set_size(0.7) == recommender.set_size(0.7)
    alone = Recommender("ease", random_state=0, validation_share=0.0).fit(DATA)
    with pytest.raises(InputError, match="nothing was held out"):
        alone.recommend_set(["user 7"])
    empty = csr_array((3, 4))
    assert next_ranks(recommender._model, csr_array(np.eye(3, 4)), empty) is None
