"""GF-CF and Turbo-CF by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.recommend import graph_filters
from truegraph.recommend.graph_filters import GFCF, TurboCF
from truegraph.recommend.item_graph import normalised

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
    ],
    ids=["gfcf", "turbocf"],
)
def test_contributions_sum_to_the_score(made: GFCF | TurboCF) -> None:
    own = SPLIT.train[[5]].indices.astype(np.int64)
    direct, _ = made.contributions(own, 9)
    assert direct.sum() == pytest.approx(made.scores(SPLIT.train[[5]])[0, 9], rel=1e-4)


def test_many_items_keep_their_largest_weights_only(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TurboCF.fit(turbo(1.0, 0.5, 1), SPLIT.train).weights.toarray()
    monkeypatch.setattr(graph_filters, "_WHOLE_ROWS", 10)
    monkeypatch.setattr(graph_filters, "_LONGEST_LIST", 7)
    cut = TurboCF.fit(turbo(1.0, 0.5, 1), SPLIT.train).weights.toarray()
    assert (cut > 0).sum(axis=0).max() == 7
    assert cut[cut > 0] == pytest.approx(whole[cut > 0], rel=1e-5)
    assert cut.max(axis=0) == pytest.approx(whole.max(axis=0), rel=1e-5)


def test_impossible_settings() -> None:
    with pytest.raises(InputError, match="order=3"):
        TurboCF.checked({"order": 3})
    with pytest.raises(InputError, match="blend"):
        GFCF.checked({"blend": -1.0})
