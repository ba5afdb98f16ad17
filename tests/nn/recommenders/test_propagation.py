"""Operators of the graph between users and items, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.dropout import Noise
from truegraph.nn.recommenders.propagation import (
    Propagation,
    bipartite_adjacency,
    mean_of,
    mean_with_self,
    symmetric_normalised,
)

TRAIN = csr_array(np.array([[1, 1], [0, 1]], dtype=np.float32))  # user 0: both, user 1: item 1


def test_operators_by_hand() -> None:
    adjacency = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0]])
    assert (bipartite_adjacency(TRAIN).toarray() == adjacency).all()
    means = (adjacency + np.eye(4)) / np.array([[3], [2], [2], [3]])
    assert mean_with_self(TRAIN).toarray() == pytest.approx(means)
    roots = np.sqrt([2, 1, 1, 2])
    normalised = adjacency / roots[:, None] / roots[None, :]
    assert symmetric_normalised(TRAIN).toarray() == pytest.approx(normalised)


def test_nodes_without_neighbours_stay_empty() -> None:
    lonely = csr_array(np.array([[1, 0], [0, 0]], dtype=np.float32))
    assert np.isfinite(symmetric_normalised(lonely).toarray()).all()
    assert mean_of(lonely).toarray().tolist() == [[1, 0], [0, 0]]
    assert mean_with_self(lonely).toarray()[1, 1] == 1.0


def test_product_and_gradient_are_dense_ones() -> None:
    matrix = csr_array(np.random.default_rng(0).random((4, 6)) * (np.eye(4, 6) + np.eye(4, 6, 2)))
    operator = Propagation(matrix)
    dense = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    full = torch.from_numpy(matrix.toarray()).float()
    weights = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    product = operator(dense)
    assert torch.allclose(product, full @ dense, atol=1e-6)
    (gradient,) = torch.autograd.grad((product * weights).sum(), dense)
    assert torch.allclose(gradient, full.T @ weights, atol=1e-6)


def test_dropped_entries_are_the_same_forth_and_back() -> None:
    operator = Propagation(mean_with_self(TRAIN))
    dropout = Noise(np.array([1], dtype=np.uint64), 0).dropout(0.5, 0)
    columns = [operator(torch.eye(4), dropout)]
    dense = torch.eye(4).requires_grad_()
    (gradient,) = torch.autograd.grad(operator(dense, dropout)[2].sum(), dense)
    assert torch.allclose(gradient[:, 0], columns[0][2])
