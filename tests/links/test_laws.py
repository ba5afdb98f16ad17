"""Laws of link predictors: what must not change an answer, and graphs of a few nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, LinkPredictor
from truegraph.links.names import AUTO_ENCODERS, BAYESIAN, HEURISTICS, MODELS

RNG = np.random.default_rng(0)
GROUP = np.arange(80) % 4
UPPER = np.triu(RNG.random((80, 80)) < np.where(GROUP[:, None] == GROUP, 0.25, 0.02), 1)
GRAPH = (UPPER | UPPER.T).astype(float)
X = RNG.normal(size=(80, 5)) + 2.0 * (GROUP[:, None] == np.arange(5))
PAIRS = RNG.permutation(np.column_stack(np.triu_indices(80, 1)))[:400]


def answer(model="auto", graph=GRAPH, features=X, pairs=PAIRS, seed=0):
    fitted = LinkPredictor(model, random_state=seed).fit(csr_array(graph), features)
    return fitted.predict_proba(pairs), fitted


@pytest.mark.parametrize("model", ["auto", "adamic-adar"])
def test_the_direction_of_a_pair_does_not_count(model):
    _, fitted = answer(model)
    np.testing.assert_array_equal(fitted.predict_proba(PAIRS), fitted.predict_proba(PAIRS[:, ::-1]))


def test_rows_in_another_order_give_nearly_the_same():
    """Folds and random pairs are drawn anew: the answer moves as between two seeds."""
    order = RNG.permutation(80)
    place = np.argsort(order)
    usual, _ = answer()
    moved, _ = answer(graph=GRAPH[order][:, order], features=X[order], pairs=place[PAIRS])
    assert np.corrcoef(usual, moved)[0, 1] > 0.95
    seeds = np.abs(usual - answer(seed=1)[0]).mean()
    assert np.abs(usual - moved).mean() < 2.0 * seeds


@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_features_times_a_power_of_two_change_no_bit(factor):
    np.testing.assert_array_equal(answer()[0], answer(features=factor * X)[0])


@pytest.mark.parametrize("model", ["auto", "resource-allocation"])
def test_weights_times_two_change_no_answer(model):
    weights = GRAPH * np.round(RNG.random((80, 80)) + 1.0, 2)
    weights = np.maximum(weights, weights.T)
    once, _ = answer(model, graph=weights)
    twice, _ = answer(model, graph=2.0 * weights)
    np.testing.assert_allclose(once, twice, rtol=1e-6)


@pytest.mark.parametrize("model", ["auto", "katz"])
def test_an_isolated_node_changes_little(model):
    """It is among the random pairs and in the features, so the weights move a little."""
    wider = np.pad(GRAPH, (0, 1))
    features = np.vstack([X, X.mean(axis=0)])
    usual, moved = answer(model)[0], answer(model, graph=wider, features=features)[0]
    assert np.corrcoef(usual, moved)[0, 1] > 0.9
    assert np.abs(usual - moved).mean() < 0.1


SMALL = {
    "pair": nx.path_graph(2),
    "triangle": nx.complete_graph(3),
    "path": nx.path_graph(4),
    "star": nx.star_graph(5),
    "ring": nx.cycle_graph(6),
    "nothing": nx.empty_graph(3),
    "complete": nx.complete_graph(6),
    "nearly": nx.complement(nx.path_graph(6)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize("has_features", [True, False])
def test_a_few_nodes_get_an_answer_or_a_named_error(graph, has_features):
    nodes = len(SMALL[graph])
    features = RNG.normal(size=(nodes, 2)) if has_features else None
    quick = {name: {"epochs": 2, "draws": 2} for name in (*AUTO_ENCODERS, *BAYESIAN)}
    for model in MODELS:
        predictor = LinkPredictor(model, options=quick.get(model), random_state=0)
        try:  # any other error is a bug
            table = predictor.fit(SMALL[graph], features).suggest(3)
            chance = predictor.predict_proba([(0, nodes - 1)])
        except InputError:
            continue
        assert ((table["probability"] > 0.0) & (table["probability"] < 1.0)).all()
        assert ((chance > 0.0) & (chance < 1.0)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["auto", *HEURISTICS])
def test_no_probability_is_certain(model):
    """Two complete groups, far apart: pairs could not be told better."""
    group = np.arange(60) % 2
    upper = np.triu((group[:, None] == group) & (RNG.random((60, 60)) < 0.9), 1).astype(float)
    features = 1e3 * (group[:, None] == np.arange(2)) + RNG.normal(size=(60, 2))
    predictor = LinkPredictor(model, random_state=0)
    predictor.fit(upper + upper.T, features)
    chance = predictor.predict_proba(np.column_stack(np.triu_indices(60, 1)))
    stated = predictor.suggest(1000)["probability"]
    for found in (chance, stated):
        assert ((found > 0.0) & (found < 1.0)).all()
