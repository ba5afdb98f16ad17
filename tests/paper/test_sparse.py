"""Sparse products with their gradients, dropout, and the part of a graph that a loss can see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.sparse import (
    SparseMatrix,
    dropped,
    field,
    without_empty_columns,
)


def _sparse(rows: int, columns: int, seed: int = 0) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(random_array((rows, columns), density=0.3, rng=rng))


def test_products_and_gradients_are_those_of_dense_matrices() -> None:
    matrix, dense = _sparse(7, 5), torch.randn(5, 3, requires_grad=True)
    whole = torch.from_numpy(matrix.toarray().astype(np.float32))
    slopes = torch.randn(7, 3)
    found = SparseMatrix(matrix).times(dense)
    torch.testing.assert_close(found, whole @ dense)
    gradient = torch.autograd.grad((found * slopes).sum(), dense)[0]
    torch.testing.assert_close(gradient, whole.T @ slopes)


def test_dropout_of_stored_values_reaches_the_gradient() -> None:
    matrix, dense = SparseMatrix(_sparse(60, 50)), torch.ones(50, 2, requires_grad=True)
    out = matrix.times(dense, 0.5, torch.Generator().manual_seed(1))
    again = matrix.times(torch.eye(50), 0.5, torch.Generator().manual_seed(1))
    torch.testing.assert_close(out.detach(), again @ dense.detach())
    gradient = torch.autograd.grad(out.sum(), dense)[0]
    torch.testing.assert_close(gradient, again.sum(0)[:, None].expand(-1, 2))
    stored = matrix.times(torch.eye(50))
    assert set((again[stored > 0] / stored[stored > 0]).round().tolist()) == {0.0, 2.0}
    torch.testing.assert_close(matrix.times(dense.detach(), 0.5), stored @ dense.detach())


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_has_its_rate_and_keeps_the_mean(rate: float) -> None:
    x = torch.ones(200_003)
    found = dropped(x, rate, torch.Generator().manual_seed(0))
    assert abs(float((found == 0).float().mean()) - rate) < 0.004
    assert abs(float(found.mean()) - 1.0) < 0.04
    assert dropped(x, rate, None) is x
    halves = dropped(x, rate, torch.Generator().manual_seed(0))
    assert torch.equal(found, halves)


def test_a_field_is_the_whole_graph_seen_from_some_nodes(problem) -> None:
    operator = normalised_adjacency(problem.graph)
    part = field(operator, problem.features, problem.train)
    weight = torch.randn(problem.features.shape[1], 4)
    found = part.outer.times(torch.relu(part.inner.times(part.features.times(weight))))
    projected = torch.from_numpy(operator.toarray() @ (problem.features @ weight.numpy()))
    wanted = torch.from_numpy(operator.toarray()[problem.train]) @ torch.relu(projected)
    torch.testing.assert_close(found, wanted.float())
    near = without_empty_columns(operator[problem.train])[1]
    np.testing.assert_array_equal(near[part.outer_own.numpy()], problem.train)
    far = without_empty_columns(operator[near])[1]
    np.testing.assert_array_equal(far[part.inner_own.numpy()], near)
