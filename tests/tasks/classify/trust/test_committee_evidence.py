"""Left-out predictions of a committee: the mean of views and recipes, at its temperature."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.committee.opinions import Opinion, open_trial
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.weights import Sharpness
from truegraph.tasks.classify.recipes.ensemble import tempered
from truegraph.tasks.classify.trust.committee_evidence import left_out_labels

LABELS = np.arange(40) % 2
ONES = np.ones(2)


def _panel() -> Panel:
    panel = Panel(open_trial(LABELS, np.arange(40), 0, 2), 50, all_alike=False)
    left_out = np.tile([np.log(0.9), np.log(0.1)], (4, 40, 1))
    scores = np.zeros((50, 2), np.float32)
    opinion = Opinion("observed", None, Sharpness(1.0), left_out, np.full(40, -0.01), scores)
    panel.opinions.append(opinion)
    return panel


def test_views_alone_at_the_temperature_of_the_prediction() -> None:
    panel = _panel()
    found = left_out_labels(panel, (), ONES, 0.5)
    assert np.array_equal(found.nodes, np.arange(40))
    assert np.array_equal(found.labels, LABELS)
    wanted = tempered(panel.left_out_probabilities(), 0.5)
    assert found.probabilities == pytest.approx(wanted)


def test_class_factors_count() -> None:
    found = left_out_labels(_panel(), (), np.array([1.0, 9.0]), 1.0).probabilities
    plain = left_out_labels(_panel(), (), ONES, 1.0).probabilities
    assert found[:, 1] / found[:, 0] == pytest.approx(9.0 * plain[:, 1] / plain[:, 0])


def test_classifiers_of_a_recipe_take_its_share() -> None:
    panel = _panel()
    panel.taken = 0.5
    chances = np.tile(np.array([0.2, 0.8], np.float32), (40, 1))
    panel.recipe_left_out = (np.arange(40)[::-1], np.arange(40) % 3, chances)
    before = left_out_labels(panel, (), ONES, 1.0).probabilities
    after = left_out_labels(panel, ["refined"], ONES, 1.0).probabilities
    assert (after[:, 1] > before[:, 1] + 0.1).all()
    assert after.sum(axis=1) == pytest.approx(1.0)


def test_the_only_label_of_a_class_is_never_left_out() -> None:
    labels = np.array([0, 0, 0, 1])
    panel = Panel(open_trial(labels, np.arange(4), 0, 2), 6, all_alike=False)
    assert np.array_equal(left_out_labels(panel, (), ONES, 1.0).nodes, [0, 1, 2])
