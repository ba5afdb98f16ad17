"""Graph-augmented EASE: its equations, its choices, its sparse form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.nn.closed_form.base import Search
from truegraph.nn.closed_form.refined import Refined, RefinedSettings

SPLIT = split_randomly(load_interactions("planted"), random_state=0)
FIXED = RefinedSettings(degree=10, strength=0.5, user_power=0.5, penalty=20.0)


def test_scores_by_the_definition() -> None:
    made = Refined.fit(FIXED, SPLIT.train)
    assert made.graph is not None
    history = SPLIT.train.toarray().astype(np.float64)
    mixed = history @ (np.eye(180) + 0.5 * made.graph.operator.toarray())
    weights = np.maximum(history.sum(axis=1), 1) ** -0.5
    weights /= weights.mean()
    gram = mixed.T @ (weights[:, None] * mixed)
    inverse = np.linalg.inv(gram + np.diag(20.0 + np.diag(gram)))
    regressed = -inverse / np.diag(inverse)
    np.fill_diagonal(regressed, 0.0)
    assert made.scores(SPLIT.train) == pytest.approx(mixed @ regressed, abs=1e-4)


@pytest.mark.parametrize("dense_items", [15_000, 0])
def test_contributions_sum_to_the_score(dense_items: int) -> None:
    made = Refined.fit(replace(FIXED, dense_items=dense_items), SPLIT.train)
    scores = made.scores(SPLIT.train[[3]])[0]
    own = SPLIT.train[[3]].indices.astype(np.int64)
    for item in (0, 50, 179):
        direct, graph = made.contributions(own, item)
        assert (direct + graph).sum() == pytest.approx(scores[item], abs=1e-5)
        assert np.abs(graph).max() > 0.0


def test_choices_are_by_recall_and_ndcg_on_validation() -> None:
    chosen = Refined.choose(RefinedSettings(), SPLIT.train, SPLIT.validation)
    assert None not in vars(chosen.settings).values()
    assert chosen.recall + chosen.ndcg == max(recall + ndcg for _, recall, ndcg in chosen.tried)
    assert len(chosen.tried) == 8 + 6 - 1  # the graph that all were tried with is not repeated
    given = Refined.choose(FIXED, SPLIT.train, SPLIT.validation)
    assert given.settings == FIXED
    assert given.tried == ()
    usual = Refined.choose(RefinedSettings(), SPLIT.train, None).settings
    assert (usual.degree, usual.penalty) == (20, 50.0)


def test_the_sparse_form_chooses_one_setting_after_the_other() -> None:
    settings = RefinedSettings(dense_items=0, neighbours=30)
    chosen = Refined.choose(settings, SPLIT.train, SPLIT.validation)
    assert len(chosen.tried) == 8 + 2 + 1  # powers x penalties, two other degrees, a strength
    assert chosen.recall + chosen.ndcg == max(recall + ndcg for _, recall, ndcg in chosen.tried)
    again = Refined.fit(chosen.settings, SPLIT.train)
    found = Search(SPLIT.validation, SPLIT.train).measure(again)
    assert found == pytest.approx((chosen.recall, chosen.ndcg))


def test_the_sparse_form_ranks_nearly_like_the_dense_one() -> None:
    lists = []
    for dense_items in (15_000, 0):
        settings = replace(FIXED, dense_items=dense_items)
        made = Refined.fit(settings, SPLIT.train)
        lists.append(np.argsort(-made.scores(SPLIT.train), axis=1)[:, :10])
    shared = [len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]
    assert np.mean(shared) > 8


def test_the_sparse_form_holds_nothing_of_the_size_items_by_items() -> None:
    made = Refined.fit(replace(FIXED, dense_items=0, neighbours=30), SPLIT.train)
    assert isinstance(made.weights, csr_array)
    assert made.weights.nnz <= 30 * 180


def test_saved_arrays_give_the_same_scores() -> None:
    made = Refined.fit(FIXED, SPLIT.train)
    again = Refined.restored(FIXED, made.arrays())
    assert (again.scores(SPLIT.train) == made.scores(SPLIT.train)).all()


@pytest.mark.parametrize(
    "wrong",
    [{"graph": "ring"}, {"degree": 0.5}, {"penalty": 0.0}, {"rank": 0}, {"dense_items": 20_000}],
)
def test_impossible_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        RefinedSettings(**wrong)


def test_the_sparse_form_has_a_low_pass_part_that_is_kept() -> None:
    made = Refined.fit(replace(FIXED, dense_items=0, neighbours=30), SPLIT.train)
    assert made.low_pass is not None
    again = Refined.restored(made.settings, made.arrays())
    np.testing.assert_array_equal(again.scores(SPLIT.train), made.scores(SPLIT.train))
    without = Refined.fit(replace(FIXED, dense_items=0, neighbours=30, low_pass=0.0), SPLIT.train)
    assert without.low_pass is None
    assert np.abs(without.scores(SPLIT.train) - made.scores(SPLIT.train)).max() > 0.0
    assert Refined.fit(FIXED, SPLIT.train).low_pass is None


def test_a_negative_low_pass_is_refused() -> None:
    with pytest.raises(InputError, match=r"low_pass=-1 must be at least 0"):
        RefinedSettings(low_pass=-1)
