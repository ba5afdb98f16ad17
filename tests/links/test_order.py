"""The order of candidates: the second regression decides among the best, and no one else."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.links.heuristics import HEURISTICS
from truegraph.links.order import Order, fit_order, with_heuristics
from truegraph.links.regression import fit_regression
from truegraph.links.walks import walk_graph, walk_scores


def candidates(rng: np.random.Generator, count: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Walk scores, and truths: many need common neighbours, the best need low degrees."""
    columns = np.log1p(rng.gamma(1.0, 2.0, size=(count, 8)))
    columns[:, :2].sort(axis=1)
    odds = 3.0 * columns[:, 2] - 7.0
    odds = np.where(odds > -2.0, 6.0 * (1.0 - columns[:, 1]), odds)
    return columns, rng.random(count) < 1.0 / (1.0 + np.exp(-odds))


def test_the_best_are_ordered_by_what_counts_among_them():
    rng = np.random.default_rng(0)
    columns, truth = candidates(rng)
    first = fit_regression(columns, truth, weight=np.ones(len(truth)))
    order, scores = fit_order(first, columns, truth, np.ones(len(truth)))
    assert order.second is not None
    fresh, fresh_truth = candidates(rng)
    found = {
        "both": order.scores(fresh),
        "first": first.logits(fresh),
    }
    right = {name: fresh_truth[np.argsort(-value)[:200]].mean() for name, value in found.items()}
    assert right["both"] > right["first"] + 0.05
    # Scores of the fit are those of fresh candidates, not better.
    assert truth[np.argsort(-scores)[:200]].mean() == pytest.approx(right["both"], abs=0.08)
    is_best = first.logits(fresh) >= order.least
    assert (found["both"][is_best] > 1.0).all()
    assert (found["both"][~is_best] < 1.0).all()
    assert is_best.sum() == pytest.approx(3 * truth.sum(), rel=0.15)


def test_few_hidden_links_keep_the_first_order():
    columns, _ = candidates(np.random.default_rng(0), 300)
    truth = np.arange(300) % 30 == 0
    first = fit_regression(columns, truth, weight=np.ones(300))
    order, scores = fit_order(first, columns, truth, np.ones(300))
    assert order.second is None
    np.testing.assert_array_equal(scores, order.scores(columns))
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(first.logits(columns)))
    assert Order(first).scores(columns[:0]).shape == (0,)


def test_heuristics_come_back_from_walk_scores(teams):
    graph = teams
    pairs = np.argwhere(np.triu(np.ones((400, 400)), 1))[::31]
    wider = with_heuristics(walk_scores(walk_graph(graph), pairs))
    names = ("common-neighbours", "adamic-adar", "resource-allocation")
    for place, name in enumerate(names):
        np.testing.assert_allclose(wider[:, 8 + place], HEURISTICS[name](graph, pairs), atol=1e-9)
    pagerank = HEURISTICS["personalised-pagerank"](graph, pairs)
    linked = (np.diff(graph.indptr)[pairs] > 0).all(axis=1)
    np.testing.assert_allclose(0.15 * wider[linked, -2], pagerank[linked], atol=1e-9)
