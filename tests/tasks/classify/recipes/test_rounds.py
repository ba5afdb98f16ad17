"""Rounds: what goes into the distances, and what a round counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import complete_inputs, distance_graph
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import rounds
from truegraph.tasks.classify.recipes.ensemble import Prediction
from truegraph.tasks.classify.recipes.node_graphs import combined_distance, map_graph
from truegraph.tasks.classify.recipes.refined_options import (
    RefinedOptions,
)
from truegraph.tasks.classify.recipes.rounds import means, round_graphs, round_labels, step_shares
from truegraph.tasks.classify.recipes.scaled_classifiers import (
    Classified,
)


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def _step(*rows: list[list[float]]) -> Classified:
    chances = np.array(rows, dtype=np.float32)
    return Classified(Prediction(chances, np.zeros(chances.shape[:2], np.float32)), None)


def test_training_nodes_keep_their_class_in_the_distances(planted: Any) -> None:
    problem = _problem(planted)
    wrong = np.zeros((3, 120, 3), dtype=np.float32)
    wrong[..., 0], wrong[..., 1] = 0.6, 0.4
    prediction = Prediction(wrong, np.zeros((3, 120), np.float32))
    hard, soft = (round_labels(problem, prediction, kind) for kind in ("hard", "soft"))
    for trial, train in enumerate(problem.train):
        own = np.eye(3)[planted.labels[train]]
        rest = np.setdiff1d(np.arange(120), train)
        assert np.array_equal(hard[trial, train], own)
        assert np.array_equal(soft[trial, train], own)
        assert (hard[trial, rest] == [1.0, 0.0, 0.0]).all()
        np.testing.assert_allclose(soft[trial, rest], np.tile([0.6, 0.4, 0.0], (len(rest), 1)))


def test_the_nearest_graph_is_that_of_the_combined_distance(planted: Any) -> None:
    problem = _problem(planted)
    points = np.random.default_rng(0).normal(size=(120, 3))
    distances = [EmbeddingDistance(points)] * 3
    chances = np.full((3, 120, 3), 1 / 3, dtype=np.float32)
    prediction = Prediction(chances, np.zeros((3, 120), np.float32))
    options = RefinedOptions(degree=5, graph="nearest")
    learned, graphs = round_graphs(problem, distances, prediction, None, options, Run())
    assert learned is None
    labels = round_labels(problem, prediction, "hard")
    expected = distance_graph(combined_distance(points, labels[1], planted.graph), 5)
    assert (graphs[1] != expected).nnz == 0


def test_the_search_for_theta_begins_where_it_ended_in_the_round_before(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def noted(*arguments: Any) -> LearnedGraph:
        begun.append(arguments[3])
        return map_graph(*arguments)

    monkeypatch.setattr(rounds, "map_graph", noted)
    problem = _problem(planted)
    distances = [EmbeddingDistance(np.random.default_rng(0).normal(size=(120, 3)))] * 3
    chances = np.full((3, 120, 3), 1 / 3, dtype=np.float32)
    prediction = Prediction(chances, np.zeros((3, 120), np.float32))
    arguments = (problem, distances, prediction)
    first, _ = round_graphs(*arguments, None, RefinedOptions(degree=5), Run())
    round_graphs(*arguments, first, RefinedOptions(degree=5), Run())
    assert first is not None
    assert begun == [None] * 3 + [graph.certificate.theta for graph in first]


def test_rounds_count_by_the_confidence_that_they_earn() -> None:
    # One node, four trials: both rounds lose confidence, gain much, gain 0.01, and gain 0.03 in
    # the first round and much in the second.
    base = _step([[0.8, 0.2]], [[0.6, 0.4]], [[0.6, 0.4]], [[0.6, 0.4]])
    first = _step([[0.7, 0.3]], [[0.9, 0.1]], [[0.61, 0.39]], [[0.63, 0.37]])
    second = _step([[0.3, 0.7]], [[0.2, 0.8]], [[0.39, 0.61]], [[0.3, 0.7]])
    steps = [base, first, second]
    run = Run()
    shares = step_shares(steps, RefinedOptions(), run)
    wanted = [[1, 0, 0], [0, 0.5, 0.5], [1, 0, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(shares, wanted, atol=1e-5)
    assert "their share of the result is 44 %" in run.notes[0]
    results = means(steps, shares)
    expected = [[0.8, 0.2], [0.55, 0.45], [0.6, 0.4], [0.4575, 0.5425]]
    for result, row in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.probabilities, [row], atol=1e-5)

    quiet = Run()
    trusting = step_shares(steps, RefinedOptions(safeguard=None), quiet)
    assert trusting.tolist() == [[0, 0.5, 0.5]] * 4
    last = step_shares(steps, RefinedOptions(average="last"), Run())
    np.testing.assert_allclose(last, [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]], atol=1e-5)
    assert step_shares([base], RefinedOptions(rounds=0), quiet).tolist() == [[1]] * 4
    assert not quiet.notes


def test_a_hair_of_confidence_changes_the_prediction_by_a_hair() -> None:
    base = _step(*[[[0.6, 0.4]]] * 2000)
    confidence = np.linspace(0.55, 0.7, 2000)
    later = _step(*[[[1 - sure, sure]] for sure in confidence])
    shares = step_shares([base, later], RefinedOptions(rounds=1), Run())
    found = np.array([one.probabilities for one in means([base, later], shares)])
    assert shares[0, 0] == 1.0
    assert shares[-1, 1] == 1.0
    assert np.abs(np.diff(found, axis=0)).max() < 0.002
