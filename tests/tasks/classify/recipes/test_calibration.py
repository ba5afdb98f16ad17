"""Temperatures come from labels left out of training, and only raise confidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import calibration
from truegraph.tasks.classify.recipes.calibration import (
    GRAPHLESS,
    distrusted_graphs,
    left_out_predictions,
    result_temperatures,
    scaling_shares,
    temperatures,
)
from truegraph.tasks.classify.recipes.ensemble import Prediction, tempered
from truegraph.tasks.classify.recipes.refined_options import (
    RefinedOptions,
)
from truegraph.tasks.classify.recipes.scaled_classifiers import (
    Classified,
)

QUICK = {"degree": 8, "samples": 4, "settings": {"epochs": 30}}


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def _step(*rows: list[list[float]]) -> Classified:
    chances = np.array(rows, dtype=np.float32)
    return Classified(Prediction(chances, np.zeros(chances.shape[:2], np.float32)), None)


def test_results_are_raised_to_the_level_of_the_tempered_first_prediction() -> None:
    first = _step(*[[[0.6, 0.4], [0.7, 0.3]]] * 4).prediction
    vague, sure = [[0.6, 0.4], [0.55, 0.45]], [[0.9, 0.1], [0.8, 0.2]]
    results = [
        Prediction(np.array(one, np.float32), np.zeros(2, np.float32))
        for one in (vague, sure, vague, vague)
    ]
    heat = result_temperatures(first, results, np.array([0.5, 0.5, 1.0, 1.5]))
    level = (0.36 / 0.52 + 0.49 / 0.58) / 2  # probabilities squared, normalised
    assert tempered(vague, heat[0]).max(axis=1).mean() == pytest.approx(level, abs=1e-6)
    assert heat[0] < 0.5  # what is vaguer than the first prediction needs more than its temperature
    assert heat[1:] == [1.0, 1.0, 1.0]  # sure enough, or nothing to correct


def test_temperatures_see_no_label_but_the_own_ones(planted: Any) -> None:
    problem = _problem(planted)
    options = RefinedOptions(**QUICK)
    heat = temperatures(problem, left_out_predictions(problem, options, Run()))
    assert heat.shape == (3,)
    assert (heat != 1.0).all()
    one = problem.select([1])
    alone = temperatures(one, left_out_predictions(one, options, Run()))
    assert alone[0] == heat[1]
    picked = left_out_predictions(problem, options, Run()).select([1])
    assert temperatures(one, picked)[0] == heat[1]
    single = replace(problem, train=[train[:1] for train in problem.train])
    nothing = left_out_predictions(single, options, Run())
    assert (temperatures(single, nothing) == 1.0).all()


def test_labels_left_out_are_not_trained_on(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    made = calibration.trained_appnp

    def spy(problem: Problem, *rest: Any) -> Any:
        seen.append(problem)
        return made(problem, *rest)

    monkeypatch.setattr(calibration, "trained_appnp", spy)
    problem = _problem(planted)
    left_out_predictions(problem, RefinedOptions(**QUICK), Run())
    assert len(seen) == 3  # two scalings, and without the graph
    folds = seen[0]
    assert all(one.train is not None and one.trials == 9 for one in seen)
    for trial, train in enumerate(problem.train):
        own = [kept for kept, seed in zip(folds.train, folds.seeds, strict=True) if seed == trial]
        left = [np.setdiff1d(train, kept) for kept in own]
        assert np.array_equal(np.sort(np.concatenate(left)), np.sort(train))


def test_a_scaling_that_collapses_does_not_count(planted: Any) -> None:
    generator = np.random.default_rng(0)
    dense = 100.0 + np.eye(3)[planted.labels] + 0.3 * generator.normal(size=(120, 3))
    dense = np.hstack([dense, generator.normal(1.0, 0.01, size=(120, 3))])
    inputs = complete_inputs(dense, planted.graph, 120)
    problem = replace(_problem(planted), inputs=inputs)
    own = np.log(np.full((9, 120, 3), 1 / 3, dtype=np.float32))
    left_out = left_out_predictions(problem, RefinedOptions(**QUICK), Run())
    right = np.full((9, 120, 3), 0.05, dtype=np.float32)
    right[:, np.arange(120), planted.labels] = 0.9
    made = replace(left_out, chances={"sum": np.exp(own), "length": right, GRAPHLESS: right})
    shares = scaling_shares(problem, ("sum", "length"), made)
    assert (shares[:, 0] == 0.0).all()
    assert (shares[:, 1] == 1.0).all()
    alike = replace(left_out, chances={"sum": right, "length": right, GRAPHLESS: right})
    assert (scaling_shares(problem, ("sum", "length"), alike) == 1.0).all()
    assert distrusted_graphs(problem, made, "length") == [False] * 3
    assert distrusted_graphs(problem, made, "sum") == [True] * 3
