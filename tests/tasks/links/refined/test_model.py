"""The refined predictor: what users rely on, and that no hidden link is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import get_num_threads, set_num_threads
from scipy.sparse import csr_array, random_array

from truegraph import LinkPredictor
from truegraph.data.graphs.link_splits import LinkSplit, links_of, split_links
from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import link_auc
from truegraph.tasks.links.problem import pair_values
from truegraph.tasks.links.refined.folds import fair_non_links, folds_of
from truegraph.tasks.links.refined.model import (
    RefinedSettings,
    columns_on,
    fit_refined,
    prepared_features,
)
from truegraph.tasks.links.suggesting.candidates import bipartite_sides, crosses


@pytest.fixture(scope="module")
def split(planted: Any) -> LinkSplit:
    return split_links(planted.graph, validation=0.1, test=0.2, random_state=0)


@pytest.mark.parametrize("scale", ["slack", "neighbours", "off"])
@pytest.mark.parametrize("has_features", [True, False])
def test_hidden_links_are_told_from_other_pairs(scale, has_features, planted, split):
    features = planted.features if has_features else None
    predictor = LinkPredictor(options={"scale": scale}, random_state=0).fit(split.train, features)
    scores = [predictor.decision_function(p) for p in (split.test_links, split.test_non_links)]
    assert link_auc(*scores) > (0.7 if has_features else 0.6)
    chance = predictor.predict_proba(split.test_links)
    assert ((chance > 0.0) & (chance < 1.0)).all()
    assert (predictor.uncertainty(split.test_links) > 0.0).all()
    assert (predictor.learned_graph_ is None) == (scale != "slack")
    assert any("refined scores" in note for note in predictor.notes_)


def test_no_link_is_scored_on_a_graph_that_holds_it(planted):
    seen = []
    for rest, links, non_links in folds_of(planted.graph, planted.graph, 5, seed=3):
        assert (pair_values(rest, links) == 0.0).all()
        assert (pair_values(planted.graph, links) == 1.0).all()
        assert (pair_values(planted.graph, non_links) == 0.0).all()
        assert rest.nnz // 2 + len(links) == planted.graph.nnz // 2
        seen.append(links)
    together = np.concatenate(seen)
    np.testing.assert_array_equal(together[np.lexsort(together.T[::-1])], links_of(planted.graph))


def test_truth_of_test_pairs_does_not_enter(planted, split):
    """Poison: other test links, or none, leave every bit of the fit and the suggestions alone."""
    given = {"validation": (split.validation_links, split.validation_non_links)}
    asked = [split.test_links, split.test_non_links[::-1], split.test_links[:3]]
    found = [
        LinkPredictor(random_state=1).fit(split.train, planted.features, pairs=pairs, **given)
        for pairs in asked
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(
            found[0].decision_function(split.test_links), other.decision_function(split.test_links)
        )
        assert found[0].suggest(20).equals(other.suggest(20))


def test_scores_of_a_fold_do_not_see_its_links(planted):
    """Poison: a thousandfold weight of a fold's links changes no score of the fold."""
    settings = RefinedSettings(scale="neighbours")
    features = prepared_features(planted.features, 16, 0)
    rest, links, non_links = next(iter(folds_of(planted.graph, planted.graph, 5, seed=0)))
    pairs = np.concatenate([links, non_links])
    honest = columns_on(rest, features, settings, 0).of(pairs)
    poisoned = csr_array(1000.0 * planted.graph - 999.0 * rest)
    left, own, _ = next(iter(folds_of(poisoned, poisoned, 5, seed=0)))
    np.testing.assert_array_equal(own, links)
    np.testing.assert_array_equal(honest, columns_on(left, features, settings, 0).of(pairs))
    leaking = columns_on(poisoned, features, settings, 0).of(pairs)
    assert (leaking != honest).any()


def test_seed_fixes_the_bits_for_any_number_of_threads(planted, split):
    before, found = get_num_threads(), []
    try:
        for threads, seed in ((1, 4), (before, 4), (before, 5)):
            set_num_threads(threads)
            predictor = LinkPredictor(random_state=seed).fit(split.train, planted.features)
            found.append((predictor.decision_function(split.test_links), predictor.suggest(10)))
    finally:
        set_num_threads(before)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1].equals(found[1][1])
    assert (found[0][0] != found[2][0]).any()


def test_weights_of_links_count():
    rng = np.random.default_rng(0)
    weights = csr_array(random_array((80, 80), density=0.06, rng=rng))
    plain = csr_array((weights != 0).astype(float))
    pairs = np.array([[0, 1], [2, 3], [4, 50]])
    found = [
        LinkPredictor(random_state=0).fit(A).decision_function(pairs) for A in (weights, plain)
    ]
    assert (found[0] != found[1]).any()
    scaled = LinkPredictor(random_state=0).fit(csr_array(1e3 * weights)).decision_function(pairs)
    np.testing.assert_allclose(found[0], scaled, rtol=1e-3, atol=1e-3)


def test_nodes_without_links_get_partners_by_their_features(planted):
    alone = planted.graph.toarray()
    alone[7], alone[:, 7] = 0.0, 0.0
    predictor = LinkPredictor(random_state=0).fit(alone, planted.features)
    table = predictor.suggest_for(7, k=10)
    assert len(table) > 0
    assert (planted.labels[table["target"]] == planted.labels[7]).mean() > 0.5


def test_non_links_of_a_bipartite_graph_cross_its_sides():
    rng = np.random.default_rng(0)
    dense = np.zeros((60, 60))
    dense[:30, 30:] = rng.random((30, 30)) < 0.12
    predictor = LinkPredictor(random_state=0).fit(dense)
    graph = predictor.combined_graph_
    drawn = fair_non_links(graph, graph, 100, rng)
    assert crosses(bipartite_sides(graph), drawn).all()
    table = predictor.suggest(30)
    assert ((table["source"] < 30) & (table["target"] >= 30)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "rank=0"),
        ({"scale": "slak"}, "scale='slak'"),
        ({"folds": 1}, "folds=1"),
        ({"encoder": "yes"}, "encoder='yes'"),
        ({"hidden": 0.9}, "hidden=0.9"),
        ({"epochs": 3}, "unknown option 'epochs'"),
    ],
)
def test_wrong_options_are_named(options, message, planted):
    with pytest.raises(InputError, match=message):
        LinkPredictor(options=options).fit(planted.graph)


def test_scale_of_large_graphs_is_chosen_and_told(planted, split):
    assert RefinedSettings().scale_for(100_000, True) == "slack"
    assert RefinedSettings().scale_for(100_001, True) == "neighbours"
    assert RefinedSettings().scale_for(100, False) == "off"
    features = prepared_features(None, 8, 0)
    model = fit_refined(split.train, split.train, features, RefinedSettings(rank=8), 0)
    assert model.describe() == (
        "refined scores by walks and eigenvectors, without a local scale, on 5 folds"
    )
