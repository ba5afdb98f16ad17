"""The learned graph against an independent convex solver (cvxpy with Clarabel)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab.known_problems import dual_bound, paper_graph, primal_objective
from scipy.sparse import coo_array, csr_array

from truegraph import learn_bipartite_graph

# No database and a fixed seed: every run of the suite tests the same problems.
REPEATABLE = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def distances_of(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the distances of `count` pairs, around one."""
    if kind == "continuous":
        return rng.exponential(size=count)
    if kind == "ties":
        return rng.integers(0, 4, size=count) / 2.0
    if kind == "mostly zero":
        return rng.exponential(size=count) * (rng.random(count) < 0.3)
    if kind == "all equal":
        return np.ones(count)
    return np.exp(2.0 * rng.normal(size=count))  # heavy tail


def candidate_matrix(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, nodes: int
) -> csr_array:
    """Store each pair both ways, zeros included."""
    ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return coo_array((np.concatenate([values, values]), ends), shape=(nodes, nodes)).tocsr()


@st.composite
def problems(draw: st.DrawFn) -> tuple[csr_array, float]:
    """Draw candidate distances (every node has a candidate) and a theta."""
    nodes = draw(st.integers(3, 40))
    density = draw(st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    kind = draw(st.sampled_from(["continuous", "ties", "mostly zero", "all equal", "heavy tail"]))
    scale = 10.0 ** draw(st.integers(-8, 8))
    strength = 10.0 ** draw(st.floats(-2.0, 1.5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = np.triu_indices(nodes, 1)
    wanted = rng.random(rows.size) < density
    # A random neighbour for every node, so that no node is left without a candidate.
    node = np.arange(nodes)
    other = (node + rng.integers(1, nodes, size=nodes)) % nodes
    wanted |= np.isin(
        rows * nodes + columns, np.minimum(node, other) * nodes + np.maximum(node, other)
    )
    rows, columns = rows[wanted], columns[wanted]
    values = scale * distances_of(kind, rows.size, rng)
    return candidate_matrix(rows, columns, values, nodes), strength / scale


def reference_objective(distances: csr_array, theta: float) -> float:
    """Solve the one-parameter form with Clarabel, in a unit in which it is well conditioned."""
    pairs = distances.tocoo()
    once = pairs.row < pairs.col
    rows, columns, z = pairs.row[once], pairs.col[once], theta * pairs.data[once]
    count, nodes = z.size, distances.shape[0]
    incidence = csr_array(
        (np.ones(2 * count), (np.concatenate([rows, columns]), np.tile(np.arange(count), 2))),
        shape=(nodes, count),
    )
    unit = 1.0 / (1.0 + np.median(z))  # w = unit * v
    v = cp.Variable(count, nonneg=True)
    objective = 2.0 * unit * (z @ v) + unit**2 * cp.sum_squares(v) - cp.sum(cp.log(incidence @ v))
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return float(problem.value) - nodes * np.log(unit)


def assert_optimal(
    adjacency: csr_array, distances: csr_array, theta: float, accuracy: float
) -> None:
    """Check the conditions of optimality with the multipliers that the graph itself implies."""
    pairs = distances.tocoo()
    dense = adjacency.toarray()
    w, z = dense[pairs.row, pairs.col], theta * pairs.data
    lam = 1.0 / dense.sum(axis=1)
    slack = 0.5 * (lam[pairs.row] + lam[pairs.col]) - z
    unit = 1.0 + np.maximum(lam[pairs.row], lam[pairs.col])
    assert (w >= 0.0).all()
    assert (np.abs(w - slack)[w > 0.0] <= accuracy * unit[w > 0.0]).all()
    assert (slack[w == 0.0] <= accuracy * unit[w == 0.0]).all()


@given(problem=problems())
@settings(REPEATABLE, max_examples=200)
def test_objective_and_optimality_on_random_problems(problem: tuple[csr_array, float]) -> None:
    distances, theta = problem
    graph = paper_graph(distances, metric="precomputed", theta=theta, tol=1e-11)
    found = primal_objective(graph.adjacency, distances, theta)
    wanted = reference_objective(distances, theta)
    assert abs(found - wanted) <= 1e-6 * max(1.0, abs(wanted))
    assert graph.certificate.converged
    assert_optimal(graph.adjacency, distances, theta, 1e-5)
    degrees = graph.adjacency.sum(axis=1)
    np.testing.assert_allclose(graph.multipliers * degrees, 1.0, atol=1e-5)
    # The lower bound is one: no solver finds less.
    bound = dual_bound(graph.multipliers, distances, theta)
    assert bound <= wanted + 1e-6 * max(1.0, abs(wanted))


@given(problem=problems(), size=st.floats(-8.0, 8.0))
@settings(REPEATABLE, max_examples=100)
def test_distances_far_from_theta(problem: tuple[csr_array, float], size: float) -> None:
    """The largest theta z from 1e-8 to 1e8; here the bound is the proof, for Clarabel gives up."""
    distances, _ = problem
    theta = 10.0**size / max(distances.data.max(), 1e-12)
    graph = paper_graph(distances, metric="precomputed", theta=theta)
    found = primal_objective(graph.adjacency, distances, theta)
    bound = dual_bound(graph.multipliers, distances, theta)
    assert found - bound <= 1.01e-6 * max(1.0, abs(found))


@pytest.mark.parametrize("size", [1e10, 1e12, 1e15, 1e100])
@pytest.mark.filterwarnings("ignore::truegraph.errors.ConvergenceWarning")
def test_distances_beyond_rounding_are_never_certified_wrongly(size: float) -> None:
    """Where theta z leaves no digit to the weights, the graph is feasible or honestly certified."""
    points = np.random.default_rng(2).normal(size=(20, 3))
    distances = candidate_matrix(
        *np.triu_indices(20, 1),
        ((points[:, None] - points) ** 2).sum(axis=2)[np.triu_indices(20, 1)],
        20,
    )
    graph = paper_graph(distances, metric="precomputed", theta=size)
    assert np.isfinite(graph.adjacency.data).all()
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    found = primal_objective(graph.adjacency, distances, size)
    bound = dual_bound(graph.multipliers, distances, size)
    honest = (found - bound) / max(1.0, abs(found))
    assert graph.certificate.relative_gap == pytest.approx(honest, rel=1e-3, abs=1e-12)
    assert graph.certificate.converged == (honest <= 1e-6)


def paper_objective(
    adjacency: cp.Expression, distances: np.ndarray, alpha: float, beta: float
) -> cp.Expression:
    """Equation 4 of the paper, as printed, on full matrices."""
    return (
        cp.sum(cp.abs(cp.multiply(adjacency, distances)))
        - alpha * cp.sum(cp.log(adjacency @ np.ones(distances.shape[0])))
        + beta * cp.sum_squares(adjacency)
    )


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("beta", [0.05, 0.5, 4.0])
def test_the_matrix_objective_as_printed_in_the_paper(alpha: float, beta: float) -> None:
    nodes = 7
    points = np.random.default_rng(3).normal(size=(nodes, 2))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    A = cp.Variable((nodes, nodes), symmetric=True)
    objective = paper_objective(A, distances, alpha, beta)
    problem = cp.Problem(cp.Minimize(objective), [A >= 0, cp.diag(A) == 0])
    problem.solve(solver=cp.CLARABEL)
    graph = paper_graph(distances, metric="precomputed", alpha=alpha, beta=beta, tol=1e-12)
    found = paper_objective(cp.Constant(graph.adjacency.toarray()), distances, alpha, beta)
    assert float(found.value) == pytest.approx(float(problem.value), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(graph.adjacency.toarray(), A.value, atol=1e-4 * A.value.max())


def test_users_and_items() -> None:
    rng = np.random.default_rng(5)
    users, items = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    graph = learn_bipartite_graph(
        users, items, options={"theta": 0.7, "candidate_ratio": 100.0, "tol": 1e-9}
    )
    z = ((users[:, None] - items) ** 2).sum(axis=2)
    rows, columns = np.divmod(np.arange(z.size), 40)
    distances = candidate_matrix(rows, 30 + columns, z.ravel(), 70)
    wanted = reference_objective(distances, 0.7)
    found = primal_objective(graph.adjacency, distances, 0.7)
    assert abs(found - wanted) <= 1e-6 * abs(wanted)
    assert graph.certificate.scope == "global"
