"""Calibrated probabilities: on scores whose probabilities are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from truegraph.errors import InputError
from truegraph.links.calibration import LinkCalibration, fit_calibration


def test_recovers_a_known_logistic_map():
    rng = np.random.default_rng(0)
    # two Gaussians of equal width: log odds = 2 x exactly, for equally many of both
    links, non_links = rng.normal(1.0, 1.0, 40_000), rng.normal(-1.0, 1.0, 40_000)
    found = fit_calibration(links, non_links)
    assert found.slope == pytest.approx(2.0, rel=0.03)
    assert found.offset == pytest.approx(0.0, abs=0.03)


def test_numbers_of_links_and_non_links_do_not_matter():
    rng = np.random.default_rng(1)
    links, non_links = rng.normal(1.0, 1.0, 2_000), rng.normal(-1.0, 1.0, 60_000)
    found = fit_calibration(links, non_links)
    assert found.slope == pytest.approx(2.0, rel=0.1)
    assert found.offset == pytest.approx(0.0, abs=0.15)


def test_agrees_with_logistic_regression():
    rng = np.random.default_rng(2)
    links, non_links = rng.gamma(2.0, 3.0, 3000), rng.gamma(1.0, 2.0, 3000) - 1.0
    scores, truth = np.concatenate([links, non_links])[:, None], np.repeat([1, 0], 3000)
    rival = LogisticRegression(C=np.inf).fit(scores, truth)
    found = fit_calibration(links, non_links)
    assert found.slope == pytest.approx(rival.coef_[0, 0], rel=0.01)
    assert found.offset == pytest.approx(rival.intercept_[0], rel=0.01)


def test_probabilities_are_right_as_often_as_they_say():
    rng = np.random.default_rng(3)
    scores = rng.normal(scale=3.0, size=40_000)
    truth = rng.random(40_000) < expit(0.7 * scores - 0.4)
    found = fit_calibration(scores[truth][:2000], scores[~truth][:2000])
    chance = found.probabilities(scores, prior=truth.mean())
    for low in np.arange(0.1, 0.9, 0.2):
        chosen = (chance >= low) & (chance < low + 0.2)
        assert truth[chosen].mean() == pytest.approx(chance[chosen].mean(), abs=0.05)


def test_prior_moves_the_odds():
    found = LinkCalibration(slope=1.0, offset=0.5)
    balanced, rare = (found.probabilities(np.array([1.0]), prior)[0] for prior in (0.5, 0.01))
    assert balanced == pytest.approx(expit(1.5))
    assert rare / (1 - rare) == pytest.approx(balanced / (1 - balanced) / 99)


def test_complete_separation_stays_finite_and_off_the_ends():
    found = fit_calibration(np.array([5.0, 6.0, 7.0]), np.array([-5.0, -6.0]))
    chance = found.probabilities(np.array([6.0, -6.0]), 0.5)
    assert 0.7 < chance[0] < 0.95
    assert 0.05 < chance[1] < 0.35


@pytest.mark.parametrize("links", [[-1.0, -2.0, -3.0], [1.0, 1.0]])
def test_scores_that_tell_nothing_or_lie_give_one_half(links):
    non_links = np.array([1.0, 2.0, 3.0]) if links[0] < 0 else np.array([1.0, 1.0])
    found = fit_calibration(np.array(links), non_links)
    np.testing.assert_allclose(found.probabilities(np.array([-9.0, 9.0]), 0.5), 0.5, atol=1e-6)


def test_both_kinds_of_pairs_are_needed():
    with pytest.raises(InputError, match="at least one link"):
        fit_calibration(np.array([]), np.array([1.0]))
