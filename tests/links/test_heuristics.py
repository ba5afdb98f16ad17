"""Heuristic scores: on small graphs by hand, and against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.links.heuristics import (
    HEURISTICS,
    adamic_adar,
    common_neighbours,
    personalised_pagerank,
)


def graph_of(seed: int = 0, n_nodes: int = 30) -> csr_array:
    upper = np.triu(np.random.default_rng(seed).random((n_nodes, n_nodes)) < 0.15, 1)
    return csr_array((upper | upper.T).astype(float))


PAIRS = np.array([(i, j) for i in range(30) for j in range(i)])


def test_common_neighbours_and_adamic_adar_on_a_diamond():
    # 0 - 1, 0 - 2, 3 - 1, 3 - 2, 1 - 4: nodes 0 and 3 share 1 (degree 3) and 2 (degree 2)
    edges = [(0, 1), (0, 2), (3, 1), (3, 2), (1, 4)]
    dense = np.zeros((5, 5))
    for i, j in edges:
        dense[i, j] = dense[j, i] = 1.0
    graph, pairs = csr_array(dense), np.array([[0, 3], [0, 4], [2, 4], [0, 1]])
    np.testing.assert_array_equal(common_neighbours(graph, pairs), [2, 1, 0, 0])
    expected = [1 / np.log(3) + 1 / np.log(2), 1 / np.log(3), 0, 0]
    np.testing.assert_allclose(adamic_adar(graph, pairs), expected)


def test_pagerank_is_that_of_walks_of_two_to_four_steps():
    graph = graph_of()
    degree = np.maximum(graph.sum(axis=1), 1.0)
    steps = graph.toarray() / degree[None, :]  # column j: the steps from j
    visits = sum(0.15 * 0.85**k * np.linalg.matrix_power(steps, k) for k in (2, 3, 4))
    expected = visits[PAIRS[:, 1], PAIRS[:, 0]] + visits[PAIRS[:, 0], PAIRS[:, 1]]
    np.testing.assert_allclose(personalised_pagerank(graph, PAIRS), expected, atol=1e-12)


@pytest.mark.parametrize("name", list(HEURISTICS))
def test_scores_do_not_depend_on_the_direction_of_a_pair(name):
    graph = graph_of(1)
    score = HEURISTICS[name]
    np.testing.assert_allclose(score(graph, PAIRS), score(graph, PAIRS[:, ::-1]), atol=1e-4)
