"""The probability that observed edges are real, and the list of those that look false."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from truegraph import BayesianNodeClassifier, InputError, NodeClassifier
from truegraph.data.nodes.attack import attack_graph
from truegraph.data.nodes.perturbation import dice_graph, perturb_graph


def _blocks() -> tuple[csr_array, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    labels = np.arange(400) % 4
    alike = labels[:, None] == labels
    links = np.triu(generator.random((400, 400)) < np.where(alike, 0.05, 0.001), 1)
    features = 2.0 * np.eye(4, 20)[labels] + generator.normal(size=(400, 20))
    known = np.where(np.arange(400) < 40, labels, -1)
    return csr_array((links | links.T).astype(float)), features, labels, known


def _spoilt(kind: str) -> csr_array:
    graph, features, labels, _ = _blocks()
    if kind == "random":
        return perturb_graph(graph, added=0.5, random_state=0)
    if kind == "dice":
        return dice_graph(graph, labels, 0.5, random_state=0)
    return attack_graph(graph, features, labels, np.arange(40), 0.5)


@pytest.mark.filterwarnings("ignore:the observed graph is set aside")
@pytest.mark.parametrize("kind", ["random", "dice", "attack"])
def test_false_edges_are_called_false(kind: str) -> None:
    graph, features, _, known = _blocks()
    spoilt = _spoilt(kind)
    classifier = BayesianNodeClassifier(effort="low", random_state=0)
    classifier.fit(features, known, graph=spoilt)
    real = classifier.edge_probability_
    assert real.shape == (400, 400)
    assert abs(real - real.T).max() == 0.0
    assert np.array_equal(real.indices, spoilt.indices)
    false = np.asarray(graph[spoilt.nonzero()]).ravel() == 0.0
    chances = np.asarray(real[spoilt.nonzero()]).ravel()
    assert roc_auc_score(false, -chances) > 0.8
    table = classifier.suspect_edges()
    assert list(table) == ["source", "target", "probability", "source_class", "target_class"]
    called = np.asarray(graph[table["source"], table["target"]]).ravel() == 0.0
    assert called[:100].mean() > 0.75
    assert (table["probability"] <= 0.5).all()
    assert table["probability"].is_monotonic_increasing
    assert (table["source"] < table["target"]).all()
    assert np.array_equal(table["source_class"], classifier.predict(table["source"]))


def test_edges_of_a_good_graph_look_real() -> None:
    graph, features, _, known = _blocks()
    classifier = NodeClassifier("label-propagation").fit(features, known, graph=graph)
    assert len(classifier.suspect_edges()) < 0.05 * graph.nnz / 2
    everything = classifier.suspect_edges(threshold=1.0)
    assert len(classifier.suspect_edges(7, threshold=1.0)) == 7 < len(everything)


def test_a_loaded_classifier_says_the_same(tmp_path: Path) -> None:
    _, features, _, known = _blocks()
    classifier = BayesianNodeClassifier(effort="low", random_state=0)
    classifier.fit(features, known, graph=_spoilt("random")).save(tmp_path / "saved")
    loaded = BayesianNodeClassifier.load(tmp_path / "saved")
    assert (loaded.edge_probability_ != classifier.edge_probability_).nnz == 0
    # A second fit forgets what the first one found.
    clean = classifier.fit(features, known, graph=_blocks()[0])
    assert clean.edge_probability_.nnz == _blocks()[0].nnz


def test_what_is_missing_is_said() -> None:
    graph, features, _, known = _blocks()
    classifier = BayesianNodeClassifier(effort="low", random_state=0)
    with pytest.raises(InputError, match="give graph and X at fit"):
        _ = classifier.fit(features, known).edge_probability_
    few = csr_array(np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1))
    labels = np.arange(21) % 2
    with pytest.raises(InputError, match="give 50 or more"):
        _ = NodeClassifier("label-propagation").fit(np.eye(21), labels, graph=few).edge_probability_
    fitted = NodeClassifier("label-propagation").fit(features, known, graph=graph)
    with pytest.raises(InputError, match="threshold=2"):
        fitted.suspect_edges(threshold=2.0)
    with pytest.raises(InputError, match="k"):
        fitted.suspect_edges(0)
