"""EASE and graph-augmented EASE: equations, choices, bounded memory, the sparse form."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, random_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.recommend import ease
from truegraph.recommend.choosing import Choice, Search, choose
from truegraph.recommend.ease import EASE, GraphEASE, low_pass, mean_length, spread_users

SPLIT = split_randomly(load_interactions("planted"), random_state=0)
FIXED = {**GraphEASE.DEFAULTS, "degree": 10, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}
SPARSE = {**FIXED, "dense_items": 1, "neighbours": 30}


def chosen_ease(train: csr_array, held_out: csr_array | None) -> Choice:
    return choose("ease", None, train, held_out)[0]


def chosen(given: dict[str, Any] | None = None, held_out: Any = SPLIT.validation) -> Choice:
    return choose("graph-ease", given, SPLIT.train, held_out)[0]


def shared_items(*models: Any) -> float:
    """Return how many of the ten best items two models share, on average."""
    lists = [np.argsort(-made.scores(SPLIT.train), axis=1)[:, :10] for made in models]
    return float(np.mean([len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]))


def test_ease_minimises_its_objective() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((30, 8)) < 0.3).astype(np.float64)
    made = EASE.fit({"penalty": 2.0}, csr_array(table))
    found = made.weights.astype(np.float64)
    assert np.diag(found) == pytest.approx(np.zeros(8))
    # The gradient is zero but on the diagonal, where a multiplier holds the weights at zero.
    gradient = table.T @ (table @ found - table) + 2.0 * found
    off = gradient - np.diag(np.diag(gradient))
    assert np.abs(off).max() < 1e-5


def test_the_penalty_is_chosen_on_validation_and_shown() -> None:
    assert chosen_ease(SPLIT.train, None).options == {"penalty": 200.0}
    found = chosen_ease(SPLIT.train, SPLIT.validation)
    assert [options["penalty"] for _, options, *_ in found.tried] == [20, 50, 100, 200, 500, 1000]
    assert found.recall == max(recall for *_, recall, _ in found.tried)


def test_memory_is_bounded_however_many_penalties_are_tried() -> None:
    train = csr_array(random_array((300, 1200), density=0.02, rng=np.random.default_rng(0)))
    train.data[:] = 1.0
    held = csr_array(random_array((300, 1200), density=0.002, rng=np.random.default_rng(1)))
    held = csr_array(held - held.multiply(train != 0))
    held.eliminate_zeros()
    tracemalloc.start()
    chosen_ease(train, held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrix = 8 * 1200 * 1200  # one in double precision; six candidates kept would be nine of these
    assert peak < 4 * matrix


def test_many_items_are_regressed_on_their_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = EASE.fit({"penalty": 50.0}, SPLIT.train)
    monkeypatch.setattr(ease, "MOST_ITEMS", 100)
    monkeypatch.setattr(ease, "_NEIGHBOURS", 40)
    local = EASE.fit({"penalty": 50.0}, SPLIT.train)
    assert isinstance(local.weights, csr_array)
    assert np.diff(csc_array(local.weights).indptr).max() <= 40
    assert shared_items(dense, local) > 8
    found = chosen_ease(SPLIT.train, SPLIT.validation)
    again = EASE.fit(found.options, SPLIT.train)
    assert Search(SPLIT.train, SPLIT.validation).measure(again)[0] == found.recall


def test_scores_of_the_graph_by_the_definition() -> None:
    made = GraphEASE.fit(FIXED, SPLIT.train)
    assert made.operator is not None
    history = SPLIT.train.toarray().astype(np.float64)
    mixed = history @ (np.eye(180) + 0.5 * made.operator.toarray())
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
        choose("graph-ease", FIXED, SPLIT.train, held_out)[1]
        for held_out in (SPLIT.validation, poisoned)
    ]
    scores = [model.scores(SPLIT.train) for model in models if model is not None]
    assert (scores[0] == scores[1]).all()


def test_the_sparse_form_chooses_one_option_after_the_other() -> None:
    found = chosen({"dense_items": 1, "neighbours": 30})
    assert len(found.tried) == 8 + 2 + 1  # powers x penalties, two other degrees, a strength
    assert found.recall + found.ndcg == max(recall + ndcg for *_, recall, ndcg in found.tried)
    again = GraphEASE.fit(found.options, SPLIT.train)
    measured = Search(SPLIT.train, SPLIT.validation).measure(again)
    assert measured == pytest.approx((found.recall, found.ndcg))


def test_the_sparse_form_ranks_nearly_like_the_dense_one_and_holds_no_whole_matrix() -> None:
    made = [GraphEASE.fit({**FIXED, "dense_items": size}, SPLIT.train) for size in (15_000, 1)]
    assert shared_items(*made) > 8
    small = GraphEASE.fit(SPARSE, SPLIT.train)
    assert isinstance(small.weights, csr_array)
    assert small.weights.nnz <= 30 * 180


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


def test_the_sparse_form_has_a_low_pass_part_as_strong_as_asked() -> None:
    made = GraphEASE.fit(SPARSE, SPLIT.train)
    without = GraphEASE.fit({**SPARSE, "low_pass": 0.0}, SPLIT.train)
    assert without.left is None
    assert GraphEASE.fit(FIXED, SPLIT.train).left is None
    sample = spread_users(SPLIT.train)
    others = without.scores(sample)
    ratio = mean_length(made.scores(sample) - others) / mean_length(others)
    assert ratio == pytest.approx(0.5, rel=1e-4)


def test_the_low_pass_part_by_its_definition() -> None:
    history = SPLIT.train.toarray().astype(np.float64)
    users = np.maximum(history.sum(axis=1), 1.0)[:, None]
    items = np.maximum(history.sum(axis=0), 1.0)
    vectors = np.linalg.svd(history * users**-0.5 * items**-0.5)[2][:4].T
    expected = (history * items**-0.5) @ vectors @ vectors.T * items**0.7
    left, right = low_pass(SPLIT.train, 4)
    assert history @ left @ right.T == pytest.approx(expected, rel=0.05, abs=0.05)
