"""Instances on which plain methods stall: the paper's distance on Cora, and small relatives."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import dual_bound, paper_graph, primal_objective
from scipy.sparse import csr_array

from truegraph import LearnedGraph
from truegraph.learning import SumDistance


def assert_certified(graph: LearnedGraph, gap: float) -> None:
    """Check the certificate, and check it again without the solver."""
    certificate, theta = graph.certificate, graph.certificate.theta
    assert certificate.converged
    assert certificate.relative_gap <= gap
    primal = primal_objective(graph.adjacency, graph.candidates, theta)
    dual = dual_bound(graph.multipliers, graph.candidates, theta)
    assert (primal - dual) / max(1.0, abs(primal)) <= gap + 1e-13


@pytest.mark.large
@pytest.mark.parametrize("degree", [5, 10, 20, 50, 100, 200])
def test_the_papers_distance_for_a_wanted_degree(cora_distance: SumDistance, degree: float) -> None:
    graph = paper_graph(cora_distance, degree=degree, tol=1e-08)
    assert graph.certificate.degree == pytest.approx(degree, rel=0.01)
    assert_certified(graph, 1e-8)


def nearest_candidates(distance: SumDistance, count: int) -> csr_array:
    """Return the distances of the union of every node's nearest `count`, by brute force."""
    nodes = distance.n_nodes
    rows, columns = np.divmod(np.arange(nodes**2), nodes)
    values = distance.pair_values(rows, columns).reshape(nodes, nodes)
    np.fill_diagonal(values, np.inf)
    pattern = np.zeros((nodes, nodes), dtype=bool)
    nearest = np.argsort(values, axis=1, kind="stable")[:, :count]
    np.put_along_axis(pattern, nearest, True, axis=1)
    rows, columns = np.nonzero(pattern | pattern.T)
    # Some distances are zero; built this way they stay stored.
    return csr_array((distance.pair_values(rows, columns), (rows, columns)), shape=(nodes, nodes))


@pytest.mark.large
@pytest.mark.parametrize("theta", [2.0, 4.0])
def test_the_instances_on_which_newton_stalls(cora_distance: SumDistance, theta: float) -> None:
    candidates = nearest_candidates(cora_distance, 30)
    graph = paper_graph(candidates, metric="precomputed", theta=theta, tol=1e-08)
    assert_certified(graph, 1e-8)
    assert 15.0 < graph.certificate.degree < 25.0
    assert graph.multipliers.max() / graph.multipliers.min() > 1e3


@pytest.mark.parametrize("theta", [1.0, 1e2, 1e4])
def test_a_star_whose_leaves_differ_in_scale(theta: float) -> None:
    """The multiplier of the hub must follow all leaves, whose distances span six decades."""
    leaves = 40
    hub = np.zeros((leaves + 1, leaves + 1))
    hub[0, 1:] = hub[1:, 0] = np.logspace(-3, 3, leaves)
    graph = paper_graph(csr_array(hub), metric="precomputed", theta=theta, tol=1e-08)
    assert_certified(graph, 1e-8)


@pytest.mark.parametrize("theta", [1.0, 1e2, 1e4])
def test_a_chain_of_outliers(theta: float) -> None:
    """Every point is farther out than all before: each can only hold on to its predecessor."""
    points = np.cumsum(1.5 ** np.arange(30))[:, None] / 1.5**20
    graph = paper_graph(points, theta=theta, candidate_ratio=10, tol=1e-08)
    assert_certified(graph, 1e-8)


@pytest.mark.parametrize("degree", [3, 10, 30])
def test_heavy_tails(degree: float) -> None:
    points = np.random.default_rng(41).standard_cauchy(size=(800, 4))
    graph = paper_graph(points, degree=degree, tol=1e-08)
    assert_certified(graph, 1e-8)


@pytest.mark.parametrize("degree", [3, 10])
def test_clusters_of_very_different_scale(degree: float) -> None:
    rng = np.random.default_rng(42)
    scale = np.repeat(10.0 ** np.arange(-2, 3), 80)[:, None]
    points = 1e3 * np.repeat(np.arange(5), 80)[:, None] + scale * rng.normal(size=(400, 3))
    graph = paper_graph(points, degree=degree, tol=1e-08)
    assert_certified(graph, 1e-8)


@pytest.mark.parametrize("value", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("scope", ["candidates", "global"])
def test_a_forgotten_placeholder_value(value: float, scope: str) -> None:
    """One row holds a number such as 999999 for "missing": it still gets its edges."""
    points = np.random.default_rng(43).normal(size=(60, 2))
    points[7] = value
    graph = paper_graph(points, degree=5, scope=scope, tol=1e-08)
    assert_certified(graph, 1e-8)
    assert graph.certificate.degree == pytest.approx(5.0, rel=0.01)
