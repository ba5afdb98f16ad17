"""Every metric of a trial by hand, and how metrics are shown."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.evaluation.scores import METRICS, SET_METRICS, Metric, score_sets, score_trial


def test_a_trial_by_hand() -> None:
    labels = np.array([0, 1, 1, 0])
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    uncertainty = np.array([0.1, 0.2, 0.9, 0.3])
    found = score_trial(labels, probabilities, uncertainty)
    assert set(found) == set(METRICS)
    assert found["accuracy"] == 0.75
    # Class 0: 2 of 3 predictions right, all found: F1 0.8. Class 1: 1 of 1, half found: 2/3.
    assert found["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)
    told = np.array([0.9, 0.8, 0.4, 0.7])
    assert found["negative_log_likelihood"] == pytest.approx(-np.log(told).mean())
    assert found["brier_score"] == pytest.approx((2 * (1 - told) ** 2).mean())
    assert found["error_detection_auroc"] == 1.0
    assert found["confidence_detection_auroc"] == 1.0


def test_figures_as_text() -> None:
    share = Metric("share %", "higher", percent=True, digits=1)
    assert share.shown(0.1234) == "12.3"
    assert share.signed(0.05) == "+5.0"
    assert share.signed(-0.0001) == "+0.0"
    assert Metric("loss", "lower").signed(-0.5) == "-0.500"


def test_sets_by_hand() -> None:
    members = np.array([[True, False], [True, True], [True, False], [False, True]])
    assert score_sets(np.array([0, 1, 1, 1]), members) == (0.75, 1.25)
    assert list(SET_METRICS)[:2] == ["coverage_80", "set_size_80"]
