"""Edges that look like random pairs: how many there are, and which."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, triu

from truegraph.data.nodes.perturbation import perturb_graph
from truegraph.tasks.classify.committee.cleaning import evidence, judge_edges


@pytest.fixture(scope="module")
def groups() -> tuple[csr_array, np.ndarray]:
    """Return 300 nodes in 30 groups, linked mostly within, with coordinates that know the group."""
    generator = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    links = np.triu((group[:, None] == group) & (generator.random((300, 300)) < 0.5), 1)
    points = np.eye(30)[group] + 0.1 * generator.normal(size=(300, 30))
    return csr_array((links | links.T).astype(float)), points.astype(np.float32)


@pytest.mark.parametrize("added", [0.0, 0.25, 1.0])
def test_the_share_of_false_edges_is_found_without_labels(
    groups: tuple[csr_array, np.ndarray], added: float
) -> None:
    graph, points = groups
    judge = judge_edges(perturb_graph(graph, added=added, random_state=0), points)
    assert judge is not None
    assert judge.false_share == pytest.approx(added / (1.0 + added), abs=0.06)


def test_false_edges_lose_their_weight(groups: tuple[csr_array, np.ndarray]) -> None:
    graph, points = groups
    noisy = perturb_graph(graph, added=1.0, random_state=0)
    judge = judge_edges(noisy, points)
    assert judge is not None
    cleaned = judge.cleaned(noisy, points)
    assert abs(cleaned - cleaned.T).nnz == 0
    real = graph.multiply(cleaned).sum() / graph.sum()
    false = (cleaned.sum() - graph.multiply(cleaned).sum()) / graph.sum()
    assert real > 0.9
    assert false < 0.3  # of 1.0 before


def test_an_edge_is_no_evidence_for_itself(groups: tuple[csr_array, np.ndarray]) -> None:
    graph, points = groups
    edge = np.array([triu(graph, 1).tocoo().row[0]]), np.array([triu(graph, 1).tocoo().col[0]])
    without = graph.copy().tolil()
    without[edge[0][0], edge[1][0]] = without[edge[1][0], edge[0][0]] = 0.0
    there = evidence(graph, points, edge, are_edges=True)
    absent = evidence(csr_array(without), points, edge, are_edges=False)
    np.testing.assert_allclose(there, absent, atol=1e-2)  # rarity counts one edge more or less


def test_too_few_edges_or_no_features_are_not_judged() -> None:
    path = csr_array(np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1))
    assert judge_edges(path, np.ones((21, 3), np.float32)) is None
    ring = csr_array(np.roll(np.eye(100), 1, axis=0) + np.roll(np.eye(100), -1, axis=0))
    assert judge_edges(ring, np.ones((100, 0), np.float32)) is None
