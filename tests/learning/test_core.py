"""Optimal among all pairs: equal to a dense solve, and never claimed wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph

from truegraph import LearnedGraph
from truegraph.learning import (
    CosineDistance,
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)


def all_values(distance: Distance) -> np.ndarray:
    """Return the dense matrix of all distances."""
    nodes = distance.n_nodes
    rows, columns = np.divmod(np.arange(nodes**2), nodes)
    return distance.pair_values(rows, columns).reshape(nodes, nodes)


def squared_distances(points: np.ndarray) -> np.ndarray:
    return ((points[:, None] - points) ** 2).sum(axis=2)


def points_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(31)
    if kind == "heavy tail":
        return rng.standard_t(1.0, size=(150, 2))
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(50, 2)), 3, axis=0)
    if kind == "outlier":
        return np.vstack([rng.normal(size=(149, 2)), [[40.0, 40.0]]])
    return rng.normal(size=(150, 3))


@pytest.mark.parametrize("kind", ["normal", "heavy tail", "duplicates", "outlier"])
@pytest.mark.parametrize("theta", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_it_equals_the_dense_solve(kind: str, theta: float, ratio: float) -> None:
    points = points_of(kind)
    dense = paper_graph(squared_distances(points), metric="precomputed", theta=theta, tol=1e-12)
    graph = paper_graph(points, scope="global", theta=theta, candidate_ratio=ratio, tol=1e-12)
    assert dense.certificate.scope == graph.certificate.scope == "global"
    assert abs(graph.adjacency - dense.adjacency).max() < 1e-6
    assert graph.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("kind", ["normal", "heavy tail"])
def test_a_wanted_degree_is_met_among_all_pairs(kind: str) -> None:
    points = points_of(kind)
    graph = paper_graph(points, degree=4, scope="global", candidate_ratio=1.0, tol=1e-12)
    assert graph.certificate.degree == pytest.approx(4.0, rel=0.01)
    dense = paper_graph(
        squared_distances(points), metric="precomputed", theta=graph.certificate.theta, tol=1e-12
    )
    assert abs(graph.adjacency - dense.adjacency).max() < 1e-6


@pytest.mark.parametrize("ratio", [1.0, 3.0])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("kind", ["one place", "line", "pairs", "zeros and ones"])
def test_ties_and_a_wanted_degree(kind: str, metric: str, ratio: float) -> None:
    """No theta gives the wanted degree here; what is returned is optimal all the same."""
    rng = np.random.default_rng(35)
    points = {
        "one place": np.ones((25, 2)),
        "line": np.arange(40.0)[:, None],
        "pairs": np.repeat(rng.normal(size=(15, 2)), 2, axis=0),
        "zeros and ones": (rng.random((40, 6)) < 0.3).astype(float),
    }[kind]
    graph = paper_graph(
        points, degree=3, metric=metric, scope="global", candidate_ratio=ratio, tol=1e-12
    )
    distance = CosineDistance(points) if metric == "cosine" else EmbeddingDistance(points)
    dense = paper_graph(
        all_values(distance), metric="precomputed", theta=graph.certificate.theta, tol=1e-12
    )
    assert graph.certificate.scope == "global"
    assert abs(graph.adjacency - dense.adjacency).max() < 1e-6
    assert graph.certificate.degree == graph.adjacency.nnz / len(points)


def violated_pairs(points: np.ndarray, multipliers: np.ndarray, theta: float) -> int:
    """Count, over all pairs, those outside the graph's candidates that ask for weight."""
    slack = 0.5 * (multipliers[:, None] + multipliers) - theta * squared_distances(points)
    return int((np.triu(slack, 1) > 1e-9).sum())


@pytest.mark.parametrize("kind", ["normal", "heavy tail", "outlier"])
def test_a_short_list_is_not_called_global(kind: str) -> None:
    """With lists as short as the wanted degree the optimum needs pairs outside them."""
    points = points_of(kind)
    short = paper_graph(points, degree=6, candidate_ratio=1.0, tol=1e-12)
    theta = short.certificate.theta
    violated = violated_pairs(points, short.multipliers, theta)
    among_candidates = (short.adjacency.nnz) // 2
    assert violated > among_candidates
    assert short.certificate.scope == "candidates"
    best = paper_graph(points, scope="global", theta=theta, tol=1e-12)
    assert best.certificate.primal < short.certificate.primal - 1e-3


@pytest.mark.parametrize("kind", ["normal", "heavy tail", "duplicates", "outlier"])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0, 5.0, 30.0])
def test_global_is_claimed_only_where_it_is_true(kind: str, ratio: float) -> None:
    """The cheap proof may miss an optimum, but never claims one that is none."""
    points = points_of(kind)
    graph = paper_graph(points, degree=5, candidate_ratio=ratio, tol=1e-12)
    if graph.certificate.scope == "global":
        dense = paper_graph(
            squared_distances(points),
            metric="precomputed",
            theta=graph.certificate.theta,
            tol=1e-12,
        )
        assert abs(graph.adjacency - dense.adjacency).max() < 1e-6
    else:
        assert ratio < 30.0


def test_approximate_search_is_never_called_global() -> None:
    points = np.random.default_rng(32).normal(size=(500, 3))
    for engine in ("ivf", "sketch"):
        graph = paper_graph(points, degree=4, candidates=engine, random_state=0, candidate_ratio=10)
        assert graph.certificate.scope == "candidates"
        assert graph.certificate.search == engine


def test_the_papers_distance_on_small_data() -> None:
    rng = np.random.default_rng(34)
    shares = rng.dirichlet(0.1 * np.ones(4), size=200)
    distance = SumDistance(
        EmbeddingDistance(rng.normal(size=(200, 4))), LabelDisagreement.from_shares(shares)
    )
    graph = paper_graph(distance, degree=8, scope="global", tol=1e-12)
    dense = paper_graph(
        all_values(distance), metric="precomputed", theta=graph.certificate.theta, tol=1e-12
    )
    assert abs(graph.adjacency - dense.adjacency).max() < 1e-6
    assert graph.certificate.degree == pytest.approx(8.0, rel=0.01)


@pytest.mark.large
@pytest.mark.parametrize("degree", [100, 200])
def test_the_papers_distance_on_cora(cora_distance: SumDistance, degree: float) -> None:
    graph = paper_graph(cora_distance, degree=degree, scope="global", tol=1e-12)
    assert graph.certificate.scope == "global"
    assert graph.certificate.degree == pytest.approx(degree, rel=0.01)
    dense = paper_graph(
        all_values(cora_distance), metric="precomputed", theta=graph.certificate.theta, tol=1e-12
    )
    assert dense.certificate.candidate_pairs == 2485 * 2484 // 2
    assert abs(graph.adjacency - dense.adjacency).max() < 1e-6


@pytest.mark.large
def test_the_usual_lists_are_too_short_for_the_papers_distance(cora_distance: SumDistance) -> None:
    """Three times the wanted degree leaves tens of thousands of pairs that ask for weight."""
    short = paper_graph(cora_distance, degree=10)
    assert short.certificate.scope == "candidates"
    lam, values = short.multipliers, all_values(cora_distance)
    asking = 0.5 * (lam[:, None] + lam) > short.certificate.theta * values
    entries = short.candidates.tocoo()
    asking[entries.row, entries.col] = False
    assert np.triu(asking, 1).sum() > 10_000


@pytest.mark.parametrize(("degree", "theta"), [(4, None), ("auto", 2.0)])
def test_the_papers_solver_finds_the_missing_pairs_too(degree: Any, theta: Any) -> None:
    points = np.random.default_rng(8).uniform(size=(40, 2))

    def learned(scope: str, **options: Any) -> LearnedGraph:
        options |= {"theta": theta, "candidate_ratio": 1.0, "max_iter": 20_000}
        return paper_graph(points, degree, scope=scope, options=options)

    paper, newton = learned("global", solver="primal-dual"), learned("global")
    assert paper.certificate.scope == newton.certificate.scope == "global"
    assert paper.certificate.primal == pytest.approx(newton.certificate.primal, rel=1e-2)
    short = learned("candidates")
    assert paper.certificate.candidate_pairs > short.certificate.candidate_pairs
