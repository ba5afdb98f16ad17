"""The page of one's own recommendations: reasons, probabilities, the item graph."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph import BayesianRecommender, Recommender
from truegraph.data import load_interactions
from truegraph.report.page import Facts
from truegraph.report.parts.recommended_items import recommended_parts
from truegraph.report.tables import Table

SETTINGS = {"degree": 5, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}


@pytest.fixture(scope="module")
def fitted() -> Recommender:
    return Recommender(options=SETTINGS, random_state=0).fit(load_interactions("planted"))


def test_reasons_probabilities_and_graph(fitted: Recommender) -> None:
    table = fitted.recommend(fitted.interactions_.user_ids, k=3)
    parts = {part.heading: part for part in recommended_parts(fitted, table)}
    reasons = parts["Because they took"]
    assert isinstance(reasons, Table)
    user, item, chance, because = reasons.cells()[0]
    first = table.iloc[0]
    assert (user.text, item.text) == (str(first["user"]), str(first["item"]))
    assert chance.value == first["probability"]
    top = fitted.explain(first["user"], first["item"]).iloc[0]
    assert because.text.startswith(f"{top['item']} ({top['contribution'] / first['score']:.0%})")
    probable = parts["How probable the recommendations are"]
    assert isinstance(probable, Table)
    means = [row[1].value for row in probable.cells()]
    for rank, mean in enumerate(means, start=1):
        assert mean == pytest.approx(table.loc[table["rank"] == rank, "probability"].mean())
    facts = parts["The learned graph of the items"]
    assert isinstance(facts, Facts)
    assert ("edges", f"{fitted.learned_graph_.n_edges:,}") in facts.facts
    near = parts["The most popular items and their neighbours"]
    assert isinstance(near, Table)
    counts = [row[1].value for row in near.cells()]
    assert counts == sorted(counts, reverse=True)
    item = near.cells()[0][0].text
    assert near.cells()[0][2].text.split(", ")[0] == fitted.similar_items(item, 1)["item"][0]


def test_other_models_show_what_they_have() -> None:
    data = load_interactions("planted")
    popular = Recommender("popularity", validation_share=0.0).fit(data)
    assert not list(recommended_parts(popular, popular.recommend(data.user_ids[:5])))
    options = {"epochs": 2, "width": 4}
    network = BayesianRecommender("bpr-mf", fractions=[0.1], options=options, random_state=0)
    network.fit(data)
    table = network.recommend(data.user_ids[:5], k=3)
    headings = [part.heading for part in recommended_parts(network, table)]
    has_probability = bool(np.isfinite(table["probability"]).any())
    assert headings == ["How probable the recommendations are"] * has_probability
