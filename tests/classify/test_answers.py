"""Calibration of a fitted classifier: what it changes, what it leaves, what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import InputError, NodeClassifier
from truegraph.classify import calibration


def _fitted(planted: Any, **changes: Any) -> NodeClassifier:
    y = np.full(120, -1)
    train = planted.splits[0].train
    y[train] = planted.labels[train]
    classifier = NodeClassifier(**{"effort": "low", "random_state": 0, **changes})
    return classifier.fit(planted.features, y, graph=planted.graph)


def _aside(planted: Any) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.setdiff1d(np.arange(120), planted.splits[0].train)[::2]
    wrong = planted.labels[nodes].copy()
    wrong[::3] = (wrong[::3] + 1) % 3  # a third is not what anybody would think
    return nodes, wrong


def test_labels_set_aside_correct_the_confidence(planted: Any, tmp_path: Path) -> None:
    classifier = _fitted(planted)
    assert classifier.calibration_.startswith("temperatures of the views, from left-out labels")
    classes, before = classifier.predict(), classifier.predict_proba().max(axis=1).mean()
    new = {"X": planted.features[:2], "edges": [(120, 0)]}
    surer = classifier.predict_proba(**new).max(axis=1)
    sets = classifier.predict_set(coverage=0.9).sizes.mean()
    assert classifier.calibrate(*_aside(planted)) is classifier
    assert np.array_equal(classifier.predict(), classes)
    assert classifier.predict_proba().max(axis=1).mean() < before - 0.1
    assert (classifier.predict_proba(**new).max(axis=1) < surer).all()
    assert (classifier.mutual_information_ >= 0.0).all()
    assert classifier.predict_set(coverage=0.9).sizes.mean() >= sets
    count = len(_aside(planted)[0])
    assert classifier.calibration_ == f"temperatures of the nodes, from {count} labels set aside"
    classifier.save(tmp_path / "saved")
    loaded = NodeClassifier.load(tmp_path / "saved")
    assert loaded.calibration_ == classifier.calibration_
    assert np.array_equal(loaded.predict_proba(**new), classifier.predict_proba(**new))


def test_many_labels_set_aside_move_classes(
    planted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(calibration, "_MANY_LABELS", 20)
    nodes = _aside(planted)[0]
    always = np.zeros(len(nodes), dtype=np.int64)  # as if nearly all nodes were of the first class
    classifier = _fitted(planted)
    before = (classifier.predict() == 0).sum()
    classifier.calibrate(nodes, always)
    assert (classifier.predict() == 0).sum() > before
    assert classifier.calibration_.startswith(
        "temperatures of the nodes and offsets of the classes"
    )
    classifier.save(tmp_path / "saved")
    loaded = NodeClassifier.load(tmp_path / "saved")
    new = {"X": planted.features[:2], "edges": [(120, 0)]}
    assert loaded.calibration_ == classifier.calibration_
    assert np.array_equal(loaded.predict_proba(**new), classifier.predict_proba(**new))


def test_enough_left_out_labels_teach_temperatures(
    planted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = _fitted(planted)
    monkeypatch.setattr(calibration, "LEAST_LABELS", 5)
    found = _fitted(planted)
    assert found.calibration_.startswith("temperatures of the nodes, from ")
    assert found.calibration_.endswith("left-out labels")
    assert np.array_equal(found.predict(), plain.predict())
    assert not np.array_equal(found.predict_proba(), plain.predict_proba())
    new = {"X": planted.features[:2], "edges": [(120, 0)]}
    assert not np.array_equal(found.predict_proba(**new), plain.predict_proba(**new))
    found.save(tmp_path / "saved")
    loaded = NodeClassifier.load(tmp_path / "saved")
    assert loaded.calibration_ == found.calibration_
    assert np.array_equal(loaded.predict_proba(**new), found.predict_proba(**new))


def test_other_models_can_be_calibrated_too(planted: Any) -> None:
    model = NodeClassifier("label-propagation", random_state=0)
    y = np.full(120, -1)
    y[planted.splits[0].train] = planted.labels[planted.splits[0].train]
    model.fit(planted.features, y, graph=planted.graph)
    assert model.calibration_ == "as the model is trained"
    model.calibrate(*_aside(planted))
    assert "set aside" in model.calibration_


def test_training_nodes_are_refused(planted: Any) -> None:
    node = planted.splits[0].train[0]
    with pytest.raises(InputError, match="whose label was used for training"):
        _fitted(planted).calibrate([node], [0])
