"""The regression, the order of candidates, and calibration, on data whose odds are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from truegraph.errors import InputError
from truegraph.links.heuristics import heuristic
from truegraph.links.regression import (
    LinkCalibration,
    fit_calibration,
    fit_order,
    fit_regression,
    with_heuristics,
)
from truegraph.links.walks import walk_graph, walk_scores


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(count, 2)) * [1.0, 50.0] + [0.0, 7.0]
    odds = 1.5 * columns[:, 0] - 0.02 * columns[:, 1] - 1.0
    return columns, rng.random(count) < expit(odds), odds


def test_recovers_known_odds_and_their_errors():
    columns, truth, odds = drawn(20_000, 0)
    found = fit_regression(columns, truth, weight=np.ones(len(truth)))
    wrong = found.logits(columns) - odds
    assert np.abs(wrong).max() < 0.3
    # errors say how far off other draws would be
    again = [
        fit_regression(*drawn(2000, seed)[:2], weight=np.ones(2000)).logits(columns[:5])
        for seed in range(1, 40)
    ]
    stated = fit_regression(*drawn(2000, 99)[:2], weight=np.ones(2000)).errors(columns[:5])
    np.testing.assert_allclose(stated, np.std(again, axis=0), rtol=0.5)


def candidates(rng: np.random.Generator, count: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Walk scores, and truths: many need common neighbours, the best need low degrees."""
    columns = np.log1p(rng.gamma(1.0, 2.0, size=(count, 8)))
    columns[:, :2].sort(axis=1)
    odds = 3.0 * columns[:, 2] - 7.0
    odds = np.where(odds > -2.0, 6.0 * (1.0 - columns[:, 1]), odds)
    return columns, rng.random(count) < 1.0 / (1.0 + np.exp(-odds))


def test_the_best_are_ordered_by_what_counts_among_them():
    rng = np.random.default_rng(0)
    columns, truth = candidates(rng)
    first = fit_regression(columns, truth, weight=np.ones(len(truth)))
    order, scores = fit_order(first, columns, truth, np.ones(len(truth)))
    assert order.second is not None
    fresh, fresh_truth = candidates(rng)
    found = {
        "both": order.order(fresh),
        "first": first.logits(fresh),
    }
    right = {name: fresh_truth[np.argsort(-value)[:200]].mean() for name, value in found.items()}
    assert right["both"] > right["first"] + 0.05
    # Scores of the fit are those of fresh candidates, not better.
    assert truth[np.argsort(-scores)[:200]].mean() == pytest.approx(right["both"], abs=0.08)
    is_best = first.logits(fresh) >= order.least
    assert (found["both"][is_best] > 1.0).all()
    assert (found["both"][~is_best] < 1.0).all()
    assert is_best.sum() == pytest.approx(3 * truth.sum(), rel=0.15)


def test_few_hidden_links_keep_the_first_order():
    columns, _ = candidates(np.random.default_rng(0), 300)
    truth = np.arange(300) % 30 == 0
    first = fit_regression(columns, truth, weight=np.ones(300))
    order, scores = fit_order(first, columns, truth, np.ones(300))
    assert order.second is None
    np.testing.assert_array_equal(scores, order.order(columns))
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(first.logits(columns)))
    assert first.order(columns[:0]).shape == (0,)


def test_heuristics_come_back_from_walk_scores(teams):
    graph = teams
    pairs = np.argwhere(np.triu(np.ones((400, 400)), 1))[::31]
    wider = with_heuristics(walk_scores(walk_graph(graph), pairs))
    names = ("common-neighbours", "adamic-adar", "resource-allocation")
    for place, name in enumerate(names):
        np.testing.assert_allclose(wider[:, 8 + place], heuristic(name, graph, pairs), atol=1e-9)
    pagerank = heuristic("personalised-pagerank", graph, pairs)
    linked = (np.diff(graph.indptr)[pairs] > 0).all(axis=1)
    np.testing.assert_allclose(0.15 * wider[linked, -2], pagerank[linked], atol=1e-9)


@pytest.mark.parametrize("counts", [(40_000, 40_000), (2_000, 60_000)])
def test_recovers_a_known_logistic_map(counts):
    rng = np.random.default_rng(0)
    # two Gaussians of equal width: log odds = 2 x exactly, for equally many of both
    found = fit_calibration(rng.normal(1.0, 1.0, counts[0]), rng.normal(-1.0, 1.0, counts[1]))
    assert found.slope == pytest.approx(2.0, rel=0.1)
    assert found.offset == pytest.approx(0.0, abs=0.15)


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
