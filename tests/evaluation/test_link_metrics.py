"""Metrics of link prediction: against scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import (
    hits_at,
    link_auc,
    link_average_precision,
    link_metrics,
    mean_reciprocal_rank,
)


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("sizes", [(30, 30), (5, 80), (1, 1), (80, 5)])
def test_auc_and_average_precision_are_scikit_learns(decimals, sizes):
    rng = np.random.default_rng([decimals, *sizes])
    links, non_links = rng.normal(0.5, size=sizes[0]), rng.normal(size=sizes[1])
    links, non_links = links.round(decimals), non_links.round(decimals)
    truth, scores = np.repeat([1, 0], sizes), np.concatenate([links, non_links])
    assert link_auc(links, non_links) == pytest.approx(roc_auc_score(truth, scores))
    expected = average_precision_score(truth, scores)
    assert link_average_precision(links, non_links) == pytest.approx(expected)


def test_hits_and_reciprocal_rank_by_hand():
    links, non_links = [9.0, 5.0, 2.0], [8.0, 5.0, 4.0, 1.0]
    assert hits_at(links, non_links, 1) == pytest.approx(1 / 3)
    assert hits_at(links, non_links, 2) == pytest.approx(1 / 3)  # equal to the second best: no hit
    assert hits_at(links, non_links, 3) == pytest.approx(2 / 3)
    assert hits_at(links, non_links, 4) == 1.0
    assert hits_at(links, non_links, 5) == 1.0
    # ranks: 1, 1 + 1 + 1/2, 4
    assert mean_reciprocal_rank(links, non_links) == pytest.approx((1 + 1 / 2.5 + 1 / 4) / 3)


def test_perfect_and_useless_scores():
    perfect = link_metrics([3.0, 2.0], [1.0, 0.0])
    assert set(perfect.values()) == {1.0}
    constant = link_metrics(np.zeros(50), np.zeros(50))
    assert constant["auc"] == constant["ap"] == 0.5
    assert constant["hits_20"] == 0.0


def test_metrics_do_not_change_with_a_monotone_map():
    rng = np.random.default_rng(0)
    links, non_links = rng.normal(1.0, size=150), rng.normal(size=150)
    assert link_metrics(links, non_links) == link_metrics(np.tanh(links), np.tanh(non_links))


def test_calibration_metrics_take_both_classes():
    positive, negative = np.array([0.9, 0.6, 0.3]), np.array([0.2, 0.1])
    found = link_metrics(positive, negative, positive, negative)
    truth, chance = [1, 1, 1, 0, 0], np.concatenate([positive, negative])
    assert found["negative_log_likelihood"] == pytest.approx(log_loss(truth, chance))
    assert found["brier_score"] == pytest.approx(2 * brier_score_loss(truth, chance))
    assert 0.0 <= found["expected_calibration_error"] <= 1.0


def test_errors_name_the_argument():
    with pytest.raises(InputError, match="links has shape"):
        link_auc([], [1.0])
    with pytest.raises(InputError, match=r"non_links has shape .* no NaN"):
        link_auc([1.0], [np.nan])
    with pytest.raises(InputError, match="k=0"):
        hits_at([1.0], [0.0], 0)
