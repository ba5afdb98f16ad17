"""What an approximate search missed: its low quantile, and its effect on the objective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab.known_problems import paper_graph

from truegraph import LearnedGraph
from truegraph.learning.search.candidates import (
    NeighbourLists,
    candidate_graph,
    completeness,
    low_quantile,
    nearest_lists,
)
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.solve import solver


@pytest.fixture(scope="module")
def distance() -> EmbeddingDistance:
    return EmbeddingDistance(np.random.default_rng(5).normal(size=(250, 3)))


def solved(lists: NeighbourLists, distance: EmbeddingDistance) -> tuple[object, solver.Solution]:
    candidates = candidate_graph(lists, distance)
    return candidates, solver.solve(candidates, 2.0, tol=1e-12)


def without_the_nearest(lists: NeighbourLists, share: float) -> NeighbourLists:
    """Take the nearest neighbour out of the lists of some nodes."""
    bad = np.random.default_rng(6).random(250) < share
    kept = np.ones(lists.ids.size, dtype=bool)
    kept[lists.start[:-1][bad]] = False
    lengths = lists.lengths - bad
    start = np.concatenate([[0], np.cumsum(lengths)])
    return replace(lists, start=start, ids=lists.ids[kept], engine="ivf")


def test_a_perfect_search_misses_nothing(distance: EmbeddingDistance) -> None:
    lists = nearest_lists(distance, 20, engine="exact")
    candidates, solution = solved(lists, distance)
    low_recall, missed = completeness(lists, distance, candidates, solution.multipliers, 2.0)
    assert low_recall == 1.0
    assert missed == 0.0


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_the_bound_holds_for_what_the_objective_loses(
    distance: EmbeddingDistance, share: float
) -> None:
    """All 250 nodes are in the sample, so the estimate is a bound."""
    lists = nearest_lists(distance, 20, engine="exact")
    _, best = solved(lists, distance)
    worse = without_the_nearest(lists, share)
    candidates, solution = solved(worse, distance)
    low_recall, missed = completeness(worse, distance, candidates, solution.multipliers, 2.0)
    assert low_recall == pytest.approx(0.95)
    loss = solution.primal - best.primal
    assert 0.0 < loss <= missed


def test_the_low_quantile_sees_what_the_mean_hides() -> None:
    shares = np.ones(100)
    shares[:6] = 0.2
    assert shares.mean() > 0.95
    assert low_quantile(shares) == 0.2


@pytest.mark.parametrize("scaling", [None, 7])
def test_the_certificate_says_it(scaling: int | None) -> None:
    points = np.random.default_rng(7).normal(size=(3000, 12))
    graph: LearnedGraph = paper_graph(
        points, 5, candidates="ivf", random_state=0, local_scaling=scaling
    )
    certificate = graph.certificate
    assert 0.5 < certificate.low_recall <= certificate.recall
    assert 0.0 <= certificate.missed_objective < 0.05
    exact = paper_graph(points, 5, candidates="exact", local_scaling=scaling).certificate
    assert exact.low_recall is None
    assert exact.missed_objective is None
