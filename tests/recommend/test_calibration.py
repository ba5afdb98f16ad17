"""Probabilities of recommended items and sets of them, by held-out interactions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Recommender
from truegraph.data import load_interactions, split_randomly
from truegraph.recommend.calibration import (
    fit_calibration,
    item_ranks,
    next_ranks,
    probabilities,
    rank_threshold,
)
from truegraph.recommend.models import HistoryModel, rank_items

DATA = load_interactions("planted")
TRAIN = csr_array(np.eye(40, 30, dtype=np.float32) + np.eye(40, 30, -10, dtype=np.float32) > 0)


class ItemNumbers(HistoryModel):
    """Scores every item by its number, the same for everybody."""

    def scores(self, history: csr_array, users: np.ndarray | None = None) -> np.ndarray:
        return np.tile(np.arange(30, dtype=np.float32), (history.shape[0], 1))


def test_items_that_are_taken_more_often_are_more_probable() -> None:
    rng = np.random.default_rng(0)
    taken = rng.random((40, 30)) < np.linspace(0.0, 0.9, 30)
    held_out = csr_array((taken & ~TRAIN.toarray()).astype(np.float32))
    calibration = fit_calibration(ItemNumbers(), TRAIN, held_out)
    assert calibration is not None
    ranks, lengths = np.array([1, 15, 28]), np.full(3, 2)
    scores = np.array([29.0, 14.0, 1.0], dtype=np.float32)
    found = probabilities(calibration, ranks, scores, lengths)
    assert (np.diff(found) <= 0.0).all()
    assert found[0] > 0.6 > 0.2 > found[2]
    nothing = csr_array((40, 30), dtype=np.float32)
    assert fit_calibration(ItemNumbers(), TRAIN, nothing) is None


@pytest.mark.parametrize("least", [0, 25])
def test_probabilities_are_capped_by_what_held_out_counts_support(least: int) -> None:
    """Even where all of the best items were taken, and none of the others."""
    rows, columns = np.indices((40, 30))
    held_out = csr_array(((columns >= least) & ~TRAIN.toarray() & (rows > 0)).astype(np.float32))
    calibration = fit_calibration(ItemNumbers(), TRAIN, held_out)
    assert calibration is not None
    for score in (-1e9, 0.0, 29.0, 1e9):
        own = np.array([1]), np.array([score], dtype=np.float32), np.array([2])
        (chance,) = probabilities(calibration, *own)
        assert 1.0 / 1202.0 <= chance <= 1.0 - 1.0 / (held_out.nnz + 2.0)


def test_no_probability_of_a_recommender_is_certain() -> None:
    table = Recommender("ease", random_state=0).fit(DATA).recommend(DATA.user_ids, k=180)
    chance = table["probability"].to_numpy()
    assert ((chance > 0.0) & (chance < 1.0)).all()


def test_between_knots_one_interpolates() -> None:
    knots, slope = np.array([0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    calibration = np.zeros(3), slope, knots, np.array([0.2, 0.6])
    ranks, lengths = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    found = probabilities(calibration, ranks, np.array([0.5, 9.0], dtype=np.float32), lengths)
    assert np.allclose(found, [0.4, 0.6])


def test_ranks_are_places_in_the_lists() -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 5, (6, 20)).astype(np.float32)  # with many equal ones
    seen = csr_array((generator.random((6, 20)) < 0.3).astype(float))
    lists, _ = rank_items(lambda rows: scores[rows], seen, 20)
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
