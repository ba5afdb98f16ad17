"""Prediction sets of a fitted classifier: what they hold, where they come from, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, NodeClassifier
from truegraph.classify import prediction_sets
from truegraph.classify.left_out import LeftOutLabels
from truegraph.classify.prediction_sets import (
    PredictionSets,
    cross_threshold,
    set_scores,
    split_threshold,
)

NAMES = np.array(["ash", "birch", "cedar"])


def _labels(planted: Any) -> np.ndarray:
    found = np.full(120, None, dtype=object)
    train = planted.splits[0].train
    found[train] = NAMES[planted.labels[train]]
    return found


@pytest.fixture(scope="module")
def fitted(planted: Any) -> NodeClassifier:
    classifier = NodeClassifier(effort="low", random_state=0)
    return classifier.fit(planted.features, _labels(planted), graph=planted.graph)


def _aside(planted: Any) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.setdiff1d(np.arange(120), planted.splits[0].train)[::2]
    return nodes, NAMES[planted.labels[nodes]]


def test_sets_hold_the_predicted_class_and_grow_with_the_coverage(
    fitted: NodeClassifier,
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


def test_sets_are_those_classes_that_are_probable_enough(fitted: NodeClassifier) -> None:
    sets = fitted.predict_set(nodes=[3, 5, 80], coverage=0.95)
    chances = fitted.predict_proba(nodes=[3, 5, 80]).astype(np.float64)
    wanted = chances >= sets.thresholds - 1e-9
    wanted[np.arange(3), chances.argmax(axis=1)] = True
    assert np.array_equal(sets.members, wanted)
    assert sets.source == "training labels, left out in turn"


def test_poisoned_test_labels_change_no_set(planted: Any) -> None:
    train = planted.splits[0].train
    y = np.where(np.isin(np.arange(120), train), planted.labels, -1)
    fitted = NodeClassifier(effort="low", random_state=0)
    fitted.fit(planted.features, y, graph=planted.graph)
    assert fitted._left_out is not None
    assert set(fitted._left_out.nodes) <= set(train)


def test_labels_set_aside(planted: Any, fitted: NodeClassifier) -> None:
    aside = _aside(planted)
    sets = fitted.predict_set(coverage=0.9, calibration=aside)
    assert sets.source == "labels set aside"
    place = np.searchsorted(NAMES, aside[1])
    held = sets.members[aside[0], place]
    assert held.mean() >= 0.9  # on the nodes that the threshold comes from
    smooth = fitted.predict_set(nodes=aside[0], coverage=0.9, calibration=aside, smoothing=0.5)
    assert smooth.members[np.arange(len(place)), place].mean() >= 0.9
    by_class = fitted.predict_set(coverage=0.8, calibration=aside, class_conditional=True)
    for number in range(3):
        mine = aside[0][place == number]
        assert by_class.members[mine, number].mean() >= 0.8


def test_class_conditional_sets_have_a_threshold_per_class(
    fitted: NodeClassifier,
) -> None:
    assert len(set(fitted.predict_set(coverage=0.95).thresholds)) == 1
    sets = fitted.predict_set(coverage=0.95, class_conditional=True)
    assert len(set(sets.thresholds)) == 3


def test_new_nodes_and_loaded_classifiers_have_the_same_sets(
    planted: Any, fitted: NodeClassifier, tmp_path: Path
) -> None:
    new = fitted.predict_set(planted.features[:4], edges=[(120, 0), (121, 1)])
    assert isinstance(new, PredictionSets)
    assert len(new) == 4
    fitted.save(tmp_path / "saved")
    loaded = NodeClassifier.load(tmp_path / "saved")
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
    planted: Any, fitted: NodeClassifier, asked: dict[str, Any], words: str
) -> None:
    assert not {50, 51} & set(planted.splits[0].train)
    with pytest.raises(InputError, match=words):
        fitted.predict_set(**asked)


def test_training_nodes_are_no_labels_set_aside(planted: Any, fitted: NodeClassifier) -> None:
    node = planted.splits[0].train[0]
    with pytest.raises(InputError, match=f"names node {node}, whose label was used for training"):
        fitted.predict_set(calibration=([node], ["ash"]))


def _nobody(classes: int) -> LeftOutLabels:
    none = np.empty(0, dtype=np.int64)
    return LeftOutLabels(none, none, np.empty((0, classes)))


def test_scores_are_small_where_a_class_is_probable_and_zero_at_the_top() -> None:
    found = set_scores(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    assert found == pytest.approx(np.array([[0.0, 0.7, 0.8], [0.9, 0.9, 0.0]]))


def test_smoothed_scores_by_hand() -> None:
    chances = np.array([[0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    graph = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    found = set_scores(chances, graph, 0.5)
    assert found[0] == pytest.approx([0.0, 0.4])  # half of 0.6, half of the neighbour's 0.2
    assert found[1] == pytest.approx([0.6, 0.0])
    assert found[2] == pytest.approx([0.7, 0.0])  # alone


def test_split_threshold_is_the_rank_of_split_conformal_prediction() -> None:
    scores = np.arange(1, 10) / 10.0
    assert split_threshold(scores, 0.9) == 0.9  # ceil(10 * 0.9) = 9th of 9
    assert split_threshold(scores, 0.8) == 0.8
    with pytest.raises(InputError, match=r"at least 19 calibration labels.* there are 9"):
        split_threshold(scores, 0.95)


def _world(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true probabilities (count, 4) and labels drawn from them."""
    generator = np.random.default_rng(seed)
    chances = generator.dirichlet(np.full(4, 0.4), size=count)
    labels = (chances.cumsum(axis=1) < generator.random((count, 1))).sum(axis=1)
    return chances, np.minimum(labels, 3)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_few_left_out_labels_give_the_asked_coverage_if_probabilities_are_right(
    coverage: float,
) -> None:
    chances, labels = _world(4000, 0)
    held = []
    for seed in range(20):
        some = np.random.default_rng(seed).choice(4000, 15, replace=False)
        left_out = LeftOutLabels(some, labels[some], chances[some])
        limit = cross_threshold(left_out, chances, coverage)
        held.append((set_scores(chances)[np.arange(4000), labels] <= limit).mean())
    assert coverage - 0.01 <= np.mean(held) <= coverage + 0.05  # doubt makes sets larger
    assert min(held) < 1.0  # 15 labels alone would put all classes into every set


def test_many_left_out_labels_correct_probabilities_that_are_wrong() -> None:
    chances, labels = _world(6000, 1)
    surer = chances**3
    surer /= surer.sum(axis=1, keepdims=True)
    inside, outside = np.arange(3000), np.arange(3000, 6000)
    left_out = LeftOutLabels(inside, labels[inside], surer[inside])
    for evidence, least, most in ((left_out, 0.88, 0.93), (_nobody(4), 0.0, 0.87)):
        limit = cross_threshold(evidence, surer[outside], 0.9)
        held = (set_scores(surer[outside])[np.arange(3000), labels[outside]] <= limit).mean()
        assert least <= held <= most


def test_labels_count_by_how_frequent_their_class_is_thought_to_be() -> None:
    # Half of the labels are of the rare class, whose scores are bad; thirty to one it is rare.
    left_out = LeftOutLabels(np.arange(2000), np.arange(2000) % 2, np.tile([0.9, 0.1], (2000, 1)))
    unlabelled = np.tile([0.97, 0.03], (50, 1))
    assert cross_threshold(left_out, unlabelled, 0.9) == 0.0
    assert cross_threshold(left_out, unlabelled[:, ::-1], 0.9) == pytest.approx(0.9)


def test_a_class_of_its_own() -> None:
    chances, labels = _world(4000, 2)
    some = np.arange(400)
    left_out = LeftOutLabels(some, labels[some], chances[some])
    for only in range(4):
        limit = cross_threshold(left_out, chances[400:], 0.9, only)
        mine = np.flatnonzero(labels == only)
        held = (set_scores(chances)[mine, only] <= limit).mean()
        assert held == pytest.approx(0.9, abs=0.04)


def test_nothing_is_known_without_labels_and_nodes() -> None:
    assert cross_threshold(_nobody(3), np.empty((0, 3)), 0.9) == np.inf


def test_a_part_of_many_nodes_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    chances, _ = _world(5000, 3)
    whole = cross_threshold(_nobody(4), chances, 0.9)
    monkeypatch.setattr(prediction_sets, "_MOST_NODES", 1000)
    assert cross_threshold(_nobody(4), chances, 0.9) == pytest.approx(whole, abs=0.03)
