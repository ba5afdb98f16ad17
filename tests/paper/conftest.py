"""A small classification problem with a planted answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.classify.inputs import complete_inputs
from truegraph.classify.problem import Problem


def made_up(seed: int = 0) -> Problem:
    """Return three communities of 20 nodes whose features hint at the community."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 20)
    chance = 0.15 + 0.35 * (labels[:, None] == np.arange(12)[None, :] % 3)
    features = csr_array((rng.random((60, 12)) < chance).astype(float))
    same = labels[:, None] == labels[None, :]
    edges = np.triu(rng.random(same.shape) < np.where(same, 0.3, 0.03), 1)
    order = rng.permutation(60)
    train = np.concatenate([order[labels[order] == c][:3] for c in range(3)])
    validation = order[~np.isin(order, train)][:15]
    graph = csr_array((edges | edges.T).astype(float))
    inputs = complete_inputs(features, graph, 60)
    return Problem(inputs, labels, train, validation, 3, seed=5)


@pytest.fixture(scope="session")
def problem() -> Problem:
    return made_up()


@pytest.fixture(scope="session")
def other_graph() -> csr_array:
    """Another graph over the same nodes, weighted."""
    graph = made_up(7).graph.toarray()
    weights = np.triu(np.random.default_rng(1).random(graph.shape), 1)
    return csr_array(graph * (weights + weights.T))
