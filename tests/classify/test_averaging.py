"""Weights and sharpness: evidence decides with many labels, the prior with few."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from lab.attack import attack_graph
from lab.perturbation import perturb_graph
from scipy.sparse import csr_array

from truegraph import AnswerWarning, NodeClassifier
from truegraph.classify.averaging import (
    agreement_across,
    handed_over,
    kind_of,
    misleading_edges,
    observed_graph_weight,
    view_prior,
    view_weights,
    weights_in_words,
)
from truegraph.classify.left_out import TrainingLabels
from truegraph.classify.view_models import FittedView, ViewModel, fit_sharpness


def _labels(labels: np.ndarray, fold: int = 0) -> TrainingLabels:
    """Return labels that are all left out together, or never."""
    folds = np.full((1, len(labels)), fold)
    nobody = np.empty(0, dtype=np.int64)
    return TrainingLabels(
        np.arange(len(labels)), labels, int(labels.max()) + 1, 0, folds, nobody, nobody
    )


def test_no_labels_leave_the_prior() -> None:
    found = view_weights(np.zeros((3, 0)), np.array([1.0, 1.0, 2.0]), 0)
    np.testing.assert_allclose(found, [0.25, 0.25, 0.5])


def test_equal_evidence_leaves_the_prior() -> None:
    found = view_weights(np.full((2, 30), -0.7), np.array([1.0, 3.0]), 0)
    np.testing.assert_allclose(found, [0.25, 0.75])


def test_the_same_advantage_counts_more_with_more_labels() -> None:
    generator = np.random.default_rng(0)

    def weight(labels: int) -> float:
        good = -0.5 + 0.3 * generator.normal(size=labels)
        return float(view_weights(np.stack([good, good - 0.1]), np.ones(2), 0)[0])

    assert 0.5 < weight(15) < weight(500)
    assert weight(500) > 0.999


def test_sharpness_follows_the_left_out_labels() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 300)
    clear = np.eye(3)[labels][None] - 1 / 3
    vague = clear + generator.normal(size=clear.shape)
    sure, high = fit_sharpness(clear, _labels(labels))
    unsure, low = fit_sharpness(vague, _labels(labels))
    assert high.mean() > low.mean() > np.log(1 / 3)
    size = np.sqrt((vague**2).mean() / (clear**2).mean())
    assert sure > unsure * size
    scaled, same = fit_sharpness(7.0 * vague, _labels(labels))
    assert scaled == pytest.approx(unsure / 7.0, rel=1e-3)
    np.testing.assert_allclose(same, low, atol=1e-3)


def test_without_left_out_labels_sharpness_is_usual() -> None:
    sharpness, densities = fit_sharpness(np.zeros((4, 0, 2)), _labels(np.array([0, 1]), fold=-1))
    assert densities.shape == (0,)
    assert np.isfinite(sharpness)


def test_a_view_that_knows_nothing_is_hardly_believed() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(25) % 5
    against = 0.5 - np.eye(5)[labels][None] + 0.1 * generator.normal(size=(1, 25, 5))
    sharpness, densities = fit_sharpness(against, _labels(labels))
    # with the narrow prior of sharp views it would be sure of what is wrong
    assert ViewModel("x", sharpness=sharpness).probabilities(against).max() < 0.3
    assert densities.mean() > np.log(1 / 5) - 0.05


EDGE = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
APART = np.array([[1.0, 0.0], [0.0, 1.0]])


def test_weights_in_words() -> None:
    unlike = {"learned": 0.97, "observed": 0.03}
    assert observed_graph_weight(unlike, has_graph=True) == pytest.approx(0.03)
    assert weights_in_words(unlike, EDGE, APART, None) == (
        "the observed graph has weight .03: neighbours mostly differ in class; predictions rest "
        "mostly on the graph learned from features (.97)"
    )
    trained = {"observed": 0.2, "propagation": 0.8}
    alike = np.array([[1.0, 0.0], [1.0, 0.0]])
    text = weights_in_words(trained, EDGE, alike, None)
    assert "weight 1.00: neighbours are mostly of one class" in text
    assert weights_in_words({"features": 1.0}, None, APART, None) == (
        "no graph was observed; predictions rest mostly on the features alone (1.00)"
    )
    text = weights_in_words({"cleaned": 0.9, "features": 0.1}, EDGE, APART, 0.53)
    assert "about .53 of the edges look random; predictions rest mostly on the" in text


def test_the_network_rests_on_the_graph_if_there_is_one() -> None:
    assert kind_of("propagation") == "both"
    assert observed_graph_weight({"propagation": 1.0}, has_graph=False) == 0.0
    found = handed_over({"observed": 0.6, "features": 0.4}, ("observed",), 0.5, "propagation")
    assert found == {"observed": 0.3, "features": 0.4, "propagation": 0.3}


def test_agreement_is_the_prior_of_the_observed_graph() -> None:
    before = view_prior("observed", 0.0) / view_prior("features", 0.0)
    after = view_prior("observed", 0.5) / view_prior("features", 0.5)
    assert before == 1.0
    assert after == pytest.approx(np.exp(5.0))


@pytest.mark.parametrize(("step", "least", "most"), [(3, 0.9, 1.0), (1, 0.0, 0.0)])
def test_agreement_across_edges(step: int, least: float, most: float) -> None:
    """Of three classes in turn, every third node is alike and the next one differs."""
    nodes = np.arange(300)
    chances = np.eye(3)[nodes % 3] * 0.9 + 0.1 / 3
    upper = csr_array((np.ones(299 - step + 1), (nodes[:-step], nodes[step:])), shape=(300, 300))
    found = agreement_across(csr_array(upper + upper.T), chances)
    assert least <= found <= most


def test_agreement_is_silent_on_random_pairs_few_edges_and_empty_predictions() -> None:
    generator = np.random.default_rng(3)
    chances = generator.dirichlet(np.ones(4), size=200)
    ends = generator.integers(0, 200, (2, 2000))
    graph = csr_array((np.ones(2000), (ends[0], ends[1])), shape=(200, 200))
    assert agreement_across(csr_array(graph + graph.T), chances) < 0.05
    alike = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert agreement_across(EDGE, alike) == 0.0
    assert agreement_across(csr_array(graph + graph.T), np.full((200, 4), 0.25)) == 0.0


def _view(name: str, labelled: np.ndarray, others: np.ndarray) -> FittedView:
    """Return a view that says these classes of 40 labelled nodes and of those after them."""
    scores = np.eye(4, dtype=np.float32)
    left_out = np.repeat(scores[labelled][None], 2, axis=0)
    everyone = scores[np.concatenate([labelled, others])]
    return FittedView(ViewModel(name), left_out.astype(float), np.zeros(40), everyone)


@pytest.mark.parametrize(("agreeing", "is_noticed"), [(0.9, False), (0.8, False), (0.3, True)])
def test_agreement_must_be_that_of_labelled_nodes(agreeing: float, is_noticed: bool) -> None:
    generator = np.random.default_rng(0)
    own, others = generator.integers(0, 4, 40), generator.integers(0, 4, 500)
    alike = generator.random(500) < agreeing
    views = [
        _view("features", own, others),
        _view("observed", own, np.where(alike, others, (others + 1) % 4)),
    ]
    message = misleading_edges(views, _labels(own))
    assert (message is not None) == is_noticed
    if message is not None:
        assert "100% against 29%" in message
    # A view that no edge enters may differ as it likes, and few labels say nothing.
    assert misleading_edges([views[0]], _labels(own)) is None
    few = _labels(own)
    few.folds[:, 15:] = -1
    assert misleading_edges(views, few) is None


def _blocks() -> tuple[csr_array, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    labels = np.arange(400) % 4
    alike = labels[:, None] == labels
    links = np.triu(generator.random((400, 400)) < np.where(alike, 0.03, 0.003), 1)
    features = 3.0 * np.eye(4, 60)[labels] + generator.normal(size=(400, 60))
    known = np.where(np.arange(400) < 40, labels, -1)
    return csr_array((links | links.T).astype(float)), features, labels, known


def _fitted(graph: csr_array) -> tuple[NodeClassifier, float]:
    _, features, labels, known = _blocks()
    classifier = NodeClassifier(effort="low", random_state=0)
    classifier.fit(features, known, graph=graph)
    return classifier, float((classifier.predict() == labels)[40:].mean())


def test_an_attacked_graph_is_set_aside() -> None:
    graph, features, labels, known = _blocks()
    attacked = attack_graph(graph, features, labels, np.flatnonzero(known >= 0), 0.5)
    with pytest.warns(AnswerWarning, match="the observed graph is set aside"):
        classifier, accuracy = _fitted(attacked)
    assert classifier.observed_graph_weight_ == 0.0
    without = NodeClassifier(effort="low", random_state=0, options={"observed_graph": False}).fit(
        features, known, graph=attacked
    )
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
