"""Known models by hand and by their definitions: popularity, neighbours, filters, iALS."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.data import load_interactions, split_randomly
from truegraph.recommend import baselines
from truegraph.recommend.baselines import GFCF, IALS, ItemKNN, Popularity, TurboCF, solve_rows
from truegraph.recommend.choosing import choose
from truegraph.recommend.ease import normalised
from truegraph.recommend.models import HistoryModel

TRAIN = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))
OPTIONS = {"width": 8, "penalty": 3.0, "confidence": 4.0, "sweeps": 3}
SPLIT = split_randomly(load_interactions("planted"), random_state=0)


def turbo(power: float, user_share: float, order: int) -> dict[str, Any]:
    return {"power": power, "user_share": user_share, "order": order}


TABLE = SPLIT.train.toarray().astype(np.float64)


def test_gfcf_is_the_linear_and_the_ideal_filter() -> None:
    made = GFCF.fit({"rank": 6, "blend": 0.3}, SPLIT.train)
    operator = normalised(SPLIT.train).toarray()
    right = np.linalg.svd(operator)[2][:6]
    degrees = np.maximum(TABLE.sum(axis=0), 1)
    ideal = (TABLE / np.sqrt(degrees)) @ right.T @ right * np.sqrt(degrees)
    wanted = TABLE @ operator.T @ operator + 0.3 * ideal
    assert made.scores(SPLIT.train) == pytest.approx(wanted, abs=1e-2)


@pytest.mark.parametrize("order", [1, 2])
def test_turbocf_is_a_polynomial_of_the_item_graph(order: int) -> None:
    made = TurboCF.fit(turbo(0.7, 0.3, order), SPLIT.train)
    users, items = TABLE.sum(axis=1), np.maximum(TABLE.sum(axis=0), 1)
    operator = users[:, None] ** -0.3 * TABLE * items**-0.7
    graph = (operator.T @ operator) ** 0.7
    wanted = TABLE @ graph if order == 1 else 2 * TABLE @ graph - TABLE @ graph @ graph
    assert made.scores(SPLIT.train) == pytest.approx(wanted, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    "made",
    [
        GFCF.fit({"rank": 6, "blend": 0.3}, SPLIT.train),
        TurboCF.fit(turbo(0.7, 0.5, 2), SPLIT.train),
        IALS.fit(OPTIONS, SPLIT.train),
    ],
    ids=["gfcf", "turbocf", "ials"],
)
def test_contributions_sum_to_the_score(made: HistoryModel) -> None:
    own = SPLIT.train[[5]].indices.astype(np.int64)
    direct, _ = made.contributions(own, 9)
    assert direct.sum() == pytest.approx(made.scores(SPLIT.train[[5]])[0, 9], rel=1e-3)


def test_many_items_keep_their_largest_weights_only(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TurboCF.fit(turbo(1.0, 0.5, 1), SPLIT.train).weights.toarray()
    monkeypatch.setattr(baselines, "_WHOLE_ROWS", 10)
    monkeypatch.setattr(baselines, "_LONGEST_LIST", 7)
    cut = TurboCF.fit(turbo(1.0, 0.5, 1), SPLIT.train).weights.toarray()
    assert (cut > 0).sum(axis=0).max() == 7
    assert cut[cut > 0] == pytest.approx(whole[cut > 0], rel=1e-5)
    assert cut.max(axis=0) == pytest.approx(whole.max(axis=0), rel=1e-5)


def test_popularity_counts() -> None:
    made = Popularity.fit({}, TRAIN)
    assert made.scores(TRAIN[[0, 2]]).tolist() == [[2, 3, 1], [2, 3, 1]]
    with pytest.raises(InputError, match="similar items"):
        made.similarity(0)
    with pytest.raises(InputError, match="ignores what a user took"):
        made.contributions(np.array([0]), 1)


def test_item_neighbours_by_hand() -> None:
    made = ItemKNN.fit({"neighbours": 1}, TRAIN)
    # cosines: 0-1 2/sqrt(6), 1-2 1/sqrt(3), 0-2 0; item 1's nearest is 0
    near, far = 2 / np.sqrt(6), 1 / np.sqrt(3)
    table = made.weights.toarray()
    assert table == pytest.approx(np.array([[0, near, 0], [near, 0, far], [0, 0, 0]]))
    assert made.scores(csr_array(np.array([[0.0, 1.0, 0.0]]))).tolist()[0] == pytest.approx(
        [near, 0, far]
    )


def test_the_number_of_neighbours_is_chosen_on_held_out_interactions_if_there_are_any() -> None:
    assert choose("item-knn", None, SPLIT.train, None)[0].options == {"neighbours": 100}
    found, _ = choose("item-knn", None, SPLIT.train, SPLIT.validation)
    assert [tried["neighbours"] for _, tried, *_ in found.tried] == [20, 50, 100, 200]
    assert found.recall == max(recall for *_, recall, _ in found.tried)


def test_rows_solve_their_weighted_least_squares() -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(12, 3)).astype(np.float32)
    row = (rng.random(12) < 0.4).astype(np.float64)
    found = solve_rows(csr_array(row[None]), items, 2.0, 4.0)[0]
    confidence = np.diag(1.0 + 4.0 * row)
    system = items.T @ confidence @ items + 2.0 * np.eye(3)
    exact = np.linalg.solve(system, items.T @ confidence @ row)
    assert found == pytest.approx(exact, abs=1e-5)


def test_the_number_of_threads_does_not_show() -> None:
    before, found = numba.get_num_threads(), []
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            numba.set_num_threads(threads)
            found.append(IALS.fit(OPTIONS, SPLIT.train, seed=3).items)
    finally:
        numba.set_num_threads(before)
    assert (found[0] == found[-1]).all()
    assert (found[0] != IALS.fit(OPTIONS, SPLIT.train, seed=4).items).any()


def test_no_history_gives_zero_scores() -> None:
    made = IALS.fit(OPTIONS, SPLIT.train)
    assert not made.scores(csr_array(np.zeros((1, 180), dtype=np.float32))).any()


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (ItemKNN, {"neighbours": 0}),
        (TurboCF, {"order": 3}),
        (GFCF, {"blend": -1.0}),
        (IALS, {"penalty": -1.0}),
        (IALS, {"width": 0}),
    ],
)
def test_impossible_options(kind: type[HistoryModel], wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        kind.checked(wrong)
