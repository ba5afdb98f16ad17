"""Newton's method: its budget, and where it gives up."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.errors import ConvergenceWarning
from truegraph.learning.solve import newton, solver


@pytest.fixture(scope="module")
def stiff() -> csr_array:
    points = np.random.default_rng(41).standard_cauchy(size=(400, 4))
    return paper_graph(points, degree=5).candidates


@pytest.mark.parametrize("share", [1e-5, 1e-4, 1e-3])
def test_a_solve_out_of_budget_is_feasible_and_says_so(
    stiff: csr_array, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = solver.solve(stiff, 3.0, tol=1e-8)
    assert whole.converged
    assert not whole.exhausted
    monkeypatch.setattr(solver, "budget", lambda *given: share * newton.budget(*given))
    first, again = (solver.solve(stiff, 3.0, tol=1e-8) for _ in range(2))
    assert first.exhausted
    assert not first.converged
    assert first.relative_gap > 1e-8
    assert first.dual <= whole.primal + 1e-9
    assert first.primal >= whole.dual - 1e-9
    graph = csr_array((first.weights, stiff.indices, stiff.indptr), shape=stiff.shape)
    assert (graph.sum(axis=1) > 0.0).all()
    np.testing.assert_array_equal(first.weights, again.weights)


def test_the_search_for_a_degree_ends_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "budget", lambda *given: 1e-5 * newton.budget(*given))
    solves = []
    solve = solver.solve
    monkeypatch.setattr(
        "truegraph.learning.core.solve_newton",
        lambda *given, **options: solves.append(1) or solve(*given, **options),
    )
    points = np.random.default_rng(41).standard_cauchy(size=(400, 4))
    with pytest.warns(ConvergenceWarning, match=r"Raise max_iter or tol, or even out"):
        graph = paper_graph(points, degree=3, tol=1e-08)
    assert not graph.certificate.converged
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    assert len(solves) <= 4
