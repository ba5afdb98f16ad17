"""Learned graphs that look bad are said to."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, lil_array

from truegraph import AnswerWarning, learn_graph
from truegraph.learning.learner import graph_advice


def ring(nodes: int) -> lil_array:
    graph = lil_array((nodes, nodes))
    for node in range(nodes):
        graph[node, (node + 1) % nodes] = graph[(node + 1) % nodes, node] = 1.0
    return graph


def test_a_hub() -> None:
    graph = ring(200)
    graph[7, :] = 1.0
    graph[:, 7] = 1.0
    graph[7, 7] = 0.0
    (message,) = graph_advice(csr_array(graph))
    assert message.startswith("node 7 (from 0) has 199 edges and nodes have 4.0 on average")


def test_many_parts() -> None:
    points = np.repeat(np.arange(40.0) * 100, 5)[:, None] + np.tile(np.arange(5.0), 40)[:, None]
    with pytest.warns(AnswerWarning, match="has 40 connected components; raise degree"):
        learn_graph(points, graph_model="paper", degree=3)


def test_good_graphs_raise_no_alarm() -> None:
    assert graph_advice(csr_array(ring(50))) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_graph(np.random.default_rng(0).normal(size=(300, 4)))
