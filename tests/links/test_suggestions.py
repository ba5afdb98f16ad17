"""Suggestions: hidden links come first, and as often as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import AnswerWarning, LinkPredictor
from truegraph.data.link_splits import split_links
from truegraph.errors import InputError
from truegraph.links.pair_model import hiding_rounds
from truegraph.links.problem import is_among, pair_values


@pytest.mark.parametrize("model", ["auto", "adamic-adar"])
def test_suggestions_are_right_as_often_as_stated(model, teams):
    split = split_links(teams, validation=0.0, test=0.1, random_state=0)
    predictor = LinkPredictor(model, random_state=0).fit(split.train)
    table = predictor.suggest(150)
    right = is_among(table[["source", "target"]].to_numpy(), split.test_links, 400)
    assert right[:50].mean() > 0.6
    assert table["probability"].mean() == pytest.approx(right.mean(), abs=0.12)
    assert ((table["probability"] > 0.0) & (table["probability"] < 1.0)).all()
    assert (table["uncertainty"] > 0.0).all()
    assert table["probability"].is_monotonic_decreasing
    assert (pair_values(split.train, table[["source", "target"]].to_numpy()) == 0.0).all()


def test_a_smaller_missing_part_lowers_probabilities_alone(teams):
    predictor = LinkPredictor(random_state=0).fit(teams)
    usual, few = predictor.suggest(40), predictor.suggest(40, missing=0.01)
    assert usual[["source", "target"]].equals(few[["source", "target"]])
    is_free = usual["probability"] < 0.99
    ratio = usual["probability"][is_free] / few["probability"][is_free]
    np.testing.assert_allclose(ratio, (0.1 / 0.9) / (0.01 / 0.99))


def test_rounds_never_see_the_links_they_hide(teams):
    model = LinkPredictor(options={"rank": 16}, random_state=0).fit(teams)._model
    rounds = list(hiding_rounds(model))
    assert len(rounds) == 5
    assert all(0 < one.is_right.sum() <= round(0.1 * teams.nnz / 2) for one in rounds)
    common = model.columns.names.index("common neighbours")
    # all candidates are at two steps on the graph without the hidden links
    assert all((one.columns[:, common] > 0.0).all() for one in rounds)


def test_explanations_name_what_is_shared(teams):
    predictor = LinkPredictor(options={"scale": "slack"}, random_state=0).fit(teams)
    row = predictor.suggest(1).iloc[0]
    dense = teams.toarray()
    shared = np.flatnonzero(dense[row["source"]] * dense[row["target"]])
    assert row["common_neighbours"] == len(shared)
    assert set(row["through"]) <= set(shared)
    slack = predictor.learned_graph_.slack(
        [(row["source"], row["target"])],
        np.sum((predictor.points_[row["source"]] - predictor.points_[row["target"]]) ** 2)[None],
    )
    assert row["slack"] == pytest.approx(slack[0])
    assert predictor.searched_.startswith(f"{len(predictor.suggest(10**6)):,} pairs")


def test_too_few_links_to_learn_from_still_give_suggestions():
    ring = np.roll(np.eye(12), 1, axis=1)
    table = LinkPredictor(random_state=0).fit(ring).suggest(5)
    assert len(table) == 5
    assert ((table["probability"] > 0.0) & (table["probability"] < 1.0)).all()


def test_lists_are_as_long_as_few_are_false() -> None:
    """Groups that are nearly complete: what is missing can be told."""
    generator = np.random.default_rng(0)
    group = np.arange(200) // 10
    links = np.triu((group[:, None] == group) & (generator.random((200, 200)) < 0.9), 1)
    graph = csr_array((links | links.T).astype(float))
    predictor = LinkPredictor("resource-allocation", options={"held_out": 0.1}, random_state=0).fit(
        graph
    )
    few, more = (predictor.suggest(500, false_share=share) for share in (0.2, 0.8))
    everything = predictor.suggest(500)
    assert 0 < len(few) <= len(more) <= len(everything)
    assert few.equals(everything.head(len(few)))
    within = group[few["source"]] == group[few["target"]]
    assert within.mean() >= 0.8
    with pytest.warns(AnswerWarning, match=r"bounded by 0.2: the lowest bound is 0.9\d"):
        assert len(predictor.suggest(500, false_share=0.2, missing=0.001)) == 0
    with pytest.raises(InputError, match="false_share=2"):
        predictor.suggest(5, false_share=2)


def test_shares_hold_on_a_dense_graph_with_hubs():
    """On which the graph with all links has many more walks than those that lack some."""
    rng = np.random.default_rng(0)
    strength = (np.arange(700) + 10.0) ** -0.7
    group = rng.permutation(np.arange(700) % 8)
    chance = np.outer(strength, strength) * np.where(group[:, None] == group, 800.0, 120.0)
    links = np.triu(rng.random((700, 700)) < np.minimum(chance, 0.9), 1)
    graph = csr_array((links | links.T).astype(float))
    split = split_links(graph, validation=0.0, test=0.1, random_state=0)
    table = LinkPredictor(random_state=0).fit(split.train).suggest(1000)
    right = is_among(table[["source", "target"]].to_numpy(), split.test_links, 700)
    assert table["probability"].mean() == pytest.approx(right.mean(), abs=0.05)
