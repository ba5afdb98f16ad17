"""What happens when the solver may not finish, and how the two solvers agree."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import dual_bound, paper_graph, primal_objective

from truegraph import learn_bipartite_graph
from truegraph.errors import ConvergenceWarning


def points_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(21)
    if kind == "heavy tail":
        return rng.standard_t(1.2, size=(200, 3))
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(50, 3)), 4, axis=0)
    return rng.normal(size=(200, 3))


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize(
    ("solver", "kind", "density"),
    [
        # Newton's method solves the easier ones in two or three steps.
        ("newton", "heavy tail", {"theta": 8.0}),
        ("newton", "heavy tail", {"degree": 5}),
        ("newton", "normal", {"theta": 8.0}),
        ("primal-dual", "heavy tail", {"theta": 8.0}),
        ("primal-dual", "normal", {"degree": 5}),
        ("primal-dual", "duplicates", {"theta": 8.0}),
        ("primal-dual", "duplicates", {"degree": 5}),
    ],
    ids=str,
)
def test_too_few_iterations_give_a_warning_and_a_feasible_graph(
    solver: str, kind: str, density: dict[str, float], max_iter: int
) -> None:
    points = points_of(kind)
    with pytest.warns(ConvergenceWarning, match=rf"{solver} solver stopped after .*max_iter"):
        graph = paper_graph(
            points,
            density.get("degree", "auto"),
            theta=density.get("theta"),
            solver=solver,
            max_iter=max_iter,
            tol=1e-15,
        )
    certificate = graph.certificate
    assert not certificate.converged
    assert certificate.relative_gap > 1e-15
    if "theta" in density:  # a density search adds up the steps of its solves
        assert certificate.iterations <= max_iter
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    assert np.isfinite(graph.adjacency.data).all()
    assert np.isfinite([certificate.primal, certificate.dual, certificate.relative_gap]).all()
    theta = certificate.theta
    assert certificate.primal == pytest.approx(
        primal_objective(graph.adjacency, graph.candidates, theta), rel=1e-9
    )
    assert certificate.dual == pytest.approx(
        dual_bound(graph.multipliers, graph.candidates, theta), rel=1e-9
    )


def test_users_and_items_without_convergence() -> None:
    rng = np.random.default_rng(22)
    with pytest.warns(ConvergenceWarning, match="solver stopped"):
        graph = learn_bipartite_graph(
            rng.normal(size=(30, 2)),
            rng.normal(size=(60, 2)),
            options={"theta": 9.0, "max_iter": 1, "tol": 1e-15},
        )
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    assert graph.adjacency[:30, :30].nnz == 0
    assert graph.adjacency[30:, 30:].nnz == 0


@pytest.mark.parametrize("kind", ["normal", "duplicates"])
def test_the_papers_solver_reaches_newtons_objective(kind: str) -> None:
    points = points_of(kind)
    newton = paper_graph(points, degree=8, tol=1e-10)
    theta = newton.certificate.theta
    paper = paper_graph(points, theta=theta, solver="primal-dual", tol=1e-07, max_iter=20000)
    assert paper.certificate.solver == "primal-dual"
    assert paper.certificate.converged
    assert paper.certificate.primal == pytest.approx(newton.certificate.primal, rel=1e-6)
    assert abs(paper.adjacency - newton.adjacency).max() < 1e-2 * newton.adjacency.max()


def test_a_tighter_tolerance_is_never_worse() -> None:
    points = points_of("heavy tail")
    gaps = [
        paper_graph(points, degree=6, tol=tol).certificate.relative_gap
        for tol in (1e-2, 1e-6, 1e-10, 1e-13)
    ]
    assert all(gap <= tol for gap, tol in zip(gaps, (1e-2, 1e-6, 1e-10, 1e-13), strict=True))
