"""The mean field: its equations, its limits, and how near the exact posterior it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.stats import truncnorm

from truegraph import LearnedGraph
from truegraph.errors import ConvergenceWarning
from truegraph.learning.posterior import mean_field
from truegraph.learning.posterior.graph_posterior import usual_concentration
from truegraph.learning.posterior.mean_field import MeanField


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    points = np.random.default_rng(0).normal(size=(300, 4))
    return paper_graph(points, degree=8, random_state=0, tol=1e-10)


def _field(graph: LearnedGraph) -> MeanField:
    return MeanField(graph.candidates, graph.certificate.theta, graph.multipliers)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_the_solution_satisfies_its_equations(graph: LearnedGraph, factor: float) -> None:
    kappa = factor * usual_concentration(graph)
    point = _field(graph).solve(kappa)
    entries = graph.candidates.tocoo()
    x = 0.5 * (point.lam[entries.row] + point.lam[entries.col])
    x -= graph.certificate.theta * entries.data
    np.testing.assert_allclose(point.locations(), x, rtol=1e-9, atol=1e-12)
    spread = np.sqrt(0.5 / kappa)
    mean = truncnorm.mean(-x / spread, np.inf, loc=x, scale=spread)
    # scipy loses digits far in the tail, where the mean is tiny
    degree = np.bincount(entries.row, mean)
    np.testing.assert_allclose(point.lam * degree, 1.0, rtol=1e-5)
    assert abs(point.gap) < 1e-8


def test_starts_do_not_matter(graph: LearnedGraph) -> None:
    kappa = usual_concentration(graph)
    field = _field(graph)
    field.solve(100.0 * kappa)
    field.solve(0.01 * kappa)
    np.testing.assert_allclose(field.solve(kappa).lam, _field(graph).solve(kappa).lam, rtol=1e-5)


def test_a_large_concentration_gives_the_most_probable_graph(graph: LearnedGraph) -> None:
    mode = graph.adjacency.sum()
    for factor, accuracy in ((1e2, 1e-1), (1e4, 1e-2), (1e10, 1e-5)):
        post = graph.posterior(concentration=factor * usual_concentration(graph))
        assert abs(post.mean - graph.adjacency).sum() < accuracy * mode
        assert abs(post.std).max() < accuracy * post.threshold * 10.0
    np.testing.assert_allclose(post.degree_mean, 1.0 / graph.multipliers, rtol=1e-5)


def test_excess_is_met(graph: LearnedGraph) -> None:
    for excess in (0.01, 0.1, 2.0):
        total = graph.posterior(excess=excess).mean.sum()
        assert total / graph.adjacency.sum() - 1.0 == pytest.approx(excess, rel=2e-3)


def test_excess_makes_up_for_the_candidates() -> None:
    # More candidates mean more weight at the same concentration, not at the same excess.
    points = np.random.default_rng(1).normal(size=(200, 4))
    few, many = (paper_graph(points, 8, candidate_ratio=ratio) for ratio in (2.0, 10.0))
    same = [g.posterior(concentration=2.0).mean.sum() for g in (few, many)]
    assert same[1] > 1.5 * same[0]
    assert many.posterior(excess=0.1).concentration > few.posterior(excess=0.1).concentration


def test_too_few_steps_are_told_of(graph: LearnedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mean_field, "_MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="the mean field for concentration="):
        graph.posterior(concentration=0.01 * usual_concentration(graph))


def _compare(graph: LearnedGraph, **how: Any) -> tuple[float, float, float]:
    """Return relative errors: of the total weight, of degrees and of standard deviations."""
    quick = graph.posterior()
    exact = graph.posterior("gibbs", random_state=0, **how)
    total = quick.mean.sum() / exact.mean.sum() - 1.0
    degrees = np.median(np.abs(quick.degree_mean / exact.degree_mean - 1.0))
    spread = np.median(quick.std.data / exact.std.data) - 1.0
    assert np.median(quick.degree_std / exact.degree_std) == pytest.approx(1.0, abs=0.03)
    for a, b in zip(quick.degree_interval(), exact.degree_interval(), strict=True):
        assert np.median(a / b) == pytest.approx(1.0, abs=0.02)
    return abs(total), float(degrees), abs(spread)


def test_the_mean_field_is_near_the_exact_posterior(graph: LearnedGraph) -> None:
    total, degrees, spread = _compare(graph)
    assert total < 0.01
    assert degrees < 0.01
    assert spread < 0.03


@pytest.fixture(scope="module")
def cora(cora_distance: Any) -> LearnedGraph:
    return paper_graph(cora_distance, 100, candidate_ratio=1.5)


# Too short for the pairs of the smallest nodes; what is compared are medians and totals.
@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_the_mean_field_is_near_the_exact_posterior_on_cora(cora: LearnedGraph) -> None:
    total, degrees, spread = _compare(cora, samples=40, burn_in=15, thin=3)
    assert total < 0.002
    assert degrees < 0.002
    assert spread < 0.015


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
@pytest.mark.parametrize("concentration", [1e3, 1e6])
def test_a_large_concentration_on_cora_ends(cora: LearnedGraph, concentration: float) -> None:
    # A bad start of the search for the mode made rejection practically endless here.
    how = {"chains": 1, "burn_in": 0, "thin": 2, "random_state": 0}
    drawn = cora.posterior(concentration=concentration).sample(2, **how)
    matrices = list(drawn)
    facts = drawn.diagnostics
    assert facts.stuck == 0
    pairs = cora.candidates.nnz // 2
    assert facts.seconds < 5e-6 * facts.sweeps * pairs  # fifty times the usual
    assert matrices[-1].sum() == pytest.approx(cora.adjacency.sum(), rel=0.1)
