"""The gradient attack: its gradient, its budget, what it may see, and that it does harm."""

from __future__ import annotations

import numpy as np
import pytest
from lab.attack import attack_graph
from lab.perturbation import perturb_graph
from scipy.sparse import csr_array
from scipy.special import log_softmax

from lab import attack


def _groups() -> tuple[csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Return graph, features, classes and training nodes of 200 nodes in four groups."""
    generator = np.random.default_rng(0)
    labels = np.arange(200) % 4
    alike = labels[:, None] == labels
    links = np.triu(generator.random((200, 200)) < np.where(alike, 0.06, 0.005), 1)
    features = np.eye(4)[labels] + generator.normal(size=(200, 4))
    return csr_array((links | links.T).astype(float)), features, labels, np.arange(24)


def _surrogate_scores(graph: np.ndarray, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    middle = graph + np.eye(len(graph))
    root = 1.0 / np.sqrt(middle.sum(axis=1))
    operator = root[:, None] * middle * root
    smoothed = operator @ operator @ attack._points(features)
    rows, wanted = smoothed[:24], np.eye(4)[labels[:24]] - 0.25
    gram = rows.T @ rows + attack._PENALTY * np.eye(rows.shape[1])
    return smoothed @ np.linalg.solve(gram, rows.T @ wanted)


def test_the_gradient_is_that_of_the_loss_through_the_training() -> None:
    graph, features, labels, train = _groups()
    surrogate = attack._Surrogate(attack._points(features), train, labels[train], 4)
    believed = surrogate.classes(graph)

    def loss(changed: np.ndarray) -> float:
        scores = attack._SHARPNESS * _surrogate_scores(changed, features, labels)
        logs = log_softmax(scores, axis=1)[np.arange(200), believed]
        return float(-logs[24:].sum() / 200)

    pairs = np.array([[0, 1], [3, 150], [100, 161], [5, 9]])
    found = surrogate.slope(graph, believed).of(pairs)
    for (one, two), slope in zip(pairs, found, strict=True):
        step = np.zeros((200, 200))
        step[one, two] = step[two, one] = 1e-5
        dense = graph.toarray()
        difference = (loss(dense + step) - loss(dense - step)) / 2e-5
        assert slope == pytest.approx(difference, rel=1e-4, abs=1e-9)


def test_only_training_labels_are_read() -> None:
    graph, features, labels, train = _groups()
    hidden = labels.copy()
    hidden[24:] = -1
    one = attack_graph(graph, features, labels, train, 0.2)
    two = attack_graph(graph, features, hidden, train, 0.2)
    assert (one != two).nnz == 0


def test_it_does_far_more_harm_than_random_edges() -> None:
    graph, features, labels, train = _groups()

    def accuracy(changed: csr_array) -> float:
        found = _surrogate_scores(changed.toarray(), features, labels).argmax(axis=1)
        return float((found == labels)[24:].mean())

    attacked = accuracy(attack_graph(graph, features, labels, train, 0.3))
    at_random = accuracy(perturb_graph(graph, added=0.3))
    assert attacked < at_random - 0.3
