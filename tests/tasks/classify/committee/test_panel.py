"""The weights of a panel: sums, views too small to count, trained recipes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.tasks.classify.committee.opinions import Opinion, open_trial
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.weights import Sharpness

LABELS = np.arange(40) % 2


def _panel(**densities: float) -> Panel:
    panel = Panel(open_trial(LABELS, np.arange(40), 0, 2), 50, all_alike=False)
    for name, density in densities.items():
        scores = np.zeros((50, 2), np.float32)
        left_out = np.tile([np.log(0.9), np.log(0.1)], (4, 40, 1))
        logs = np.full(40, density)
        panel.opinions.append(Opinion(name, None, Sharpness(1.0), left_out, logs, scores))
    return panel


def test_weights_sum_to_one_and_small_ones_are_left_out() -> None:
    weights = _panel(observed=-0.1, features=-0.2, learned=-3.0).weights()
    assert set(weights) == {"observed", "features"}
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["observed"] > weights["features"]


def test_trained_recipes_take_weight_from_views_of_the_observed_graph() -> None:
    panel = _panel(observed=-0.2, features=-0.2)
    panel.taken = 0.6
    before, after = panel.weights(), panel.weights(["refined", "fast"])
    assert after["features"] == before["features"]
    assert after["refined"] == after["fast"] > 0.0
    assert sum(after.values()) == pytest.approx(1.0)
    assert after["observed"] + 2 * after["fast"] == pytest.approx(before["observed"])
    assert panel.weight_of("observed") == before["observed"]


def test_agreement_speaks_for_views_of_the_observed_graph() -> None:
    """By chance features fit the left-out labels better, but they agree across the edges."""
    panel = _panel(observed=-0.5, features=-0.3)
    assert panel.weights()["features"] > 0.9
    panel.agreement = 0.6
    weights = panel.weights()
    assert weights["observed"] > weights["features"]


def test_the_view_of_the_features_that_agrees_less_counts() -> None:
    panel = _panel(**{"features": -0.3, "raw features": -0.3})
    ring = csr_array((np.ones(50), (np.arange(50), (np.arange(50) + 1) % 50)), shape=(50, 50))
    halves = np.where(np.arange(50)[:, None] < 25, [3.0, 0.0], [0.0, 3.0]).astype(np.float32)
    first, second = (replace(panel.opinions[-1], scores=scores) for scores in (halves, -halves))
    panel.opinions[1:] = [first, second]
    panel.look_across_edges(csr_array(ring + ring.T))
    assert panel.agreement > 0.5
    panel.opinions[2] = replace(second, scores=np.zeros((50, 2), np.float32))
    panel.look_across_edges(csr_array(ring + ring.T))
    assert panel.agreement == 0.0


def test_all_alike() -> None:
    panel = Panel(open_trial(LABELS, np.arange(40), 0, 2), 50, all_alike=True)
    panel.opinions += _panel(observed=-9.0).opinions[1:]
    assert panel.weights() == {"class shares": 0.5, "observed": 0.5}


def test_trees_take_weight_from_views_of_the_features_alone() -> None:
    panel = _panel(observed=-0.2, features=-0.2)
    before = panel.weights()
    panel.trees, panel.taken_by_trees = replace(panel.opinions[-1], name="trees"), 0.5
    after = panel.weights()
    assert after["observed"] == before["observed"]
    assert after["trees"] == after["features"] == pytest.approx(0.5 * before["features"])


def test_left_out_probabilities_are_the_mean_by_weights() -> None:
    panel = _panel(observed=-0.1)  # the shares of the classes are left without weight
    np.testing.assert_allclose(panel.left_out_probabilities(), np.tile([0.9, 0.1], (40, 1)))
    single = Panel(open_trial(np.array([0, 0, 1]), np.arange(3), 0, 2), 3, all_alike=False)
    assert np.isnan(single.left_out_probabilities()).all(axis=1).tolist() == [False, False, True]
