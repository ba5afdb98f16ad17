"""The page of one's own recommendations: reasons, probabilities, the item graph."""

from __future__ import annotations

import pytest

from truegraph import Recommender
from truegraph.data import load_interactions
from truegraph.report.recommended import recommended_parts

OPTIONS = {"degree": 5, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}


def test_reasons_probabilities_and_graph() -> None:
    fitted = Recommender("graph-ease", options=OPTIONS, random_state=0).fit(
        load_interactions("planted")
    )
    table = fitted.recommend(fitted.interactions_.user_ids, k=3)
    parts = {part["heading"]: part for part in recommended_parts(fitted, table)}
    probable = parts["How probable the recommendations are"]["cells"]
    user, item, chance, because = parts["Because they took"]["cells"][0]
    first = table.iloc[0]
    assert (user, item) == (str(first["user"]), str(first["item"]))
    assert chance.value == first["probability"]
    top = fitted.explain(first["user"], first["item"]).iloc[0]
    assert because.startswith(f"{top['item']} ({top['contribution'] / first['score']:.0%})")
    for rank, row in enumerate(probable, start=1):
        of_rank = table.loc[table["rank"] == rank, "probability"]
        assert row[1].value == pytest.approx(of_rank.mean())
    near = parts["The most popular items and their neighbours"]["cells"][0]
    assert near[2].split(", ")[0] == fitted.similar_items(near[0], 1)["item"][0]


def test_a_model_without_reasons_or_graph_has_no_such_parts() -> None:
    data = load_interactions("planted")
    popular = Recommender("popularity", validation_share=0.0).fit(data)
    parts = list(recommended_parts(popular, popular.recommend(data.user_ids[:5])))
    assert [part["heading"] for part in parts] == ["First recommendations"]
