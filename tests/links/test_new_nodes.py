"""New nodes of which only features are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph import LinkPredictor
from truegraph.errors import InputError
from truegraph.links.columns import NodeFeatures, node_features, pair_columns
from truegraph.links.pair_model import auto_options, joined_columns

NEW = 30


class People(NamedTuple):
    """Three groups whose members are linked more often and have features in common."""

    graph: csr_array
    features: csr_array
    labels: np.ndarray


@pytest.fixture(scope="module")
def planted() -> People:
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    same = labels[:, None] == labels
    upper = np.triu(rng.random(same.shape) < np.where(same, 0.08, 0.005), 1).astype(float)
    chance = 0.05 + 0.4 * (labels[:, None] == np.arange(18) % 3)
    features = csr_array((rng.random((300, 18)) < chance).astype(float))
    return People(csr_array(upper + upper.T), features, labels)


@pytest.fixture(scope="module")
def fitted(planted: People) -> LinkPredictor:
    """Fitted to all nodes but the first 30."""
    graph, features = planted.graph[NEW:][:, NEW:], planted.features[NEW:]
    return LinkPredictor(options={"scale": "off"}, random_state=0).fit(graph, features)


def test_partners_of_new_nodes_are_in_their_group(fitted, planted):
    table = fitted.suggest_new(planted.features[:NEW], k=5)
    assert (table["row"].value_counts() == 5).all()
    assert table["row"].is_monotonic_increasing
    same = planted.labels[table["row"]] == planted.labels[NEW + table["target"]]
    assert same.mean() > 0.8
    assert table["probability"].between(0.0, 0.99).all()
    assert (table["uncertainty"] > 0.0).all()
    assert table.groupby("row")["probability"].apply(lambda p: p.is_monotonic_decreasing).all()


def test_true_links_of_new_nodes_are_more_probable_than_others(fitted, planted):
    block = planted.graph[:NEW][:, NEW:].toarray()
    links, others = np.argwhere(block > 0), np.argwhere(block == 0)
    chance = [fitted.predict_new(planted.features[:NEW], pairs) for pairs in (links, others)]
    assert chance[0].mean() > chance[1].mean() + 0.1
    sparse_prior = fitted.predict_new(planted.features[:NEW], others[:9], prior=0.01)
    assert (sparse_prior < chance[1][:9]).all()


def test_one_call_for_many_nodes_is_as_one_for_each(fitted, planted):
    pairs = np.column_stack([np.arange(NEW), np.arange(NEW) + 5])
    together = fitted.predict_new(planted.features[:NEW], pairs)
    alone = [fitted.predict_new(planted.features[[i]], [[0, j]])[0] for i, j in pairs[:4]]
    np.testing.assert_allclose(together[:4], alone, rtol=1e-12)


def test_new_nodes_are_scored_as_nodes_without_links(planted):
    """Hand-made: the larger graph with its isolated nodes, scored from scratch."""
    options = auto_options({"scale": "off", "rank": 8}, True)
    features = node_features(csr_array(planted.features), 8, 0)
    dense = planted.graph.toarray()
    dense[:NEW], dense[:, :NEW] = 0.0, 0.0
    # The new nodes come last.
    order = np.r_[NEW : len(dense), :NEW]
    whole = pair_columns(csr_array(dense[order][:, order]), _ordered(features, order), options, 0)
    rest = pair_columns(csr_array(dense[NEW:, NEW:]), _ordered(features, order[:-NEW]), options, 0)
    joined = joined_columns(rest, features, csr_array(planted.features)[:NEW])
    pairs = np.column_stack([len(dense) - 1 - np.arange(NEW), np.arange(NEW)])
    np.testing.assert_allclose(joined.of(pairs), whole.of(pairs), atol=1e-6)


def _ordered(features: NodeFeatures, order: Any) -> NodeFeatures:
    return NodeFeatures(features.given[order], features.rarity, features.directions)


def test_a_saved_predictor_knows_new_nodes_too(fitted, planted, tmp_path):
    fitted.save(tmp_path / "predictor")
    loaded = LinkPredictor.load(tmp_path / "predictor")
    pd.testing.assert_frame_equal(
        loaded.suggest_new(planted.features[:3]), fitted.suggest_new(planted.features[:3])
    )


def test_tables_of_new_nodes_follow_the_plan(planted):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"group": planted.labels.astype(str), "age": rng.normal(40, 9, 300)})
    predictor = LinkPredictor(options={"scale": "off"}, random_state=0)
    predictor.fit(planted.graph, people)
    assert len(predictor.suggest_new(people[:2], k=3)) == 6
    with pytest.raises(InputError, match="table"):
        predictor.suggest_new(np.zeros((2, 2)))


def test_wrong_calls_are_named(fitted, planted):
    with pytest.raises(InputError, match=r"rows of pairs"):
        fitted.predict_new(planted.features[:2], [[2, 0]])
    with pytest.raises(InputError, match=r"X has shape"):
        fitted.predict_new(planted.features[:2, :3], [[0, 0]])
    with pytest.raises(InputError, match="knows fitted nodes only"):
        LinkPredictor("katz").fit(planted.graph).suggest_new(planted.features)
    with pytest.raises(InputError, match="without features"):
        LinkPredictor(random_state=0).fit(planted.graph).suggest_new(planted.features)
