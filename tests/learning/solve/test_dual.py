"""The dual at a point: derivatives against differences, and a bound that holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lab.known_problems import dual_bound, primal_objective
from scipy.sparse import csr_array

from truegraph.learning.solve.dual import DualPoint, Problem, moved_multipliers

THETA = 0.7


def some_point(seed: int = 0) -> DualPoint:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 2))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    lam = rng.uniform(2.0, 4.0, 12)
    return DualPoint(Problem(csr_array(distances)), THETA, np.column_stack([lam, np.zeros(12)]))


def test_the_gradient_is_the_derivative_for_relative_changes() -> None:
    point, step = some_point(), 1e-6
    for node in range(3):
        change = np.zeros(12)
        change[node] = step
        slope = (point.moved(change, 1.0).value - point.moved(-change, 1.0).value) / (2 * step)
        assert point.gradient[node] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_value_and_gap_are_those_of_the_definition() -> None:
    point = some_point()
    candidates = point.problem.candidates
    assert point.dual == pytest.approx(dual_bound(point.lam, candidates, THETA))
    graph = csr_array(
        (point.edge_weights(), candidates.indices, candidates.indptr), shape=candidates.shape
    )
    primal = primal_objective(graph, candidates, THETA)
    assert point.gap == pytest.approx(primal - point.dual)
    assert point.gap > 0.0


def test_newtons_steps_close_the_gap() -> None:
    point = some_point()
    for _ in range(30):
        step, _ = point.newton_step()
        length = 1.0
        while length > 1e-6 and point.moved(step, length).value > point.value:
            length /= 2
        point = point.moved(step, length)
    assert point.relative_gap < 1e-9


def test_a_node_without_weight_has_an_infinite_gap() -> None:
    pairs = np.column_stack([np.full(3, 1e-3), np.zeros(3)])
    problem = Problem(csr_array(np.ones((3, 3)) - np.eye(3)))
    assert math.isinf(DualPoint(problem, 1.0, pairs).gap)


def test_multipliers_keep_what_rounding_would_lose() -> None:
    moved = moved_multipliers(np.array([[1.0, 0.0]]), np.array([1e-20]))
    assert moved.tolist() == [[1.0, 1e-20]]


def test_a_step_is_that_of_its_own_point_whoever_was_evaluated_last() -> None:
    point = some_point()
    before = point.newton_step()[0]
    other = point.moved(np.full(12, 0.3), 1.0)
    assert point.problem.owner is other
    np.testing.assert_array_equal(point.newton_step()[0], before)
