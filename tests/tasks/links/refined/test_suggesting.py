"""Suggestions of the refined predictor: hidden links come first, and as often as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import LinkPredictor
from truegraph.data.graphs.adjacency import adjacency_from_edges
from truegraph.data.graphs.link_splits import split_links
from truegraph.tasks.links.problem import pair_values
from truegraph.tasks.links.refined.model import RefinedSettings, fit_refined, prepared_features
from truegraph.tasks.links.refined.suggesting import hiding_trials
from truegraph.tasks.links.suggesting.suggestions import is_among


@pytest.fixture(scope="module")
def teams() -> csr_array:
    """People in teams of five, all of whose members are linked: missing links are plain to see."""
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(220):
        members = rng.choice(400, size=5, replace=False)
        pairs += [(a, b) for a in members for b in members if a < b]
    ends = np.array(pairs)
    return adjacency_from_edges(ends[:, 0], ends[:, 1], None, 400)


@pytest.mark.parametrize("model", ["refined", "adamic-adar"])
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


def test_trials_never_see_the_links_they_hide(teams):
    features = prepared_features(None, 16, 0)
    settings = RefinedSettings(rank=16, scale="off")
    model = fit_refined(teams, teams, features, settings, 0)
    trials = list(hiding_trials(model))
    assert len(trials) == 5
    assert all(0 < trial.is_right.sum() <= round(0.1 * teams.nnz / 2) for trial in trials)
    common = model.columns.names.index("common neighbours")
    # all candidates are at two steps on the graph without the hidden links
    assert all((trial.columns[:, common] > 0.0).all() for trial in trials)


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
