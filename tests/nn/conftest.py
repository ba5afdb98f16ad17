"""A small classification problem with a planted answer, for all models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.nn.graph_operators import normalise_features


class Problem(NamedTuple):
    """Three communities of 20 nodes whose features hint at the community."""

    features: csr_array
    graph: csr_array
    labels: np.ndarray
    train: list[np.ndarray]
    validation: list[np.ndarray]


def _random_graph(labels: np.ndarray, rng: np.random.Generator) -> csr_array:
    same = labels[:, None] == labels[None, :]
    edges = np.triu(rng.random(same.shape) < np.where(same, 0.3, 0.03), 1)
    return csr_array((edges | edges.T).astype(float))


@pytest.fixture(scope="session")
def problem() -> Problem:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    chance = 0.15 + 0.35 * (labels[:, None] == np.arange(12)[None, :] % 3)
    features = normalise_features((rng.random((60, 12)) < chance).astype(float))
    orders = [np.random.default_rng(trial + 1).permutation(60) for trial in range(5)]
    train = [
        np.concatenate([order[labels[order] == c][: 2 + trial % 2] for c in range(3)])
        for trial, order in enumerate(orders)
    ]
    validation = [
        order[~np.isin(order, chosen)][: 12 + trial]
        for trial, (order, chosen) in enumerate(zip(orders, train, strict=True))
    ]
    return Problem(features, _random_graph(labels, rng), labels, train, validation)


@pytest.fixture(scope="session")
def other_graphs(problem: Problem) -> list[csr_array]:
    """Five more graphs over the same nodes, weighted."""
    graphs = []
    for seed in range(5):
        rng = np.random.default_rng(100 + seed)
        graph = _random_graph(problem.labels, rng).toarray()
        weights = np.triu(rng.random(graph.shape), 1)
        graphs.append(csr_array(graph * (weights + weights.T)))
    return graphs
