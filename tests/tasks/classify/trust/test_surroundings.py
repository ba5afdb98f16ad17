"""Edges that were put at labelled nodes to mislead are noticed; honest graphs are left alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import BayesianNodeClassifier
from truegraph.data.nodes.attack import attack_graph
from truegraph.data.nodes.perturbation import perturb_graph
from truegraph.errors import AnswerWarning
from truegraph.tasks.classify.committee.opinions import Opinion
from truegraph.tasks.classify.committee.weights import Sharpness
from truegraph.tasks.classify.trust.surroundings import misleading_edges


def _opinion(name: str, labelled: np.ndarray, others: np.ndarray, folds: np.ndarray) -> Opinion:
    """Return a view that says these classes of 40 labelled nodes and of those after them."""
    scores = np.eye(4, dtype=np.float32)
    left_out = np.repeat(scores[labelled][None], len(folds), axis=0)
    everyone = scores[np.concatenate([labelled, others])]
    return Opinion(name, None, Sharpness(1.0), left_out.astype(float), np.zeros(40), everyone)


@pytest.mark.parametrize(("agreeing", "is_noticed"), [(0.9, False), (0.8, False), (0.3, True)])
def test_agreement_must_be_that_of_labelled_nodes(agreeing: float, is_noticed: bool) -> None:
    generator = np.random.default_rng(0)
    own, others = generator.integers(0, 4, 40), generator.integers(0, 4, 500)
    alike = generator.random(500) < agreeing
    folds = np.zeros((2, 40), dtype=np.int64)
    views = [
        _opinion("features", own, others, folds),
        _opinion("observed", own, np.where(alike, others, (others + 1) % 4), folds),
    ]
    message = misleading_edges(views, np.arange(40), folds)
    assert (message is not None) == is_noticed
    if message is not None:
        assert "100% against 29%" in message
    # A view that no edge enters may differ as it likes, and few labels say nothing.
    assert misleading_edges([views[0]], np.arange(40), folds) is None
    folds[:, 15:] = -1
    assert misleading_edges(views, np.arange(40), folds) is None


def _blocks() -> tuple[csr_array, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    labels = np.arange(400) % 4
    alike = labels[:, None] == labels
    links = np.triu(generator.random((400, 400)) < np.where(alike, 0.03, 0.003), 1)
    features = 3.0 * np.eye(4, 60)[labels] + generator.normal(size=(400, 60))
    known = np.where(np.arange(400) < 40, labels, -1)
    return csr_array((links | links.T).astype(float)), features, labels, known


def _fitted(graph: csr_array) -> tuple[BayesianNodeClassifier, float]:
    _, features, labels, known = _blocks()
    classifier = BayesianNodeClassifier(effort="low", random_state=0)
    classifier.fit(features, known, graph=graph)
    return classifier, float((classifier.predict() == labels)[40:].mean())


def test_an_attacked_graph_is_set_aside() -> None:
    graph, features, labels, known = _blocks()
    attacked = attack_graph(graph, features, labels, np.flatnonzero(known >= 0), 0.5)
    with pytest.warns(AnswerWarning, match="the observed graph is set aside"):
        classifier, accuracy = _fitted(attacked)
    assert classifier.observed_graph_weight_ == 0.0
    without = BayesianNodeClassifier(
        effort="low", random_state=0, options={"observed_graph": False}
    ).fit(features, known, graph=attacked)
    alone = float((without.predict() == labels)[40:].mean())
    assert accuracy == pytest.approx(alone, abs=0.05)
    assert accuracy > 0.6


def test_honest_and_random_edges_are_not() -> None:
    graph = _blocks()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnswerWarning)
        classifier, accuracy = _fitted(graph)
        _fitted(perturb_graph(graph, added=1.0, random_state=0))
    assert classifier.observed_graph_weight_ > 0.5
    assert accuracy > 0.9
