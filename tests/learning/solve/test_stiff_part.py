"""The stiff part: sweeps that solve most nodes, and the others solved together."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.learning.solve import solver, stiff_part
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.interior import Interior
from truegraph.learning.solve.newton import Newton


@pytest.fixture(scope="module")
def stiff() -> csr_array:
    """Return candidates whose distances span many orders of magnitude."""
    points = np.exp(1.5 * np.random.default_rng(3).normal(size=(1500, 5)))
    return paper_graph(points, degree=5).candidates


THETA = 0.3


def isolated(candidates: csr_array) -> DualPoint:
    return solver._first_point(candidates, THETA, None)


def flat_from(accuracy: float, point: DualPoint) -> bool:
    return point.relative_gap <= accuracy**2 and solver.is_flat(point, accuracy)


def test_sweeps_solve_nearly_all_nodes(stiff: csr_array) -> None:
    before = isolated(stiff)
    newton = Newton(500, None)
    after = stiff_part.first_sweeps(before, newton)
    unsolved = [float(np.mean(np.abs(p.gradient) > 0.1)) for p in (before, after)]
    assert unsolved[1] < 0.25 * unsolved[0]
    assert after.dual > before.dual
    assert newton.visits > 12 * stiff.nnz


def test_the_part_solve_leaves_all_other_nodes(stiff: csr_array) -> None:
    newton = Newton(500, None)
    point = stiff_part.first_sweeps(isolated(stiff), newton)
    inside = np.zeros(point.lam.size, dtype=bool)
    stiff_part._add_unsolved(point, 0.01, inside)
    assert 0 < inside.sum() < inside.size
    solved = stiff_part._part_solved(point, inside, 1e-4, newton)
    assert np.abs(solved.gradient[inside]).max() <= 1e-3
    np.testing.assert_array_equal(solved.pairs[~inside], point.pairs[~inside])
    assert solved.dual > point.dual


def test_the_solution_is_that_of_the_interior_point_method(stiff: csr_array) -> None:
    newton = Newton(500, None)
    swept = stiff_part.first_sweeps(isolated(stiff), newton)
    point = stiff_part.solve_stiff(swept, lambda p: flat_from(1e-5, p), 1e-5, newton)
    assert flat_from(1e-5, point)
    other = Newton(500, None).follow(Interior(Problem(stiff), THETA), lambda p: flat_from(1e-5, p))
    np.testing.assert_allclose(point.edge_weights(), other.edge_weights(), atol=2e-5)
    assert point.value == pytest.approx(other.value, rel=1e-9)


def test_the_solver_goes_that_way(stiff: csr_array) -> None:
    solution = solver.solve(stiff, THETA, tol=1e-10)
    assert solution.stalled
    assert solution.interior is None
    assert solution.converged
    rough = solver.solve(stiff, THETA, tol=1e-2, rough=True)
    assert rough.degree == pytest.approx(solution.degree, rel=0.02)
    again = solver.solve(stiff, THETA, tol=1e-10, start=rough)
    assert again.primal == pytest.approx(solution.primal, rel=1e-9)
