"""Base predictions are computed once, read back bit for bit, and never taken for another's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.methods import Network
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes.base_cache import base_probabilities
from truegraph.tasks.classify.results import TrialResults


class Counted(Network):
    """A network that counts the trials it trains."""

    trained = 0

    def run(self, problem: Problem, options: Any, run: Run) -> TrialResults:
        self.trained += problem.trials
        return super().run(problem, options, run)


@pytest.fixture
def problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def _predict(problem: Problem, cache: Path, method: Counted, **changes: Any) -> np.ndarray:
    settings = method.options({"epochs": 3, **changes})
    return base_probabilities("gcn", method, settings, problem, Run(cache=cache))


def test_only_missing_trials_are_trained(problem: Problem, tmp_path: Path) -> None:
    method = Counted("gcn")
    _predict(problem.select([1]), tmp_path, method)
    found = _predict(problem, tmp_path, method)
    again = _predict(problem, tmp_path, method)
    assert method.trained == 3
    np.testing.assert_array_equal(found, again)
    settings = method.options({"epochs": 3})
    np.testing.assert_array_equal(found, method.run(problem, settings, Run()).probabilities)


def test_other_settings_seeds_and_labels_are_other_predictions(
    problem: Problem, tmp_path: Path
) -> None:
    method = Counted("gcn")
    _predict(problem, tmp_path, method)
    _predict(problem, tmp_path, method, hidden=4)
    _predict(replace(problem, seeds=[5, 6, 7]), tmp_path, method)
    other = problem.labels.copy()
    for row, train in zip(other, problem.train, strict=True):
        row[train] = (row[train] + 1) % 3
    _predict(replace(problem, labels=other), tmp_path, method)
    assert method.trained == 12


def test_a_damaged_file_is_computed_again(problem: Problem, tmp_path: Path) -> None:
    method = Counted("gcn")
    before = _predict(problem, tmp_path, method)
    for file in tmp_path.glob("base-gcn-*.npz"):
        file.write_bytes(file.read_bytes()[:-40])
    np.testing.assert_array_equal(before, _predict(problem, tmp_path, method))
    assert method.trained == 6
