"""Metrics of ranked lists: by hand, and the laws between the two forms of NDCG."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation.ranking import score_rankings


def test_by_hand() -> None:
    lists = [[4, 0, 2, 1], [3, 1, 0, 2]]
    held = csr_array(np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]]))  # user 0: 0, 1, 3; user 1: 4
    scores = score_rankings(lists, held, ks=[3])
    of = {name.split("@")[0]: values for name, values in scores.per_user.items()}
    assert of["recall"].tolist() == [1 / 3, 0.0]
    assert of["hit"].tolist() == [1, 0]
    assert of["mrr"].tolist() == [0.5, 0.0]
    assert of["map"].tolist() == [0.5 / 3, 0.0]
    gain = 1 / np.log2(3)
    assert of["ndcg"][0] == pytest.approx(gain / (1 + 1 / np.log2(3) + 0.5))
    # its own list of four has hits in places 2 and 4; in the best order in places 1 and 2
    assert of["ndcg_ngcf"][0] == pytest.approx(gain / (1 + 1 / np.log2(3)))
    assert of["ndcg_ngcf"][1] == 0.0
    assert scores.coverage == {"coverage@3": 1.0 * 5 / 5}
    assert scores.means()["recall@3"] == pytest.approx(1 / 6)


def test_users_without_held_out_items_are_left_out_and_counted() -> None:
    held = csr_array(np.array([[0, 0], [1, 0], [0, 0]]))
    scores = score_rankings([[0, 1]] * 3, held, ks=[1], mask=("train", "validation"))
    assert scores.users.tolist() == [1]
    assert scores.skipped == 2
    assert scores.means()["recall@1"] == 1.0
    assert scores.mask == ("train", "validation")


def test_lists_that_end_early() -> None:
    held = csr_array(np.array([[0, 1, 1]]))
    scores = score_rankings([[1, -1, -1]], held, ks=[3])
    assert scores.means()["recall@3"] == 0.5
    assert scores.coverage["coverage@3"] == pytest.approx(1 / 3)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, csr_array]:
    seed = draw(st.integers(0, 10_000))
    depth = draw(st.sampled_from([20, 60, 150]))
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(150)[:depth] for _ in range(5)])
    held = csr_array((rng.random((5, 150)) < draw(st.sampled_from([0.01, 0.1, 0.5]))).astype(int))
    return lists, held


@settings(max_examples=60, deadline=None)
@given(rankings(), st.sampled_from([1, 5, 20]))
def test_laws_of_ndcg(case: tuple[np.ndarray, csr_array], k: int) -> None:
    lists, held = case
    if held.nnz == 0:
        return
    scores = score_rankings(lists, held, ks=[k])
    usual, ngcf = scores.per_user[f"ndcg@{k}"], scores.per_user[f"ndcg_ngcf@{k}"]
    dense = held.toarray()
    for place, user in enumerate(scores.users):
        found = dense[user, lists[user, :100]].sum()
        assert 0.0 <= usual[place] <= ngcf[place] + 1e-12
        assert ngcf[place] <= 1.0 + 1e-12
        if min(k, found) == min(k, dense[user].sum()):
            assert usual[place] == pytest.approx(ngcf[place])
        if dense[user, lists[user, :k]].sum() == 0:
            assert usual[place] == ngcf[place] == 0.0


def test_a_perfect_list_scores_one() -> None:
    held = csr_array(np.array([[1, 1, 0, 0]]))
    means = score_rankings([[1, 0, 2, 3]], held, ks=[2, 4]).means()
    for name in ("recall", "ndcg", "ndcg_ngcf", "hit", "mrr", "map"):
        assert means[f"{name}@2"] == means[f"{name}@4"] == 1.0


@pytest.mark.parametrize(
    ("lists", "held", "ks", "message"),
    [
        ([[0]], np.eye(2), [1], "one list of item numbers per user"),
        ([[5]], np.ones((1, 2)), [1], "below 2"),
        ([[0]], np.ones((1, 2)), [2], r"ks=\(2,\)"),
        ([[0]], np.zeros((1, 2)), [1], "nothing to find"),
        ([[0.5]], np.ones((1, 2)), [1], "item numbers"),
    ],
)
def test_impossible_input(lists: list, held: np.ndarray, ks: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_rankings(lists, csr_array(held), ks)
