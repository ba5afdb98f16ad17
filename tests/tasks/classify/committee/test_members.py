"""What trained recipes earn: nothing if they know nothing, less if clearly worse than a view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph.tasks.classify.committee.features import feature_space
from truegraph.tasks.classify.committee.members import earned_share
from truegraph.tasks.classify.committee.opinions import open_trial, opinions_on
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.views import Grounds, Views
from truegraph.tasks.classify.inputs import complete_inputs


@pytest.fixture
def heard(planted: Any) -> tuple[Panel, Views, np.ndarray, np.ndarray]:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    views = Views(Grounds(feature_space(inputs.raw), has_graph=True), inputs)
    train = np.arange(0, 120, 2)
    panel = Panel(open_trial(planted.labels, train, 0, 3), 120, all_alike=False)
    panel.opinions += opinions_on("observed", views, [panel.trial])
    return panel, views, train, np.arange(60) % 3


def _chances(labels: np.ndarray, sure: float) -> np.ndarray:
    found = np.full((len(labels), 3), (1.0 - sure) / 2, dtype=np.float32)
    found[np.arange(len(labels)), labels] = sure
    return found


def test_who_knows_nothing_earns_nothing(heard: Any) -> None:
    panel, views, train, folds = heard
    assert earned_share(panel, views, train, folds, np.full((60, 3), 1 / 3, np.float32)) == 0.0


def test_who_knows_more_than_the_views_earns_all(heard: Any) -> None:
    panel, views, train, folds = heard
    assert earned_share(panel, views, train, folds, _chances(panel.trial.labels, 0.98)) == 1.0


def test_who_is_clearly_worse_earns_less(heard: Any) -> None:
    panel, views, train, folds = heard
    half = panel.trial.labels.copy()
    half[::3] = (half[::3] + 1) % 3  # wrong in a third of the cases
    assert earned_share(panel, views, train, folds, _chances(half, 0.7)) < 1.0


def test_without_left_out_labels_the_views_decide(heard: Any) -> None:
    panel, views, train, folds = heard
    nothing = np.zeros((0, 3), np.float32)
    assert earned_share(panel, views, train[:0], folds[:0], nothing) == 1.0
