"""Prediction sets of a fitted classifier: what they hold, where they come from, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import BayesianNodeClassifier, InputError, NodeClassifier
from truegraph.tasks.classify.trials import run_trials
from truegraph.tasks.classify.trust.prediction_sets import PredictionSets, sets_from_left_out

NAMES = np.array(["ash", "birch", "cedar"])


def _labels(planted: Any) -> np.ndarray:
    found = np.full(120, None, dtype=object)
    train = planted.splits[0].train
    found[train] = NAMES[planted.labels[train]]
    return found


@pytest.fixture(scope="module")
def fitted(planted: Any) -> BayesianNodeClassifier:
    classifier = BayesianNodeClassifier(effort="low", random_state=0)
    return classifier.fit(planted.features, _labels(planted), graph=planted.graph)


def _aside(planted: Any) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.setdiff1d(np.arange(120), planted.splits[0].train)[::2]
    return nodes, NAMES[planted.labels[nodes]]


def test_sets_hold_the_predicted_class_and_grow_with_the_coverage(
    fitted: BayesianNodeClassifier,
) -> None:
    before = np.zeros((120, 3), dtype=bool)
    for coverage in (0.5, 0.8, 0.9, 0.98):
        sets = fitted.predict_set(coverage=coverage)
        assert (before <= sets.members).all()
        assert all(one in row for one, row in zip(fitted.predict(), sets.lists(), strict=True))
        before = sets.members
    assert np.array_equal(sets.sizes, [len(row) for row in sets.lists()])
    assert np.array_equal(np.asarray(sets), sets.members)
    assert "120 nodes, coverage 0.98" in repr(sets)
    assert len(sets) == 120


def test_sets_are_those_classes_that_are_probable_enough(fitted: BayesianNodeClassifier) -> None:
    sets = fitted.predict_set([3, 5, 80], coverage=0.95)
    chances = fitted.predict_proba([3, 5, 80]).astype(np.float64)
    wanted = chances >= sets.thresholds - 1e-9
    wanted[np.arange(3), chances.argmax(axis=1)] = True
    assert np.array_equal(sets.members, wanted)
    assert sets.source == "training labels, left out in turn"


def test_poisoned_test_labels_change_no_set(planted: Any) -> None:
    given = planted._asdict() | {"splits": planted.splits[:1], "seeds": [0]}
    poisoned = planted.labels.copy()
    others = np.setdiff1d(np.arange(120), planted.splits[0].train)
    poisoned[others] = (poisoned[others] + 1) % 3
    found = []
    for labels in (planted.labels, poisoned):
        results = run_trials("auto", **{**given, "labels": labels}, options={"effort": "low"})
        assert results.left_out is not None
        chances = results.probabilities[0]
        left_out = results.left_out[0]
        assert set(left_out.nodes) <= set(planted.splits[0].train)
        found.append(sets_from_left_out(left_out, chances, chances[others], NAMES, 0.9))
    assert np.array_equal(found[0].members, found[1].members)
    assert np.array_equal(found[0].thresholds, found[1].thresholds)


def test_labels_set_aside(planted: Any, fitted: BayesianNodeClassifier) -> None:
    aside = _aside(planted)
    sets = fitted.predict_set(coverage=0.9, calibration=aside)
    assert sets.source == "labels set aside"
    place = np.searchsorted(NAMES, aside[1])
    held = sets.members[aside[0], place]
    assert held.mean() >= 0.9  # on the nodes that the threshold comes from
    smooth = fitted.predict_set(aside[0], coverage=0.9, calibration=aside, smoothing=0.5)
    assert smooth.members[np.arange(len(place)), place].mean() >= 0.9
    by_class = fitted.predict_set(coverage=0.8, calibration=aside, class_conditional=True)
    for number in range(3):
        mine = aside[0][place == number]
        assert by_class.members[mine, number].mean() >= 0.8


def test_class_conditional_sets_have_a_threshold_per_class(
    fitted: BayesianNodeClassifier,
) -> None:
    assert len(set(fitted.predict_set(coverage=0.95).thresholds)) == 1
    sets = fitted.predict_set(coverage=0.95, class_conditional=True)
    assert len(set(sets.thresholds)) == 3


def test_new_nodes_and_loaded_classifiers_have_the_same_sets(
    planted: Any, fitted: BayesianNodeClassifier, tmp_path: Path
) -> None:
    new = fitted.predict_set(X=planted.features[:4], edges=[(120, 0), (121, 1)])
    assert isinstance(new, PredictionSets)
    assert len(new) == 4
    fitted.save(tmp_path / "saved")
    loaded = BayesianNodeClassifier.load(tmp_path / "saved")
    assert np.array_equal(loaded.predict_set().members, fitted.predict_set().members)


def test_other_models_need_labels_set_aside(planted: Any) -> None:
    model = NodeClassifier("label-propagation", random_state=0)
    model.fit(planted.features, _labels(planted), graph=planted.graph)
    with pytest.raises(
        InputError, match=r"'label-propagation' keeps no left-out predictions.*pass"
    ):
        model.predict_set()
    assert len(model.predict_set(calibration=_aside(planted))) == 120


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"coverage": 1.0}, "coverage=1.0 must be a number between 0 and 1"),
        ({"coverage": "most"}, "coverage='most' must be a number"),
        ({"coverage": True}, "coverage=True must be a number"),
        ({"smoothing": 0.5}, "smoothing=0.5 needs calibration"),
        ({"smoothing": 1.5, "calibration": ([50], ["ash"])}, "smoothing=1.5 must be at most 1"),
        ({"calibration": [1, 2, 3]}, "a pair"),
        ({"calibration": ([50, 51], ["ash"])}, "2 nodes and labels of shape"),
        ({"calibration": ([50, 50], ["ash", "ash"])}, "names a node twice"),
        ({"calibration": ([500], ["ash"])}, "500"),
        ({"calibration": ([50], ["elm"])}, "labels of calibration hold 'elm', which no training"),
        ({"calibration": ([50], ["ash"])}, "at least 9 calibration labels"),
    ],
)
def test_what_is_refused(
    planted: Any, fitted: BayesianNodeClassifier, asked: dict[str, Any], words: str
) -> None:
    assert not {50, 51} & set(planted.splits[0].train)
    with pytest.raises(InputError, match=words):
        fitted.predict_set(**asked)


def test_training_nodes_are_no_labels_set_aside(
    planted: Any, fitted: BayesianNodeClassifier
) -> None:
    node = planted.splits[0].train[0]
    with pytest.raises(InputError, match=f"names node {node}, whose label was used for training"):
        fitted.predict_set(calibration=([node], ["ash"]))
