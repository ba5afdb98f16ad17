"""Temperatures of nodes and offsets of classes: found where known, gentle with few labels."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.classify.calibration import (
    NodeTemperatures,
    calibrating_temperatures,
    fitted_temperature,
    log_degrees,
    moved_entropy,
    tempered,
)
from truegraph.classify.left_out import LeftOutLabels, balanced_folds, standard_errors
from truegraph.evaluation import class_metrics
from truegraph.evaluation.samples import entropy

NOBODY = LeftOutLabels(np.zeros(0, np.int64), np.zeros(0, np.int64), np.empty((0, 4)))


def _world(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities that are too sure where degrees are high, labels, and degrees."""
    generator = np.random.default_rng(seed)
    chances = generator.dirichlet(np.full(4, 0.7), size=count)
    labels = (chances.cumsum(axis=1) < generator.random((count, 1))).sum(axis=1)
    degrees = np.log1p(generator.integers(0, 8, count))
    return tempered(chances, np.exp(-0.6 * degrees)), np.minimum(labels, 3), degrees


def _fit(
    chances: np.ndarray,
    labels: np.ndarray,
    degrees: np.ndarray,
    weights: np.ndarray | None = None,
    with_offsets: bool = False,
) -> NodeTemperatures:
    seen = LeftOutLabels(np.arange(len(labels)), labels, chances, weights)
    return NodeTemperatures(seen, degrees, with_offsets=with_offsets)


def test_degrees_are_numbers_of_neighbours() -> None:
    graph = csr_array(np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert log_degrees(graph) == pytest.approx(np.log([3.0, 2.0, 2.0]))


def test_labels_count_by_their_weights() -> None:
    given = chances, labels, degrees = _world(600)
    alike = _fit(*given).coefficients
    # Twice the weight of all is the same; labels of no weight might as well not be there.
    np.testing.assert_allclose(_fit(*given, weights=np.full(600, 2.0)).coefficients, alike)
    half = np.arange(600) < 300
    only = _fit(*given, weights=half.astype(float)).coefficients
    first = np.flatnonzero(half)
    twice = LeftOutLabels(
        *(np.concatenate([one[first]] * 2) for one in (np.arange(600), labels, chances))
    )
    np.testing.assert_allclose(only, NodeTemperatures(twice, degrees).coefficients, atol=1e-3)
    np.testing.assert_allclose(_fit(*given, weights=np.zeros(600)).coefficients, 0.0)


def test_many_labels_find_what_was_done_to_the_probabilities() -> None:
    chances, labels, degrees = _world(8000)
    fitted = _fit(chances[:4000], labels[:4000], degrees[:4000], with_offsets=True)
    rest = slice(4000, None)
    name = "expected_calibration_error"
    before = class_metrics(labels[rest], chances[rest])[name]
    found = fitted.applied(chances[rest], degrees[rest])
    assert class_metrics(labels[rest], found)[name] < 0.35 * before
    assert np.abs(fitted.offsets).max() < 0.1  # nothing was done to the classes
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert fitted.coefficients[2] > 0.2
    assert fitted.labels == 4000


def test_a_step_from_the_solution_costs_more() -> None:
    chances, labels, degrees = _world(500, 1)
    fitted = _fit(chances, labels, degrees, with_offsets=True)

    def cost(values: np.ndarray) -> float:
        one = copy(fitted)
        one.coefficients, one.offsets = values[:3], values[3:]
        own = one.applied(chances, degrees)[np.arange(500), labels]
        return float(-np.log(own).sum() + 0.5 * (values**2).sum() / 0.5**2)

    found = np.concatenate([fitted.coefficients, fitted.offsets])
    assert len(found) == 7
    for step in np.vstack([np.eye(7), -np.eye(7)]):
        assert cost(found + 0.02 * step) > cost(found)


def test_many_labels_find_classes_that_are_given_too_little() -> None:
    chances, labels, degrees = _world(8000, 4)
    wrong = tempered(chances, np.exp(0.6 * degrees)) * np.array([1.0, 1.0, 1.0, 0.2])
    wrong /= wrong.sum(axis=1, keepdims=True)
    fitted = _fit(wrong[:4000], labels[:4000], degrees[:4000], with_offsets=True)
    found = fitted.applied(wrong[4000:], degrees[4000:]).argmax(axis=1)
    before = (wrong[4000:].argmax(axis=1) == labels[4000:]).mean()
    assert (found == labels[4000:]).mean() > before + 0.03
    assert fitted.offsets[3] > fitted.offsets[:3].max() + 0.3
    assert fitted.described == "temperatures of the nodes and offsets of the classes"


@pytest.mark.parametrize(("count", "with_offsets"), [(299, True), (800, False)])
def test_predicted_classes_stay_as_they_are(count: int, with_offsets: bool) -> None:
    chances, labels, degrees = _world(count, 5)
    fitted = _fit(chances, labels, degrees, with_offsets=with_offsets)
    assert len(fitted.offsets) == 0
    assert fitted.described == "temperatures of the nodes"
    found = fitted.applied(chances, degrees)
    assert np.array_equal(found.argmax(axis=1), chances.argmax(axis=1))


def test_labels_set_aside_and_left_out_ones_count_together() -> None:
    chances, labels, degrees = _world(2000, 6)
    aside = LeftOutLabels(np.arange(200), labels[:200], chances[:200])
    left_out = LeftOutLabels(np.arange(200, 400), labels[200:400], chances[200:400])
    alone = calibrating_temperatures(aside, None, degrees)
    both = calibrating_temperatures(aside, left_out, degrees)
    assert alone.labels == both.labels == 200  # those set aside
    assert len(alone.offsets) == 0
    assert len(both.offsets) == 4  # 400 labels are many
    # What left-out labels have calibrated changes little.
    assert np.abs(both.coefficients).max() < np.abs(alone.coefficients).max()
    # Left-out labels count by their weights, 1 on average.
    never = replace(left_out, weights=np.where(left_out.labels == 3, 1e-9, 1.0))
    assert calibrating_temperatures(aside, never, degrees).offsets[3] < both.offsets[3] - 0.1


def test_no_labels_change_nothing_and_few_not_much() -> None:
    chances, labels, degrees = _world(2000, 2)
    none = NodeTemperatures(NOBODY, degrees)
    assert np.array_equal(none.coefficients, np.zeros(3))
    few = _fit(chances[:5], labels[:5], degrees)
    assert np.abs(few.coefficients).max() < 1.0


def test_temperatures_stay_in_bounds_at_hubs() -> None:
    steep = NodeTemperatures(NOBODY, np.ones(1))
    steep.coefficients = np.array([0.0, 0.0, 3.0])
    found = steep.temperatures(np.full((1, 4), 0.25), np.array([12.0]))
    assert found == pytest.approx(np.exp(1.5))


def test_a_prediction_keeps_the_share_of_its_entropy() -> None:
    chances, labels, degrees = _world(300, 3)
    fitted = _fit(chances, labels, degrees, with_offsets=True)
    assert len(fitted.offsets) == 4
    after = fitted.applied(chances, degrees)
    whole = entropy(chances).astype(np.float32)
    np.testing.assert_allclose(moved_entropy(whole, chances, after), entropy(after), rtol=1e-4)
    assert (moved_entropy(0.0 * whole, chances, after) == 0.0).all()


def test_folds_are_a_partition_that_leaves_every_class() -> None:
    labels = np.repeat([0, 1, 2], [5, 2, 1])
    nodes = np.arange(8)
    folds = balanced_folds(labels, nodes, seed=0)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(7))  # not the only one of 2
    for fold in folds:
        assert set(labels[np.setdiff1d(nodes, fold)]) == {0, 1, 2}
    again = balanced_folds(labels, nodes, seed=0)
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))
    assert balanced_folds(labels, np.array([0, 5, 7]), seed=0) == []


@pytest.mark.parametrize("true", [0.6, 1.0, 1.8])
def test_many_nodes_show_the_temperature(true: float) -> None:
    generator = np.random.default_rng(0)
    calibrated = generator.dirichlet([1.0, 1.0, 1.0], size=20_000)
    labels = (calibrated.cumsum(axis=1) > generator.random((20_000, 1))).argmax(axis=1)
    given = tempered(calibrated, 1.0 / true)  # the tempering that undoes this is `true`
    assert fitted_temperature(given, labels) == pytest.approx(true, rel=0.03)


def test_few_nodes_cannot_move_it_far() -> None:
    sure_and_right = np.array([[0.6, 0.4]])
    assert 0.9 < fitted_temperature(sure_and_right, np.array([0])) < 1.0
    assert fitted_temperature(np.zeros((0, 2)), np.zeros(0, dtype=np.int64)) == 1.0


def test_standard_errors() -> None:
    assert standard_errors(np.array([1.0])) == 0.0
    assert standard_errors(np.array([1.0, 3.0, 1.0, 3.0])) == pytest.approx(4.0)
