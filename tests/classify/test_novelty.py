"""Strange nodes stand out: unknown classes, noise in place of features, foreign edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from truegraph import NodeClassifier
from truegraph.classify.novelty import novelty, surprise


def _blocks(groups: int = 4) -> tuple[csr_array, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    labels = np.arange(400) % groups
    alike = labels[:, None] == labels
    links = np.triu(generator.random((400, 400)) < np.where(alike, 0.05, 0.002), 1)
    features = 2.5 * np.eye(groups, 30)[labels] + generator.normal(size=(400, 30))
    return csr_array((links | links.T).astype(float)), features, labels


def _fitted(graph: csr_array, features: np.ndarray, known: np.ndarray) -> NodeClassifier:
    return NodeClassifier(effort="low", random_state=0).fit(features, known, graph=graph)


def _auroc(scores: np.ndarray, strange: np.ndarray, known: np.ndarray) -> float:
    asked = known < 0
    return float(roc_auc_score(strange[asked], scores[asked]))


def test_a_class_that_nobody_knows_stands_out() -> None:
    graph, features, labels = _blocks()
    known = np.where((np.arange(400) < 60) & (labels < 3), labels, -1)
    fitted = _fitted(graph, features, known)
    assert _auroc(fitted.novelty_parts_["class"], labels == 3, known) > 0.9
    assert _auroc(fitted.novelty_, labels == 3, known) > 0.8


def test_noise_in_place_of_features_stands_out() -> None:
    graph, features, labels = _blocks()
    known = np.where(np.arange(400) < 40, labels, -1)
    strange = np.arange(400) >= 360
    features[strange] = np.random.default_rng(2).normal(size=(40, 30))
    fitted = _fitted(graph, features, known)
    assert set(fitted.novelty_parts_) == {"class", "neighbours", "features"}
    for part in ("neighbours", "features"):
        assert _auroc(fitted.novelty_parts_[part], strange, known) > 0.7, part
    assert _auroc(fitted.novelty_, strange, known) > 0.75
    assert _auroc(fitted.predictive_entropy_, strange, known) < 0.75


def test_edges_of_somebody_else_stand_out() -> None:
    graph, features, labels = _blocks()
    known = np.where(np.arange(400) < 40, labels, -1)
    strange = np.arange(400) >= 360
    order = np.arange(400)
    order[360:] = np.roll(order[360:], 1)  # each gets the edges of the one before
    fitted = _fitted(csr_array(graph[order][:, order]), features, known)
    assert _auroc(fitted.novelty_parts_["neighbours"], strange, known) > 0.8


def test_parts_that_cannot_be_told_are_left_out() -> None:
    graph, features, labels = _blocks()
    known = np.where(np.arange(400) < 40, labels, -1)
    alone = NodeClassifier("label-propagation").fit(None, known, graph=graph)
    assert set(alone.novelty_parts_) == {"class"}
    without = NodeClassifier(effort="low", random_state=0).fit(features, known)
    assert set(without.novelty_parts_) == {"class", "features"}
    assert np.isfinite(without.novelty_).all()


def test_lonely_nodes_are_not_strange_by_neighbours() -> None:
    graph, features, labels = _blocks()
    lonely = graph.copy()
    lonely.data[lonely.indptr[399] : lonely.indptr[400]] = 0.0
    lonely = csr_array(lonely.multiply(lonely.T))
    lonely.eliminate_zeros()
    known = np.where(np.arange(400) < 40, labels, -1)
    parts = _fitted(lonely, features, known).novelty_parts_["neighbours"]
    assert parts[399] == pytest.approx(np.median(parts), abs=0.05)


def test_ranks_are_on_one_scale_and_classes_count_double() -> None:
    scores = np.array([0.0, 1.0, 5.0])
    np.testing.assert_allclose(surprise(scores), -np.log(np.array([3.0, 2.0, 1.0]) / 4.0))
    found = novelty({"class": scores, "features": 100.0 * scores})
    np.testing.assert_allclose(found, 3.0 * surprise(scores))


def test_mutual_information_finds_errors_no_better_than_uncertainty() -> None:
    generator = np.random.default_rng(3)
    graph, features, labels = _blocks()
    features = features + 2.0 * generator.normal(size=features.shape)
    known = np.where(np.arange(400) < 40, labels, -1)
    fitted = _fitted(graph, features, known)
    asked = known < 0
    wrong = (fitted.predict() != labels)[asked]
    assert wrong.any()
    assert fitted.mutual_information_ is not None
    by_uncertainty = roc_auc_score(wrong, fitted.uncertainty_[asked])
    by_information = roc_auc_score(wrong, fitted.mutual_information_[asked])
    assert by_uncertainty >= by_information
