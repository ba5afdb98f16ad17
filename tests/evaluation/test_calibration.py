"""Calibration against values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from truegraph.errors import InputError
from truegraph.evaluation import expected_calibration_error, reliability_curve
from truegraph.evaluation.calibration import calibration_floor


def two_class(confidence: list[float]) -> np.ndarray:
    return np.array([[c, 1 - c] for c in confidence])


def test_curve_by_hand() -> None:
    # Confidences .75 (right), .75 (wrong), .95 (right), .55 (wrong), two bins of five used.
    labels = np.array([0, 1, 0, 1])
    curve = reliability_curve(labels, two_class([0.75, 0.75, 0.95, 0.55]), n_bins=5)
    assert curve.edges == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert curve.count.tolist() == [0, 0, 1, 2, 1]
    assert np.isnan(curve.accuracy[:2]).all()
    assert curve.confidence[2:] == pytest.approx([0.55, 0.75, 0.95])
    assert curve.accuracy[2:].tolist() == [0, 0.5, 1]
    expected = (0.55 + 2 * 0.25 + 0.05) / 4
    error = expected_calibration_error(labels, two_class([0.75, 0.75, 0.95, 0.55]), n_bins=5)
    assert error == pytest.approx(expected)


def test_perfectly_calibrated_and_certain_but_wrong() -> None:
    assert expected_calibration_error([0, 0, 0, 1], two_class([0.75] * 4)) == pytest.approx(0)
    assert expected_calibration_error([1, 1], two_class([1.0, 1.0])) == 1.0


def test_borders_belong_to_the_bin_below_and_all_are_counted() -> None:
    curve = reliability_curve([0, 0, 0], two_class([0.5, 1.0, 0.75]), n_bins=4)
    assert curve.count.tolist() == [0, 1, 1, 1]
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), size=1000)
    curve = reliability_curve(rng.integers(0, 4, 1000), probabilities)
    assert len(curve.count) == 15
    assert curve.count.sum() == 1000


def test_curve_equals_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(3), size=800).astype(np.float32)
    labels = rng.integers(0, 3, 800)
    right = probabilities.argmax(axis=1) == labels
    share, mean = calibration_curve(right, probabilities.max(axis=1), n_bins=15)
    curve = reliability_curve(labels, probabilities)
    used = curve.count > 0
    assert curve.accuracy[used] == pytest.approx(share)
    assert curve.confidence[used] == pytest.approx(mean, rel=1e-6)


def test_no_bins() -> None:
    with pytest.raises(InputError, match="n_bins=0 must be at least 1"):
        reliability_curve([0], two_class([0.5]), n_bins=0)


def test_the_floor_is_the_mean_error_of_probabilities_that_are_right() -> None:
    generator = np.random.default_rng(0)
    chances = generator.dirichlet(np.full(4, 0.5), size=1000)
    found = []
    for _ in range(60):
        labels = (chances.cumsum(axis=1) < generator.random((1000, 1))).sum(axis=1)
        found.append(expected_calibration_error(np.minimum(labels, 3), chances))
    assert calibration_floor(chances) == pytest.approx(np.mean(found), rel=0.1)
    assert calibration_floor(np.eye(3)) == 0.0
