"""Temperatures from labelled nodes that were left out."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.recipes.cross_fitting import (
    balanced_folds,
    fitted_temperature,
    standard_errors,
)
from truegraph.tasks.classify.recipes.ensemble import tempered


def test_folds_are_a_partition_that_leaves_every_class() -> None:
    labels = np.repeat([0, 1, 2], [5, 2, 1])
    nodes = np.arange(8)
    folds = balanced_folds(labels, nodes, seed=0)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(7))  # not the only one of 2
    for fold in folds:
        assert set(labels[np.setdiff1d(nodes, fold)]) == {0, 1, 2}
    again = balanced_folds(labels, nodes, seed=0)
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))
    assert balanced_folds(labels, np.array([0, 5, 7]), seed=0) == []


@pytest.mark.parametrize("true", [0.6, 1.0, 1.8])
def test_many_nodes_show_the_temperature(true: float) -> None:
    generator = np.random.default_rng(0)
    calibrated = generator.dirichlet([1.0, 1.0, 1.0], size=20_000)
    labels = (calibrated.cumsum(axis=1) > generator.random((20_000, 1))).argmax(axis=1)
    given = tempered(calibrated, 1.0 / true)  # the tempering that undoes this is `true`
    assert fitted_temperature(given, labels) == pytest.approx(true, rel=0.03)


def test_few_nodes_cannot_move_it_far() -> None:
    sure_and_right = np.array([[0.6, 0.4]])
    assert 0.9 < fitted_temperature(sure_and_right, np.array([0])) < 1.0
    assert fitted_temperature(np.zeros((0, 2)), np.zeros(0, dtype=np.int64)) == 1.0


def test_standard_errors() -> None:
    assert standard_errors(np.array([1.0])) == 0.0
    assert standard_errors(np.array([1.0, 3.0, 1.0, 3.0])) == pytest.approx(4.0)
