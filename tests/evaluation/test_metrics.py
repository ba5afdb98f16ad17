"""Metrics against values by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as reference

from truegraph.errors import InputError
from truegraph.evaluation import (
    accuracy,
    brier_score,
    error_detection_auroc,
    macro_f1,
    negative_log_likelihood,
)

LABELS = np.array([0, 1, 2, 2])
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.0, 0.2, 0.8], [0.5, 0.25, 0.25]])


@pytest.fixture(scope="module")
def random_case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, size=500), rng.dirichlet(np.full(5, 0.5), size=500)


def test_values_by_hand() -> None:
    predicted = PROBABILITIES.argmax(axis=1)  # 0, 0, 2, 0
    assert accuracy(LABELS, predicted) == 0.5
    # F1: class 0 = 2*1/(1+3), class 1 = 0, class 2 = 2*1/(2+1)
    assert macro_f1(LABELS, predicted) == pytest.approx((0.5 + 0 + 2 / 3) / 3)
    expected = -np.mean(np.log([0.7, 0.3, 0.8, 0.25]))
    assert negative_log_likelihood(LABELS, PROBABILITIES) == pytest.approx(expected)
    # (.09+.04+.01) + (.36+.49+.01) + (.04+.04) + (.25+.0625+.5625)
    assert brier_score(LABELS, PROBABILITIES) == pytest.approx((0.14 + 0.86 + 0.08 + 0.875) / 4)


def test_equal_to_scikit_learn(random_case: tuple[np.ndarray, np.ndarray]) -> None:
    labels, probabilities = random_case
    predicted = probabilities.argmax(axis=1)
    assert accuracy(labels, predicted) == reference.accuracy_score(labels, predicted)
    assert macro_f1(labels, predicted) == pytest.approx(
        reference.f1_score(labels, predicted, average="macro")
    )
    assert negative_log_likelihood(labels, probabilities) == pytest.approx(
        reference.log_loss(labels, probabilities)
    )
    entropy = -np.sum(probabilities * np.log(probabilities), axis=1).round(1)  # rounding makes ties
    wrong = predicted != labels
    assert error_detection_auroc(entropy, ~wrong) == pytest.approx(
        reference.roc_auc_score(wrong, entropy)
    )


def test_a_class_never_predicted_and_one_never_true() -> None:
    assert macro_f1([0, 0, 1], [0, 0, 2]) == pytest.approx(1 / 3)


def test_auroc_by_hand() -> None:
    assert error_detection_auroc([0.9, 0.1, 0.2], [False, True, True]) == 1.0
    assert error_detection_auroc([0.1, 0.9, 0.2], [False, True, True]) == 0.0
    assert error_detection_auroc([0.5, 0.5, 0.5], [False, True, True]) == 0.5
    assert error_detection_auroc([0.2, 0.1, 0.2], [False, True, True]) == 0.75
    assert np.isnan(error_detection_auroc([0.1, 0.2], [True, True]))
    assert np.isnan(error_detection_auroc([0.1, 0.2], [False, False]))


def test_a_true_class_of_probability_zero_stays_finite() -> None:
    for dtype in (np.float32, np.float64):
        certain = np.array([[1.0, 0.0]], dtype=dtype)
        loss = negative_log_likelihood([1], certain)
        assert loss == pytest.approx(-np.log(np.finfo(dtype).tiny), rel=1e-6)
    assert brier_score([1], np.array([[1.0, 0.0]])) == 2.0


def test_single_precision_gives_the_same() -> None:
    single = PROBABILITIES.astype(np.float32)
    assert brier_score(LABELS, single) == pytest.approx(brier_score(LABELS, PROBABILITIES))
    assert single[0, 0] == np.float32(0.7)


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([0, 1], PROBABILITIES, r"shape \(2,\) and probabilities \(4, 3\)"),
        ([0], [0.5], "one row of class probabilities"),
        ([], np.empty((0, 3)), r"shape \(0,\)"),
        ([0, 1, 2, -1], PROBABILITIES, "between -1 and 2.*leave unlabelled nodes out"),
        ([0, 1, 2, 3], PROBABILITIES, "between 0 and 3"),
        (LABELS, PROBABILITIES * 2, "each row must sum to 1"),
        (LABELS, PROBABILITIES * np.nan, "each row must sum to 1"),
    ],
)
def test_input_that_does_not_fit(
    labels: list[int], probabilities: np.ndarray, message: str
) -> None:
    for metric in (negative_log_likelihood, brier_score):
        with pytest.raises(InputError, match=message):
            metric(labels, probabilities)


def test_lists_of_different_length() -> None:
    for metric in (accuracy, macro_f1, error_detection_auroc):
        with pytest.raises(InputError, match=r"the shapes are \(2,\) and \(1,\)"):
            metric([0, 1], [0])
        with pytest.raises(InputError, match="at least one entry"):
            metric([], [])
