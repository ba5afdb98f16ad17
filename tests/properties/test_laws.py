"""Laws that hold for every input: symmetry, scale, weak duality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.known_problems import dual_bound, paper_graph, primal_objective
from scipy.sparse import csr_array

from truegraph import LearnedGraph, learn_bipartite_graph

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)


def points_of(seed: int, kind: str, count: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "heavy tail":
        return rng.standard_t(2.0, size=(count, 3))
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(count // 3, 3)), 3, axis=0)
    return rng.normal(size=(count, 3))


KINDS = st.sampled_from(["normal", "heavy tail", "duplicates"])


def assert_same_graph(found: csr_array, wanted: csr_array, accuracy: float) -> None:
    assert abs(found - wanted).max() <= accuracy * wanted.max()


@given(seed=SEEDS, kind=KINDS)
@REPEATABLE
def test_permuting_the_nodes_permutes_the_graph(seed: int, kind: str) -> None:
    points = points_of(seed, kind)
    # Fixed ratio 100: all pairs are candidates, for among ties the lists depend on the numbering.
    options = {"options": {"theta": 1.5, "candidate_ratio": 100.0, "tol": 1e-13}}
    graph = paper_graph(points, **options)
    order = np.random.default_rng(seed).permutation(len(points))
    permuted = paper_graph(points[order], **options)
    assert_same_graph(permuted.adjacency, graph.adjacency[order][:, order], 1e-6)


@given(seed=SEEDS, kind=KINDS)
@REPEATABLE
def test_permuting_the_nodes_keeps_the_degree(seed: int, kind: str) -> None:
    points = points_of(seed, "normal" if kind == "duplicates" else kind)
    order = np.random.default_rng(seed).permutation(len(points))
    graph = paper_graph(points, degree=6, tol=1e-12)
    permuted = paper_graph(points[order], degree=6, tol=1e-12)
    assert permuted.certificate.theta == pytest.approx(graph.certificate.theta, rel=1e-6)
    assert_same_graph(permuted.adjacency, graph.adjacency[order][:, order], 1e-4)


@given(
    seed=SEEDS,
    kind=KINDS,
    alpha=st.floats(0.01, 100.0),
    beta=st.floats(0.01, 100.0),
)
@REPEATABLE
def test_two_parameters_are_one_and_a_scale(
    seed: int, kind: str, alpha: float, beta: float
) -> None:
    """W*(D, a, b) = sqrt(a/b) W*(theta D, 1, 1) with a = alpha, b = 2 beta, theta = 1/sqrt(ab)."""
    points = points_of(seed, kind, 30)
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    theta = 1.0 / np.sqrt(2.0 * alpha * beta)
    two = paper_graph(distances, metric="precomputed", alpha=alpha, beta=beta, tol=1e-13)
    one = paper_graph(theta * distances, metric="precomputed", alpha=1.0, beta=0.5, tol=1e-13)
    assert_same_graph(two.adjacency, np.sqrt(alpha / (2.0 * beta)) * one.adjacency, 1e-6)
    assert two.certificate.theta == pytest.approx(theta)


@given(seed=SEEDS, kind=KINDS, power=st.integers(-26, 26), theta=st.floats(0.1, 10.0))
@REPEATABLE
def test_scaling_distances_and_theta_inversely_changes_nothing(
    seed: int, kind: str, power: int, theta: float
) -> None:
    points = points_of(seed, kind)
    scale = 2.0**power  # a power of two, so that no bit may change
    graph = paper_graph(points, theta=theta)
    scaled = paper_graph(scale * points, theta=theta / scale**2)
    assert (scaled.adjacency != graph.adjacency).nnz == 0


@given(seed=SEEDS, kind=KINDS, exponent=st.floats(-8.0, 8.0))
@REPEATABLE
def test_the_unit_of_the_points_does_not_matter_for_a_wanted_degree(
    seed: int, kind: str, exponent: float
) -> None:
    points = points_of(seed, kind)
    scale = 10.0**exponent
    graph = paper_graph(points, degree=5, tol=1e-12)
    scaled = paper_graph(scale * points, degree=5, tol=1e-12)
    assert scaled.certificate.theta * scale**2 == pytest.approx(graph.certificate.theta, rel=1e-6)
    assert_same_graph(scaled.adjacency, graph.adjacency, 1e-4)


def recomputed(graph: LearnedGraph) -> tuple[float, float]:
    """Return the primal and the dual value from the graph's own arrays, with SciPy alone."""
    weights = graph.adjacency / graph.certificate.scale
    theta = graph.certificate.theta
    return (
        primal_objective(weights, graph.candidates, theta),
        dual_bound(graph.multipliers, graph.candidates, theta),
    )


@pytest.mark.filterwarnings("ignore::truegraph.errors.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "primal-dual"])
@pytest.mark.parametrize("max_iter", [1, 20, 300])
@pytest.mark.parametrize("kind", ["normal", "heavy tail", "duplicates"])
@pytest.mark.parametrize(
    "density",
    [(6, {}), ("auto", {"theta": 3.0}), ("auto", {"alpha": 4.0, "beta": 0.1})],
    ids=str,
)
def test_the_certificate_is_what_the_graph_gives(
    solver: str, max_iter: int, kind: str, density: tuple[float | str, dict[str, float]]
) -> None:
    graph = paper_graph(
        points_of(8, kind),
        density[0],
        options={**density[1], "solver": solver, "max_iter": max_iter},
    )
    primal, dual = recomputed(graph)
    certificate = graph.certificate
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual == pytest.approx(dual, rel=1e-9)
    assert dual <= primal + 1e-12 * abs(primal)
    gap = (primal - dual) / max(1.0, abs(primal))
    assert certificate.relative_gap == pytest.approx(gap, rel=1e-6, abs=1e-12)
    assert certificate.converged == (certificate.relative_gap <= certificate.tolerance)
    assert certificate.degree == graph.adjacency.nnz / graph.n_nodes


@given(seed=SEEDS, kind=KINDS, theta=st.floats(0.05, 20.0))
@REPEATABLE
def test_the_bound_is_below_every_graph(seed: int, kind: str, theta: float) -> None:
    """However early the solver stops, the dual bounds the optimum and all other graphs."""
    points = points_of(seed, kind, 42)
    rough = paper_graph(points, theta=theta, candidate_ratio=100.0, tol=0.5)
    fine = paper_graph(points, theta=theta, candidate_ratio=100.0, tol=1e-12)
    optimum = primal_objective(fine.adjacency, fine.candidates, theta)
    slack = 1e-11 * max(1.0, abs(optimum))
    assert rough.certificate.dual <= optimum + slack
    assert optimum <= rough.certificate.primal + slack
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1, 1.0):
        noise = size * rng.random((42, 42))
        other = csr_array(np.triu(fine.adjacency.toarray() * (1.0 + noise) + 1e-3 * noise, 1))
        other = csr_array(other + other.T)
        assert primal_objective(other, fine.candidates, theta) >= optimum - slack


@given(seed=SEEDS)
@REPEATABLE
def test_swapping_users_and_items_transposes_the_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(12, 2)), rng.normal(size=(20, 2))
    options = {"options": {"theta": 1.0, "candidate_ratio": 100.0, "tol": 1e-13}}
    there = learn_bipartite_graph(users, items, **options).biadjacency
    back = learn_bipartite_graph(items, users, **options).biadjacency
    assert_same_graph(csr_array(back.T), there, 1e-6)


@given(seed=SEEDS, kind=KINDS)
@REPEATABLE
def test_a_larger_theta_gives_a_smaller_total_weight(seed: int, kind: str) -> None:
    points = points_of(seed, kind)
    graphs = [paper_graph(points, theta=theta, tol=1e-10) for theta in (0.1, 1.0, 10.0)]
    totals = [(graph.adjacency.multiply(graph.candidates)).sum() for graph in graphs]
    assert totals == sorted(totals, reverse=True)
