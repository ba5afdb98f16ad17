"""Temperatures of nodes: found where they are known, gentle with few labels, classes unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation import expected_calibration_error
from truegraph.tasks.classify.recipes.ensemble import Prediction, tempered
from truegraph.tasks.classify.trust.temperatures import (
    NodeTemperatures,
    fit_temperatures,
    log_degrees,
)


def _world(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities that are too sure where degrees are high, labels, and degrees."""
    generator = np.random.default_rng(seed)
    chances = generator.dirichlet(np.full(4, 0.7), size=count)
    labels = (chances.cumsum(axis=1) < generator.random((count, 1))).sum(axis=1)
    degrees = np.log1p(generator.integers(0, 8, count))
    return tempered(chances, np.exp(-0.6 * degrees)), np.minimum(labels, 3), degrees


def test_degrees_are_numbers_of_neighbours() -> None:
    graph = csr_array(np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert log_degrees(graph) == pytest.approx(np.log([3.0, 2.0, 2.0]))


def test_labels_count_by_their_weights() -> None:
    chances, labels, degrees = _world(600)
    given = (chances, labels, degrees, 1.0)
    alike = fit_temperatures(*given).coefficients
    # Twice the weight of all is the same; labels of no weight might as well not be there.
    np.testing.assert_allclose(
        fit_temperatures(*given, weights=np.full(600, 2.0)).coefficients, alike
    )
    half = np.arange(600) < 300
    only = fit_temperatures(*given, weights=half.astype(float)).coefficients
    twice = [np.concatenate([part[half], part[half]]) for part in (chances, labels, degrees)]
    np.testing.assert_allclose(only, fit_temperatures(*twice, 1.0).coefficients, atol=1e-3)
    nothing = fit_temperatures(*given, weights=np.zeros(600))
    np.testing.assert_allclose(nothing.coefficients, 0.0)


def test_many_labels_find_what_was_done_to_the_probabilities() -> None:
    chances, labels, degrees = _world(8000)
    fitted = fit_temperatures(chances[:4000], labels[:4000], degrees[:4000], 1.0)
    rest = slice(4000, None)
    before = expected_calibration_error(labels[rest], chances[rest])
    found = fitted.applied(chances[rest], degrees[rest])
    assert expected_calibration_error(labels[rest], found) < 0.35 * before
    assert np.array_equal(found.argmax(axis=1), chances[rest].argmax(axis=1))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert fitted.coefficients[2] > 0.2
    assert fitted.labels == 4000


def test_a_step_from_the_solution_costs_more() -> None:
    chances, labels, degrees = _world(500, 1)
    fitted = fit_temperatures(chances, labels, degrees, 1.0)

    def cost(coefficients: np.ndarray) -> float:
        one = NodeTemperatures(coefficients, 1.0, 0)
        own = one.applied(chances, degrees)[np.arange(500), labels]
        return float(-np.log(own).sum() + 0.5 * (coefficients**2).sum() / 0.5**2)

    best = cost(fitted.coefficients)
    for step in np.vstack([np.eye(3), -np.eye(3)]):
        assert cost(fitted.coefficients + 0.02 * step) > best


def test_no_labels_change_nothing_and_few_not_much() -> None:
    chances, labels, degrees = _world(2000, 2)
    none = fit_temperatures(chances[:0], labels[:0], degrees[:0], 1.0)
    assert np.array_equal(none.coefficients, np.zeros(3))
    few = fit_temperatures(chances[:5], labels[:5], degrees[:5], 1.0)
    assert np.abs(few.coefficients).max() < 1.0


def test_temperatures_stay_in_bounds_at_hubs() -> None:
    steep = NodeTemperatures(np.array([0.0, 0.0, 3.0]), 1.0, 10)
    found = steep.temperatures(np.full((1, 4), 0.25), np.array([12.0]))
    assert found == pytest.approx(np.exp(1.5))


def test_a_prediction_keeps_the_share_of_its_entropy() -> None:
    chances, labels, degrees = _world(300, 3)
    fitted = fit_temperatures(chances, labels, degrees, 1.0)
    before = Prediction(chances.astype(np.float32), np.zeros(300, np.float32))
    after = fitted.calibrated(before, degrees)
    assert after.probabilities == pytest.approx(fitted.applied(chances, degrees), abs=1e-5)
    assert (after.expected_entropy == 0.0).all()


def test_numbers_come_back() -> None:
    given = NodeTemperatures(np.array([0.1, -0.2, 0.3]), 1.5, 7)
    found = NodeTemperatures.from_list(given.to_list())
    assert found.to_list() == given.to_list()
    with pytest.raises(InputError):
        NodeTemperatures.from_list([1.0, 2.0])
