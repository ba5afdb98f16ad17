"""Logistic regression and label spreading: known answers, new nodes, saving, poison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from truegraph import GraphLabelSpreading, InputError, NodeClassifier, learn_graph
from truegraph.tasks.classify.trials import run_trials

POINTS = np.repeat(np.eye(3), 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (60, 3))
CLASSES = np.repeat([0, 1, 2], 20)
MODELS = ["logistic-regression", "label-spreading", "learned-spreading"]
KNOWN = np.where(np.arange(60) % 5 == 0, CLASSES, -1)


@pytest.mark.parametrize("model", MODELS)
def test_clear_groups_new_nodes_and_saving(model: str, tmp_path: Path) -> None:
    fitted = NodeClassifier(model, random_state=0).fit(POINTS, KNOWN)
    assert np.array_equal(fitted.predict(), CLASSES)
    assert np.array_equal(fitted.predict(X=np.eye(3)), [0, 1, 2])
    fitted.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X=np.eye(3)), fitted.predict_proba(X=np.eye(3)))


def test_logistic_regression_is_scikit_learns() -> None:
    for classes in (2, 3):
        known = np.where(classes > CLASSES, KNOWN, -1)
        fitted = NodeClassifier("logistic-regression", random_state=0).fit(POINTS, known)
        rows = (POINTS - POINTS.mean(axis=0)) / POINTS.std(axis=0)
        train = known >= 0
        wanted = LogisticRegression(C=10.0, max_iter=1000).fit(rows[train], known[train])
        np.testing.assert_allclose(fitted.predict_proba(), wanted.predict_proba(rows), atol=1e-5)


def test_a_class_without_training_labels_has_no_chance(planted: Any) -> None:
    given = planted._asdict() | {"seeds": [0, 1, 2]}
    results = run_trials("logistic-regression", **given, classes=4)
    assert (results.probabilities[..., 3] == 0.0).all()


@pytest.mark.parametrize("model", MODELS)
def test_neither_graph_nor_test_labels_are_seen(planted: Any, model: str) -> None:
    given = planted._asdict() | {"seeds": [0, 1, 2]}
    poisoned = (planted.labels + 1) % 3
    shared = np.unique(np.concatenate([split.train for split in planted.splits]))
    poisoned[shared] = planted.labels[shared]
    found = run_trials(model, **given)
    other = run_trials(model, **{**given, "labels": poisoned, "graph": csr_array((120, 120))})
    assert np.array_equal(found.probabilities, other.probabilities)


def test_bad_strength() -> None:
    with pytest.raises(InputError, match="strength=0 must be above 0"):
        NodeClassifier("logistic-regression", options={"strength": 0}).fit(POINTS, KNOWN)


def test_learned_spreading_is_the_estimator_on_the_learned_graph() -> None:
    found = NodeClassifier("learned-spreading", random_state=0).fit(POINTS, KNOWN)
    graph = learn_graph(POINTS, metric="cosine")
    wanted = GraphLabelSpreading(graph).fit(KNOWN).predict_proba()
    np.testing.assert_allclose(found.predict_proba(), wanted, atol=1e-5)
