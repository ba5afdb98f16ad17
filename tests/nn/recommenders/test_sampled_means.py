"""Means over drawn neighbours: their expectation, their gradient, their bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.recommenders.sampled_means import SampledMeans

GRAPH = csr_array(np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=np.float32))
KEY = np.array([1, 2], dtype=np.uint32)


def test_one_neighbour_is_its_own_mean_and_none_is_zero() -> None:
    rows = torch.tensor([[1.0], [2.0], [4.0]])
    means = SampledMeans(GRAPH)(rows, 3, KEY)
    assert means[1:].flatten().tolist() == [1.0, 0.0]


def test_many_draws_come_near_the_mean() -> None:
    rows = torch.tensor([[1.0], [2.0], [4.0]])
    assert SampledMeans(GRAPH)(rows, 20_000, KEY)[0].item() == pytest.approx(3.0, abs=0.05)


def test_the_backward_pass_draws_the_same_neighbours() -> None:
    graph = SampledMeans(GRAPH)
    rows = torch.eye(3, requires_grad=True)
    means = graph(rows, 3, KEY)
    means[0].sum().backward()
    # Row 0 of the means holds the share of draws that each node got.
    assert rows.grad is not None
    assert rows.grad[:, 0].tolist() == pytest.approx(means[0].tolist())
