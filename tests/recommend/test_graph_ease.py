"""Graph-augmented EASE: its equations, its choices, its sparse form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.progress import Progress
from truegraph.recommend.choosing import Choice, Search
from truegraph.recommend.closed_form import choose
from truegraph.recommend.graph_ease import GraphEASE

SPLIT = split_randomly(load_interactions("planted"), random_state=0)
FIXED = {**GraphEASE.DEFAULTS, "degree": 10, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}
SPARSE = {**FIXED, "dense_items": 1, "neighbours": 30}


def chosen(given: dict[str, Any] | None = None, held_out: Any = SPLIT.validation) -> Choice:
    return choose("graph-ease", given, SPLIT.train, held_out, 0, Progress())[0]


def test_scores_by_the_definition() -> None:
    made = GraphEASE.fit(FIXED, SPLIT.train)
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


@pytest.mark.parametrize("dense_items", [15_000, 1])
def test_contributions_sum_to_the_score(dense_items: int) -> None:
    made = GraphEASE.fit({**FIXED, "dense_items": dense_items}, SPLIT.train)
    scores = made.scores(SPLIT.train[[3]])[0]
    own = SPLIT.train[[3]].indices.astype(np.int64)
    for item in (0, 50, 179):
        direct, graph = made.contributions(own, item)
        assert (direct + graph).sum() == pytest.approx(scores[item], abs=1e-5)
        assert np.abs(graph).max() > 0.0


def test_choices_are_by_recall_and_ndcg_on_held_out_interactions() -> None:
    found = chosen()
    assert None not in found.options.values()
    assert found.recall + found.ndcg == max(recall + ndcg for *_, recall, ndcg in found.tried)
    assert len(found.tried) == 8 + 6 - 1  # the graph that all were tried with is not repeated
    given = chosen(FIXED)
    assert given.options == FIXED
    assert given.tried == ()
    usual = chosen(held_out=None).options
    assert (usual["degree"], usual["penalty"]) == (20, 50.0)


def test_poisoned_held_out_interactions_do_not_reach_the_model() -> None:
    poisoned = csr_array(1.0 - SPLIT.train.toarray()).astype(np.float32)
    models = [
        choose("graph-ease", FIXED, SPLIT.train, held_out, 0, Progress())[1]
        for held_out in (SPLIT.validation, poisoned)
    ]
    scores = [model.scores(SPLIT.train) for model in models if model is not None]
    assert (scores[0] == scores[1]).all()


def test_the_sparse_form_chooses_one_option_after_the_other() -> None:
    found = chosen({"dense_items": 1, "neighbours": 30})
    assert len(found.tried) == 8 + 2 + 1  # powers x penalties, two other degrees, a strength
    assert found.recall + found.ndcg == max(recall + ndcg for *_, recall, ndcg in found.tried)
    again = GraphEASE.fit(found.options, SPLIT.train)
    measured = Search(SPLIT.validation, SPLIT.train).measure(again)
    assert measured == pytest.approx((found.recall, found.ndcg))


def test_the_sparse_form_ranks_nearly_like_the_dense_one() -> None:
    lists = []
    for dense_items in (15_000, 1):
        made = GraphEASE.fit({**FIXED, "dense_items": dense_items}, SPLIT.train)
        lists.append(np.argsort(-made.scores(SPLIT.train), axis=1)[:, :10])
    shared = [len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]
    assert np.mean(shared) > 8


def test_the_sparse_form_holds_nothing_of_the_size_items_by_items() -> None:
    made = GraphEASE.fit(SPARSE, SPLIT.train)
    assert isinstance(made.weights, csr_array)
    assert made.weights.nnz <= 30 * 180


@pytest.mark.parametrize(
    "wrong",
    [
        {"graph": "ring"},
        {"degree": 0.5},
        {"penalty": 0.0},
        {"rank": 0},
        {"dense_items": 20_000},
        {"low_pass": -1.0},
    ],
)
def test_impossible_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        GraphEASE.checked(wrong)


def test_the_sparse_form_has_a_low_pass_part() -> None:
    made = GraphEASE.fit(SPARSE, SPLIT.train)
    without = GraphEASE.fit({**SPARSE, "low_pass": 0.0}, SPLIT.train)
    assert without.low_pass is None
    assert np.abs(without.scores(SPLIT.train) - made.scores(SPLIT.train)).max() > 0.0
    assert GraphEASE.fit(FIXED, SPLIT.train).low_pass is None
