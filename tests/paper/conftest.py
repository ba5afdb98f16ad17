"""A small classification problem with a planted answer, and shapes without values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.paper.networks import sparse
from truegraph.paper.training import NodeTask


def made_up(seed: int = 0) -> NodeTask:
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
    return NodeTask(graph, features, features, labels, train, validation, 3, seed=5)


@pytest.fixture(scope="session")
def problem() -> NodeTask:
    return made_up()


@pytest.fixture(scope="session")
def other_graph() -> csr_array:
    """Another graph over the same nodes, weighted."""
    graph = made_up(7).graph.toarray()
    weights = np.triu(np.random.default_rng(1).random(graph.shape), 1)
    return csr_array(graph * (weights + weights.T))


@pytest.fixture(autouse=True)
def shapes_on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teach torch the shapes of two operations that it does not have on the device "meta"."""
    multiplied, reduced = sparse._multiplied, torch.segment_reduce

    def product(matrix: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        if dense.is_meta:
            return dense.new_empty((matrix.shape[0], dense.shape[1]))
        return multiplied(matrix, dense)

    def reduce(data: torch.Tensor, how: str, *, lengths: torch.Tensor, **other) -> torch.Tensor:
        if data.is_meta:
            return data.new_empty((len(lengths), *data.shape[1:]))
        return reduced(data, how, lengths=lengths, **other)

    monkeypatch.setattr(sparse, "_multiplied", product)
    monkeypatch.setattr(torch, "segment_reduce", reduce)
