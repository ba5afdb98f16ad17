"""The probability that observed edges are real, and the list of those that look false."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab.attack import attack_graph
from lab.perturbation import dice_graph, perturb_graph
from scipy.sparse import csr_array, triu
from sklearn.metrics import roc_auc_score

from truegraph import InputError, NodeClassifier
from truegraph.classify.edges import edge_model, edges_and_pairs, evidence


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
    classifier = NodeClassifier(effort="low", random_state=0)
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
    assert np.array_equal(table["source_class"], classifier.predict(nodes=table["source"]))


def test_edges_of_a_good_graph_look_real() -> None:
    graph, features, _, known = _blocks()
    classifier = NodeClassifier("label-propagation").fit(features, known, graph=graph)
    assert len(classifier.suspect_edges()) < 0.05 * graph.nnz / 2
    everything = classifier.suspect_edges(threshold=1.0)
    assert len(classifier.suspect_edges(7, threshold=1.0)) == 7 < len(everything)


def test_a_loaded_classifier_says_the_same(tmp_path: Path) -> None:
    _, features, _, known = _blocks()
    classifier = NodeClassifier(effort="low", random_state=0)
    classifier.fit(features, known, graph=_spoilt("random")).save(tmp_path / "saved")
    loaded = NodeClassifier.load(tmp_path / "saved")
    assert (loaded.edge_probability_ != classifier.edge_probability_).nnz == 0
    # A second fit forgets what the first one found.
    clean = classifier.fit(features, known, graph=_blocks()[0])
    assert clean.edge_probability_.nnz == _blocks()[0].nnz


def test_what_is_missing_is_said() -> None:
    graph, features, _, known = _blocks()
    classifier = NodeClassifier(effort="low", random_state=0)
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


def test_an_isolated_node_changes_no_pair() -> None:
    graph = _blocks()[0]
    larger = csr_array(
        (graph.data, graph.indices, np.r_[graph.indptr, graph.nnz]), shape=(401, 401)
    )
    for before, after in zip(edges_and_pairs(graph), edges_and_pairs(larger), strict=True):
        assert np.array_equal(before, after)


@pytest.fixture(scope="module")
def groups() -> tuple[csr_array, np.ndarray]:
    """Return 300 nodes in 30 groups, linked mostly within, with coordinates that know the group."""
    generator = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    links = np.triu((group[:, None] == group) & (generator.random((300, 300)) < 0.5), 1)
    points = np.eye(30)[group] + 0.1 * generator.normal(size=(300, 30))
    return csr_array((links | links.T).astype(float)), points.astype(np.float32)


@pytest.mark.parametrize("added", [0.0, 0.25, 1.0])
def test_the_share_of_false_edges_is_found_without_labels(
    groups: tuple[csr_array, np.ndarray], added: float
) -> None:
    graph, points = groups
    model = edge_model(perturb_graph(graph, added=added, random_state=0), points)
    assert model is not None
    assert model.false_share == pytest.approx(added / (1.0 + added), abs=0.06)


def test_false_edges_lose_their_weight(groups: tuple[csr_array, np.ndarray]) -> None:
    graph, points = groups
    noisy = perturb_graph(graph, added=1.0, random_state=0)
    model = edge_model(noisy, points)
    assert model is not None
    cleaned = model.cleaned(noisy, points)
    assert abs(cleaned - cleaned.T).nnz == 0
    real = graph.multiply(cleaned).sum() / graph.sum()
    false = (cleaned.sum() - graph.multiply(cleaned).sum()) / graph.sum()
    assert real > 0.9
    assert false < 0.3  # of 1.0 before


def test_an_edge_is_no_evidence_for_itself(groups: tuple[csr_array, np.ndarray]) -> None:
    graph, points = groups
    edge = np.array([triu(graph, 1).tocoo().row[0]]), np.array([triu(graph, 1).tocoo().col[0]])
    without = graph.copy().tolil()
    without[edge[0][0], edge[1][0]] = without[edge[1][0], edge[0][0]] = 0.0
    there = evidence(graph, points, edge, are_edges=True)
    absent = evidence(csr_array(without), points, edge, are_edges=False)
    np.testing.assert_allclose(there, absent, atol=1e-2)  # rarity counts one edge more or less


def test_too_few_edges_or_no_features_are_not_modeld() -> None:
    path = csr_array(np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1))
    assert edge_model(path, np.ones((21, 3), np.float32)) is None
    ring = csr_array(np.roll(np.eye(100), 1, axis=0) + np.roll(np.eye(100), -1, axis=0))
    assert edge_model(ring, np.ones((100, 0), np.float32)) is None
