"""The interior point method for stiff problems: the same optimum, in few steps."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.learning.solve import solver
from truegraph.learning.solve.dual import Problem
from truegraph.learning.solve.interior import Interior
from truegraph.runtime.threads import thread_limit

THETA = 0.3


def heavy_tailed(seed: int, nodes: int = 400) -> csr_array:
    """Candidate pairs of points some of which lie far from all others: a stiff problem."""
    points = np.random.default_rng(seed).standard_t(0.9, size=(nodes, 3))
    return paper_graph(points, degree=5).candidates


def stepped(candidates: csr_array, steps: int) -> Interior:
    interior = Interior(Problem(candidates), THETA)
    for _ in range(steps):
        interior.step(1e-8)
    return interior


@pytest.mark.parametrize("seed", range(4))
def test_some_tens_of_steps_reach_the_optimum(seed: int) -> None:
    point = stepped(heavy_tailed(seed), 60).sharp()
    assert point.lam.max() > 1e4 * point.lam.min()
    assert point.relative_gap < 1e-10


def test_what_is_inside_stays_inside_and_symmetric() -> None:
    candidates = heavy_tailed(5)
    for steps in (0, 1, 5, 40):
        interior = stepped(candidates, steps)
        for entries in (interior._weights, interior._slacks):
            assert entries.min() > 0.0
            matrix = csr_array((entries, candidates.indices, candidates.indptr))
            assert abs(matrix - matrix.T).max() == 0.0


def test_the_bits_do_not_depend_on_the_threads() -> None:
    candidates = heavy_tailed(6)
    found = []
    for threads in (1, 2):
        with thread_limit(threads):
            found.append(stepped(candidates, 12).sharp().pairs)
    assert np.array_equal(*found)


@pytest.mark.parametrize("seed", range(3))
def test_a_rough_solve_counts_edges_and_can_be_continued(seed: int) -> None:
    candidates = heavy_tailed(seed)
    rough = solver.solve(candidates, THETA, tol=1e-2, rough=True)
    assert rough.stalled
    exact = solver.solve(candidates, THETA, tol=1e-9, start=rough)
    assert exact.converged
    assert rough.degree == pytest.approx(exact.degree, rel=0.02)
    alone = solver.solve(candidates, THETA, tol=1e-9)
    assert exact.iterations <= alone.iterations + 5
    assert np.allclose(exact.weights, alone.weights, rtol=1e-3, atol=1e-6)
