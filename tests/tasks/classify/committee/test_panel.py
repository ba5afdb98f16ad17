"""The weights of a panel: sums, views too small to count, trained recipes."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.committee.opinions import Opinion, open_trial
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.weights import Sharpness

LABELS = np.arange(40) % 2


def _panel(**densities: float) -> Panel:
    panel = Panel(open_trial(LABELS, np.arange(40), 0, 2), 50, all_alike=False)
    for name, density in densities.items():
        scores = np.zeros((50, 2), np.float32)
        panel.opinions.append(Opinion(name, None, Sharpness(1.0), np.full(40, density), scores))
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


def test_all_alike() -> None:
    panel = Panel(open_trial(LABELS, np.arange(40), 0, 2), 50, all_alike=True)
    panel.opinions += _panel(observed=-9.0).opinions[1:]
    assert panel.weights() == {"class shares": 0.5, "observed": 0.5}
