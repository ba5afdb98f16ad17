"""The small network: what it adds, that it sees no hidden link, and the same without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truegraph import LinkPredictor
from truegraph.data.graphs.link_splits import LinkSplit, split_links
from truegraph.evaluation.link_metrics import link_auc
from truegraph.tasks.links.refined.model import RefinedSettings, columns_on, prepared_features
from truegraph.tasks.links.refined.network_training import TrainingPart, train_pair_network
from truegraph.tasks.links.refined.pair_network import PairNetwork


@pytest.fixture(scope="module")
def split(planted: Any) -> LinkSplit:
    return split_links(planted.graph, validation=0.0, test=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(planted: Any, split: LinkSplit) -> LinkPredictor:
    return LinkPredictor(options={"encoder": True}, random_state=0).fit(
        split.train, planted.features
    )


def test_the_network_is_one_more_score(fitted, split):
    columns = fitted._scorer.columns
    assert columns.names[-1] == "network"
    np.testing.assert_array_equal(
        columns.of(split.test_links)[:, -1], columns.network.logits(split.test_links)
    )
    # the graph is learned from the vectors of the network
    assert columns.scale.points.shape == (120, 64)
    scores = [fitted.decision_function(p) for p in (split.test_links, split.test_non_links)]
    assert link_auc(*scores) > 0.7
    assert any("small network" in note for note in fitted.notes_)


def test_direction_does_not_matter_and_the_seed_repeats(fitted, planted, split):
    pairs = split.test_links
    np.testing.assert_array_equal(
        fitted.decision_function(pairs), fitted.decision_function(pairs[:, ::-1])
    )
    state = torch.get_rng_state()
    again = LinkPredictor(options={"encoder": True}, random_state=0)
    again.fit(split.train, planted.features)
    np.testing.assert_array_equal(again.decision_function(pairs), fitted.decision_function(pairs))
    assert torch.equal(state, torch.get_rng_state())


def test_a_saved_network_predicts_the_same(fitted, split, tmp_path):
    fitted.save(tmp_path)
    loaded = LinkPredictor.load(tmp_path)
    np.testing.assert_array_equal(
        loaded.predict_proba(split.test_links), fitted.predict_proba(split.test_links)
    )
    assert loaded.suggest(10).equals(fitted.suggest(10))


@pytest.mark.parametrize("has_features", [True, False])
def test_no_part_is_trained_on_vectors_that_know_its_links(
    has_features, planted, split, monkeypatch
):
    """Poison: a link of a part, taken from the graph, leaves the vectors of that part alone."""
    seen: list[list[TrainingPart]] = []

    def recorded(parts, whole, non_links, seed):
        seen.append(parts)
        return train_pair_network(parts[:1], whole, non_links, seed)

    monkeypatch.setattr(
        "truegraph.tasks.links.refined.network_training.train_pair_network", recorded
    )
    features = prepared_features(planted.features if has_features else None, 8, 0)
    settings = RefinedSettings(scale="off", encoder=True, rank=8)
    columns_on(split.train, features, settings, 0)
    total = np.concatenate([part.links for part in seen[0]])
    assert len(np.unique(total, axis=0)) == split.train.nnz // 2
    for part in seen[0]:
        rest = split.train.tolil()
        rest[part.links[:, 0], part.links[:, 1]] = 0.0
        rest[part.links[:, 1], part.links[:, 0]] = 0.0
        alone = columns_on(rest.tocsr(), features, RefinedSettings(scale="off", rank=8), 0)
        np.testing.assert_allclose(part.vectors, np.hstack(alone.vectors.smoothed[:3]), atol=1e-5)


def test_scores_by_hand():
    vectors = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], dtype=np.float32)
    network = PairNetwork(
        vectors,
        np.array([[1.0, 0.0], [1.0, 1.0]], dtype=np.float32),
        np.array([0.0, -2.0], dtype=np.float32),
        np.array([2.0, 1.0], dtype=np.float32),
        np.array([0.5], dtype=np.float32),
    )
    # (1, 0): (3, -2) -> (3, -1) -> (3, 0) -> 6.5; (0, 2): (0, 2) -> (0, 0) -> 0.5
    np.testing.assert_allclose(network.logits(np.array([[1, 0], [0, 2]])), [6.5, 0.5])
    assert network.logits(np.zeros((0, 2), dtype=np.int64)).shape == (0,)
