"""The default link predictor: what users rely on, and that no hidden link is seen."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba import get_num_threads, set_num_threads
from scipy.sparse import csr_array, random_array

from truegraph import LinkPredictor
from truegraph.data.link_splits import links_of
from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import link_auc
from truegraph.links.columns import node_features, pair_columns
from truegraph.links.pair_model import auto_options
from truegraph.links.problem import (
    bipartite_sides,
    crosses,
    fair_non_links,
    folds_of,
    pair_values,
)


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
    assert any("pairs are scored by" in note for note in predictor.notes_)


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
    options = auto_options({"scale": "neighbours"}, True)
    features = node_features(planted.features, 16, 0)
    rest, links, non_links = next(iter(folds_of(planted.graph, planted.graph, 5, seed=0)))
    pairs = np.concatenate([links, non_links])
    honest = pair_columns(rest, features, options, 0).of(pairs)
    poisoned = csr_array(1000.0 * planted.graph - 999.0 * rest)
    left, own, _ = next(iter(folds_of(poisoned, poisoned, 5, seed=0)))
    np.testing.assert_array_equal(own, links)
    np.testing.assert_array_equal(honest, pair_columns(left, features, options, 0).of(pairs))
    leaking = pair_columns(poisoned, features, options, 0).of(pairs)
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
        ({"hidden": 0.9}, "hidden=0.9"),
        ({"epochs": 3}, "unknown option 'epochs'"),
    ],
)
def test_wrong_options_are_named(options, message, planted):
    with pytest.raises(InputError, match=message):
        LinkPredictor(options=options).fit(planted.graph)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"options": {"scale": "slack"}},
        {"options": {"scale": "neighbours"}},
        {"options": {"scale": "off", "rank": 8}},
        {"model": "katz"},
    ],
)
@pytest.mark.parametrize("has_features", [True, False])
def test_saved_predictors_predict_the_same(options, has_features, planted, tmp_path):
    features = planted.features if has_features else None
    predictor = LinkPredictor(random_state=2, **options).fit(planted.graph, features)
    predictor.save(tmp_path)
    loaded = LinkPredictor.load(tmp_path)
    pairs = np.array([[0, 1], [5, 80], [119, 3]])
    np.testing.assert_array_equal(loaded.predict_proba(pairs), predictor.predict_proba(pairs))
    np.testing.assert_array_equal(loaded.uncertainty(pairs), predictor.uncertainty(pairs))
    assert loaded.suggest(10).equals(predictor.suggest(10))
    assert loaded.suggest_for(4).equals(predictor.suggest_for(4))
    assert loaded.notes_ == predictor.notes_
    assert loaded.searched_ == predictor.searched_


def test_the_default_loads_no_torch(tmp_path):
    code = f"""
import sys, numpy as np
from truegraph import LinkPredictor
graph = np.triu(np.random.default_rng(0).random((40, 40)) < 0.2, 1).astype(float)
predictor = LinkPredictor(random_state=0).fit(graph, np.eye(40))
predictor.suggest(3), predictor.suggest_new(np.eye(40)[:2]), predictor.save({str(tmp_path)!r})
LinkPredictor.load({str(tmp_path)!r}), LinkPredictor("katz").fit(graph)
print("torch" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]


def fewer(array):
    return array[:-1]


def far(array):
    return array + 10**6


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_model.columns.graph_indices", far),
        ("_model.columns.graph_indptr", fewer),
        ("_model.columns.graph_shape", lambda a: a - 1),
        ("_model.columns.first", fewer),
        ("_model.columns.scale.usual", fewer),
        ("_model.columns.scale.near", far),
        ("_model.features.given_indices", far),
        ("_model.features.rarity", fewer),
        ("_model.features.directions", fewer),
        ("_model.regression.weights", fewer),
        ("_model.regression.centre", lambda a: np.full_like(a, np.nan)),
        ("_hidden", lambda a: np.array([[0, 500]])),
    ],
)
def test_changed_arrays_are_refused(name, change, planted, tmp_path, edit_saved):
    LinkPredictor(random_state=0).fit(planted.graph, planted.features).save(tmp_path)
    own = f"LinkPredictor.{name}"
    edit_saved(tmp_path, lambda _, arrays: arrays.update({own: change(arrays[own])}))
    with pytest.raises(InputError, match="damaged"):
        LinkPredictor.load(tmp_path)
