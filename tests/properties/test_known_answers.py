"""Problems with a known answer, from `lab.known_problems`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.known_problems import (
    KnownProblem,
    dual_bound,
    paper_graph,
    planted_clusters,
    primal_objective,
    regular_simplex,
    ring,
    two_nodes,
)
from scipy.sparse.csgraph import connected_components

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=40)


def assert_learned(problem: KnownProblem, accuracy: float = 1e-6) -> None:
    graph = paper_graph(problem.points, scope="global", theta=problem.theta, tol=1e-13)
    largest = problem.adjacency.max()
    assert abs(graph.adjacency - problem.adjacency).max() <= accuracy * largest
    assert graph.certificate.scope == "global"


@given(distance=st.floats(1e-8, 1e4), theta=st.floats(1e-3, 10.0))
@REPEATABLE
def test_two_nodes(distance: float, theta: float) -> None:
    problem = two_nodes(distance, theta)
    weight = problem.adjacency[0, 1]
    assert weight**2 + theta * distance * weight == pytest.approx(1.0)
    assert_learned(problem)


@given(nodes=st.integers(2, 30), theta=st.floats(1e-3, 1e2))
@REPEATABLE
def test_regular_simplex(nodes: int, theta: float) -> None:
    problem = regular_simplex(nodes, 2.0, theta)
    weight = problem.adjacency[0, 1]
    assert weight**2 + 2.0 * theta * weight == pytest.approx(1.0 / (nodes - 1))
    assert_learned(problem)


@given(nodes=st.integers(2, 60), theta=st.floats(1e-2, 1e3))
@REPEATABLE
def test_ring(nodes: int, theta: float) -> None:
    assert_learned(ring(nodes, theta), accuracy=1e-5)


def test_ring_by_hand() -> None:
    """Four nodes, squared distances 2, 2 and 4; theta large enough to cut the diagonals."""
    graph = ring(4, theta=1.0).adjacency.toarray()
    weight = (-2.0 + np.sqrt(4.0 + 4.0 / 2.0)) / 2.0  # w^2 + 2 w = 1/2
    wanted = weight * (np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0))
    np.testing.assert_allclose(graph, wanted, atol=1e-15)


def test_the_checks_know_the_optimum_of_the_simplex() -> None:
    """At the known optimum the bound of the multipliers 1 / degree meets the objective."""
    problem = regular_simplex(6, 1.5, 0.8)
    distances = problem.adjacency.copy()
    distances.data[:] = 1.5
    multipliers = 1.0 / problem.adjacency.sum(axis=1)
    primal = primal_objective(problem.adjacency, distances, 0.8)
    assert dual_bound(multipliers, distances, 0.8) == pytest.approx(primal, rel=1e-12)
    weight = problem.adjacency[0, 1]
    assert primal == pytest.approx(
        15 * (2 * 0.8 * 1.5 * weight + weight**2) - 6 * np.log(5 * weight)
    )
    assert primal_objective(1.1 * problem.adjacency, distances, 0.8) > primal
    assert dual_bound(1.1 * multipliers, distances, 0.8) < primal


@pytest.mark.parametrize("degree", [3, 6])
def test_planted_clusters_are_the_components(degree: float) -> None:
    points, labels = planted_clusters(5, 30, random_state=4)
    graph = paper_graph(points, degree=degree, scope="global")
    count, components = connected_components(graph.adjacency)
    across = graph.adjacency.tocoo()
    assert (labels[across.row] == labels[across.col]).all()
    assert count >= 5
    assert len(np.unique(components)) == count
