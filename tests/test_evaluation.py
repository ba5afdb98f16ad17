"""Metrics, calibration and significance: by hand, and against scikit-learn and SciPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array
from sklearn import metrics as reference
from sklearn.calibration import calibration_curve

from truegraph import evaluation as e
from truegraph.evaluation.link_metrics import hits_at, mean_reciprocal_rank

LABELS = np.array([0, 1, 2, 2])
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.0, 0.2, 0.8], [0.5, 0.25, 0.25]])


def test_classes_by_hand() -> None:
    found = e.class_metrics(LABELS, PROBABILITIES)  # predicted: 0, 0, 2, 0
    assert found["accuracy"] == 0.5
    # F1: class 0 = 2*1/(1+3), class 1 = 0, class 2 = 2*1/(2+1)
    assert found["macro_f1"] == pytest.approx((0.5 + 0 + 2 / 3) / 3)
    expected = -np.mean(np.log([0.7, 0.3, 0.8, 0.25]))
    assert found["negative_log_likelihood"] == pytest.approx(expected)
    # (.09+.04+.01) + (.36+.49+.01) + (.04+.04) + (.25+.0625+.5625)
    assert found["brier_score"] == pytest.approx((0.14 + 0.86 + 0.08 + 0.875) / 4)
    # Confidences .8 and .7 are right, .6 and .5 wrong.
    assert found["confidence_detection_auroc"] == 1.0
    certain = np.array([[1.0, 0.0]], dtype=np.float32)  # of which the other class is true
    found = e.class_metrics([1], certain)
    loss = -np.log(np.finfo(np.float32).tiny)
    assert found["negative_log_likelihood"] == pytest.approx(loss, rel=1e-6)
    assert np.isnan(found["error_detection_auroc"])  # no prediction is right
    assert e.class_metrics([0, 0, 1], np.eye(2)[[1, 0, 1]], [0.2, 0.1, 0.2])[
        "error_detection_auroc"
    ] == pytest.approx(0.75)


def test_classes_as_scikit_learn_scores_them() -> None:
    rng = np.random.default_rng(0)
    labels, probabilities = rng.integers(0, 5, size=500), rng.dirichlet(np.full(5, 0.5), size=500)
    predicted = probabilities.argmax(axis=1)
    entropy = stats.entropy(probabilities, axis=1)
    found = e.class_metrics(labels, probabilities)
    wrong = predicted != labels
    for name, expected in (
        ("accuracy", reference.accuracy_score(labels, predicted)),
        ("macro_f1", reference.f1_score(labels, predicted, average="macro")),
        ("negative_log_likelihood", reference.log_loss(labels, probabilities)),
        ("error_detection_auroc", reference.roc_auc_score(wrong, entropy)),
    ):
        assert found[name] == pytest.approx(expected)
    assert set(found) == set(e.METRICS)


def test_reliability_by_hand_and_as_scikit_learn_has_it() -> None:
    # Confidences .75 (right), .75 (wrong), .95 (right), .55 (wrong): three of 15 bins are used.
    chances = np.array([[c, 1 - c] for c in (0.75, 0.75, 0.95, 0.55)])
    used = e.reliability_curve([0, 1, 0, 1], chances).dropna()
    assert used["count"].tolist() == [1, 2, 1]
    assert used["confidence"].tolist() == pytest.approx([0.55, 0.75, 0.95])
    assert used["accuracy"].tolist() == [0, 0.5, 1]
    error = e.class_metrics([0, 1, 0, 1], chances)["expected_calibration_error"]
    assert error == pytest.approx((0.55 + 2 * 0.25 + 0.05) / 4)
    rng = np.random.default_rng(1)
    chances, labels = rng.dirichlet(np.ones(3), size=800), rng.integers(0, 3, 800)
    right = chances.argmax(axis=1) == labels
    share, mean = calibration_curve(right, chances.max(axis=1), n_bins=15)
    curve = e.reliability_curve(labels, chances)
    assert curve["accuracy"].dropna().tolist() == pytest.approx(share)
    assert curve["confidence"].dropna().tolist() == pytest.approx(mean)
    assert curve["count"].sum() == 800


def test_sets_by_hand() -> None:
    members = np.array([[True, False], [True, True], [True, False], [False, True]])
    assert e.set_metrics([0, 1, 1, 1], members) == (0.75, 1.25)


def test_figures_as_text() -> None:
    share = e.Metric("share %", "higher", percent=True, digits=1)
    assert (share.shown(0.1234), share.signed(0.05)) == ("12.3", "+5.0")
    assert share.signed(-0.0001) == "+0.0"
    assert e.Metric("loss", "lower").signed(-0.5) == "-0.500"


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("sizes", [(30, 30), (5, 80), (1, 1)])
def test_links_as_scikit_learn_scores_them(decimals: int, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng([decimals, *sizes])
    links = rng.normal(0.5, size=sizes[0]).round(decimals)
    others = rng.normal(size=sizes[1]).round(decimals)
    truth, scores = np.repeat([1, 0], sizes), np.concatenate([links, others])
    found = e.link_metrics(links, others)
    assert found["auc"] == pytest.approx(reference.roc_auc_score(truth, scores))
    assert found["ap"] == pytest.approx(reference.average_precision_score(truth, scores))
    assert found == e.link_metrics(np.tanh(links), np.tanh(others))


def test_links_by_hand() -> None:
    links, others = np.array([9.0, 5.0, 2.0]), np.array([8.0, 5.0, 4.0, 1.0])
    found = [hits_at(links, others, k) for k in range(1, 6)]  # equal to the second best: no hit
    assert found == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1, 1])
    # ranks: 1, 1 + 1 + 1/2, 4
    assert mean_reciprocal_rank(links, others) == pytest.approx((1 + 1 / 2.5 + 1 / 4) / 3)
    chances = np.array([0.9, 0.6, 0.3, 0.2, 0.1])
    found = e.link_metrics(chances[:3], chances[3:], chances[:3], chances[3:])
    expected = reference.log_loss([1, 1, 1, 0, 0], chances)
    assert found["negative_log_likelihood"] == pytest.approx(expected)


def test_rankings_by_hand() -> None:
    lists = [[4, 0, 2, 1], [3, 1, 0, 2], [0, 1, 2, -1]]
    held = csr_array(np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]))
    scores = e.score_rankings(lists, held, ks=[3])
    of = {name.split("@")[0]: values for name, values in scores.items()}
    assert of["recall"].tolist() == [1 / 3, 0.0]
    assert of["hit"].tolist() == [1, 0]
    assert of["mrr"].tolist() == [0.5, 0.0]
    assert of["map"].tolist() == [0.5 / 3, 0.0]
    gain = 1 / np.log2(3)
    assert of["ndcg"][0] == pytest.approx(gain / (1 + 1 / np.log2(3) + 0.5))
    found = e.ranking_metrics(lists, held, ks=[3])
    assert found["recall@3"] == pytest.approx(1 / 6)  # of the users with held-out items
    assert found["coverage@3"] == 1.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.1, 0.5]), st.sampled_from([1, 5, 20]))
def test_laws_of_ndcg(seed: int, share: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(150)[: rng.choice([20, 60, 150])] for _ in range(1)])
    dense = (rng.random((1, 150)) < share).astype(int)
    dense[0, 0] = 1
    usual = e.score_rankings(lists, csr_array(dense), ks=[k])[f"ndcg@{k}"][0]
    best = np.argsort(-dense, axis=1, kind="stable")
    assert 0.0 <= usual <= 1.0 + 1e-12
    assert e.score_rankings(best, csr_array(dense), ks=[k])[f"ndcg@{k}"][0] == pytest.approx(1.0)


def test_significance_by_hand_and_as_scipy_has_it() -> None:
    summary = e.mean_std([1.0, 2.0, 3.0, 6.0])
    assert summary.std == pytest.approx(np.sqrt(3.5))  # population: (4 + 1 + 0 + 9) / 4
    assert (summary.mean, summary.n) == (3.0, 4)
    # Differences 1, 2, 3, 4, 5: all signs equal, so p = 2 / 2^5.
    test = e.paired_wilcoxon([2, 4, 6, 8, 10], [1, 2, 3, 4, 5])
    assert (test.mean_difference, test.n) == (3.0, 5)
    assert test.p_value == pytest.approx(2 / 32)
    rng = np.random.default_rng(0)
    first = rng.normal(0.7, 0.03, size=50).round(3)
    second = (first - rng.normal(0.01, 0.02, size=50)).round(3)
    expected = stats.wilcoxon(first, second, zero_method="wilcox", correction=False)
    assert e.paired_wilcoxon(first, second).p_value == expected.pvalue
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert e.paired_wilcoxon([0.5, 0.7], [0.5, 0.7]).p_value == 1.0
