"""What a user meets: the posterior of a learned graph, and the slack of pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from truegraph import InputError, LearnedGraph, learn_bipartite_graph, learn_graph
from truegraph.learning import EmbeddingDistance
from truegraph.learning.posterior.graph_posterior import GraphPosterior

METHODS = ["mean-field", "gibbs"]
POINTS = np.random.default_rng(0).normal(size=(80, 3))


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    return paper_graph(POINTS, degree=6, random_state=0).named(f"n{i}" for i in range(80))


@pytest.fixture(scope="module", params=METHODS)
def posterior(request: pytest.FixtureRequest, graph: LearnedGraph) -> GraphPosterior:
    return graph.posterior(request.param, random_state=0)


def _same_pattern(matrix: csr_array, graph: LearnedGraph) -> bool:
    pattern = graph.candidates
    return np.array_equal(matrix.indices, pattern.indices) and np.array_equal(
        matrix.indptr, pattern.indptr
    )


def test_matrices_are_symmetric_and_on_the_candidates(
    posterior: GraphPosterior, graph: LearnedGraph
) -> None:
    low, high = posterior.interval(0.9)
    for matrix in (posterior.mean, posterior.std, posterior.inclusion(), low, high):
        assert _same_pattern(matrix, graph)
        assert np.array_equal(matrix.toarray(), matrix.toarray().T)
    assert (low.data <= high.data).all()
    assert ((low.data <= posterior.mean.data) & (posterior.mean.data <= high.data)).mean() > 0.999


def test_the_default_concentration_is_stated(
    posterior: GraphPosterior, graph: LearnedGraph
) -> None:
    mean = graph.adjacency.data.mean()
    assert posterior.concentration == pytest.approx(2.0 / mean**2)
    assert posterior.threshold == pytest.approx(mean / 2.0)
    assert f"method={posterior.method!r}, concentration=" in repr(posterior)
    # an edge far from zero has half the mean weight as its standard deviation, at most
    assert posterior.std.data.max() < 1.15 * mean / 2.0
    assert 1.0 < posterior.mean.sum() / graph.adjacency.sum() < 1.3


def test_inclusion_falls_with_the_threshold(posterior: GraphPosterior) -> None:
    assert posterior.inclusion(0.0).data.min() == 1.0
    half, double = posterior.inclusion(), posterior.inclusion(4.0 * posterior.threshold)
    assert (double.data <= half.data).all()
    assert double.sum() < 0.5 * half.sum()
    assert half.data.min() < 0.2
    assert half.data.max() > 0.9


def test_degrees(posterior: GraphPosterior) -> None:
    sums = np.asarray(posterior.mean.sum(axis=1)).ravel()
    np.testing.assert_allclose(posterior.degree_mean, sums, rtol=1e-9)
    low, high = posterior.degree_interval(0.9)
    assert (low < posterior.degree_mean).all()
    assert (posterior.degree_mean < high).all()
    assert np.median((high - low) / posterior.degree_std) == pytest.approx(3.29, abs=0.15)
    # the coupling narrows the degrees below the sum of independent weights
    apart = np.sqrt(np.asarray((posterior.std**2).sum(axis=1)).ravel())
    assert (posterior.degree_std < 1.02 * apart).all()
    assert np.median(posterior.degree_std / apart) < 0.97


def test_intervals_hold_what_they_promise(graph: LearnedGraph) -> None:
    low, high = graph.posterior().interval(0.8)
    inside = [
        ((draw.data > low.data) & (draw.data < high.data)).mean()
        for draw in graph.posterior().sample(100, random_state=1)
    ]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_units_follow_alpha_and_beta(method: str) -> None:
    one = paper_graph(POINTS, theta=2.0, tol=1e-10)
    # theta = 1 / sqrt(2 alpha beta) and scale = sqrt(alpha / (2 beta)) = 3
    scaled = paper_graph(POINTS, alpha=1.5, beta=1.5 / 18.0, tol=1e-10)
    assert scaled.certificate.theta == pytest.approx(2.0)
    first, second = (g.posterior(method, random_state=0) for g in (one, scaled))
    assert second.concentration == pytest.approx(first.concentration, rel=1e-6)
    rtol = 1e-5 if method == "mean-field" else 0.2  # draws differ by the solver's rounding
    np.testing.assert_allclose(second.mean.data, 3.0 * first.mean.data, rtol=rtol, atol=0.1)
    assert second.mean.sum() == pytest.approx(3.0 * first.mean.sum(), rel=0.01)
    assert second.threshold == pytest.approx(3.0 * first.threshold, rel=1e-6)
    assert second.inclusion().sum() == pytest.approx(first.inclusion().sum(), rel=0.01)
    assert second.degree_std.sum() == pytest.approx(3.0 * first.degree_std.sum(), rel=0.02)
    high = [post.interval()[1].sum() for post in (first, second)]
    assert high[1] == pytest.approx(3.0 * high[0], rel=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_bipartite_graphs(method: str) -> None:
    rng = np.random.default_rng(0)
    graph = learn_bipartite_graph(rng.normal(size=(30, 3)), rng.normal(size=(20, 3)), degree=4)
    posterior = graph.posterior(method, random_state=0)
    assert posterior.biadjacency.shape == (30, 20)
    assert posterior.biadjacency.sum() == pytest.approx(posterior.mean.sum() / 2.0)
    draw = next(posterior.sample(1, random_state=0))
    assert draw[:30, :30].nnz == 0
    assert draw[30:, 30:].nnz == 0
    with pytest.raises(InputError, match="not bipartite"):
        _ = learn_graph(POINTS).posterior().biadjacency


def test_a_table_of_all_candidates(posterior: GraphPosterior, graph: LearnedGraph) -> None:
    table = posterior.to_pandas()
    columns = ["source", "target", "weight", "mean", "std", "inclusion", "lower", "upper"]
    assert list(table.columns) == columns
    assert len(table) == graph.candidates.nnz // 2
    assert (table["weight"] > 0.0).sum() == graph.n_edges
    for _, row in table.iloc[::37].iterrows():
        i, j = int(row["source"][1:]), int(row["target"][1:])
        assert row["weight"] == graph.adjacency[i, j]
        assert row["mean"] == posterior.mean[i, j]
        assert row["inclusion"] == posterior.inclusion()[i, j]
        assert row["lower"] == posterior.interval(0.9)[0][i, j]


def test_the_posterior_survives_saving(graph: LearnedGraph, tmp_path: Any) -> None:
    graph.save(tmp_path / "graph.npz")
    again = LearnedGraph.load(tmp_path / "graph.npz").posterior()
    assert np.array_equal(again.mean.data, graph.posterior().mean.data)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "exact"}, "method='exact' must be one of 'mean-field', 'gibbs'"),
        ({"concentration": 0.0}, "concentration=.* must be a finite number > 0"),
        ({"excess": 0.0}, "excess=.* must be a finite number >= 0.0001"),
        ({"excess": 0.1, "concentration": 1.0}, "concentration and excess are both given"),
        ({"method": "gibbs", "samples": 0}, "samples=0 must be"),
    ],
)
def test_bad_options_are_named(graph: LearnedGraph, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        graph.posterior(**options)


def test_bad_questions_are_named(graph: LearnedGraph) -> None:
    posterior = graph.posterior()
    for level in (0.0, 1.0, 90):
        with pytest.raises(InputError, match=r"level=.* must be"):
            posterior.interval(level)
    with pytest.raises(InputError, match=r"threshold=.* must be"):
        posterior.inclusion(-1.0)
    bare = replace(graph, candidates=csr_array((80, 80)))
    with pytest.raises(InputError, match="candidate pairs of this graph were not kept"):
        bare.posterior()


def test_slack_is_the_weight_of_an_edge_and_negative_elsewhere(graph: LearnedGraph) -> None:
    entries = graph.candidates.tocoo()
    pairs = np.column_stack([entries.row, entries.col])
    slack = graph.slack(pairs)
    weights = np.asarray(graph.adjacency[entries.row, entries.col]).ravel()
    np.testing.assert_allclose(np.maximum(slack, 0.0), weights, atol=1e-7)
    assert slack.min() < 0.0
    distance = EmbeddingDistance(POINTS)
    np.testing.assert_allclose(graph.slack(pairs, distance), slack, atol=1e-12)
    np.testing.assert_allclose(graph.slack(pairs, entries.data), slack, atol=1e-12)
    # it ranks pairs like their mean weight
    assert spearmanr(slack, graph.posterior().mean.data).statistic > 0.99


def test_slack_of_pairs_that_are_no_candidates(graph: LearnedGraph) -> None:
    far = np.unravel_index(np.argmax(((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2)), (80, 80))
    with pytest.raises(InputError, match=r"the pair \(\d+, \d+\) is not a candidate"):
        graph.slack([far])
    assert graph.slack([far], EmbeddingDistance(POINTS))[0] < 0.0
    with pytest.raises(InputError, match="pairs names node 80, outside 0 to 79"):
        graph.slack([(0, 80)])
    with pytest.raises(InputError, match="pairs has shape"):
        graph.slack([0, 1])
    with pytest.raises(InputError, match="distances has shape"):
        graph.slack([(0, 1)], [1.0, 2.0])
    # equal points have distance zero, which is stored
    points = np.vstack([POINTS, POINTS[:1]])
    assert paper_graph(points, degree=6).slack([(0, 80)])[0] > 0.0
