"""The solver's own interface: forms, warm starts, progress, and its linear systems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lab.known_problems import dual_bound, paper_graph, primal_objective
from scipy.sparse import csr_array

from truegraph.learning.solve import primal_dual, solver
from truegraph.learning.solve.solver import one_parameter_form


@pytest.fixture(scope="module")
def candidates() -> csr_array:
    points = np.random.default_rng(71).standard_t(2.0, size=(300, 3))
    return paper_graph(points, degree=8).candidates


def test_the_papers_two_parameters() -> None:
    """The paper's beta |A|_F^2 counts every pair twice: a = alpha, b = 2 beta."""
    theta, scale = one_parameter_form(alpha=3.0, beta=0.5)
    assert theta == pytest.approx(1.0 / math.sqrt(3.0))
    assert scale == pytest.approx(math.sqrt(3.0))
    assert one_parameter_form(alpha=1.0, beta=0.5) == (1.0, 1.0)


@pytest.mark.parametrize("solve", [solver.solve, primal_dual.solve])
def test_the_solution_certifies_itself(solve: object, candidates: csr_array) -> None:
    solution = solve(candidates, 2.0, tol=1e-4, max_iter=5000)
    graph = csr_array(
        (solution.weights, candidates.indices, candidates.indptr), shape=candidates.shape
    )
    assert solution.primal == pytest.approx(primal_objective(graph, candidates, 2.0), rel=1e-9)
    bound = dual_bound(solution.multipliers, candidates, 2.0)
    assert solution.dual == pytest.approx(bound, rel=1e-9)
    assert solution.degree == np.count_nonzero(solution.weights) / 300


def test_a_solution_is_its_own_best_start(candidates: csr_array) -> None:
    cold = solver.solve(candidates, 3.0, tol=1e-10)
    warm = solver.solve(candidates, 3.0, tol=1e-10, start=cold)
    assert warm.iterations - cold.iterations <= 1
    near = solver.solve(candidates, 3.1, tol=1e-10, start=cold)
    from_nothing = solver.solve(candidates, 3.1, tol=1e-10)
    assert near.primal == pytest.approx(from_nothing.primal, rel=1e-9)
    assert near.iterations - cold.iterations < from_nothing.iterations


@pytest.mark.parametrize("solve", [solver.solve, primal_dual.solve])
def test_every_step_is_reported(solve: object, candidates: csr_array) -> None:
    seen: list[tuple[int, float]] = []
    solution = solve(
        candidates, 2.0, tol=1e-3, max_iter=3000, on_step=lambda i, gap: seen.append((i, gap))
    )
    numbers = [number for number, _ in seen]
    assert numbers == sorted(numbers)
    assert numbers[-1] == solution.iterations
    assert seen[-1][1] < seen[0][1]
