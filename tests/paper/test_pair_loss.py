"""The loss over all pairs, without a matrix of them, against the dense formula."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from truegraph.errors import InputError
from truegraph.paper.networks.pair_loss import (
    FeatureLoss,
    PairLoss,
    can_be_decoded,
    softplus_of_pairs,
)

softplus = torch.nn.functional.softplus


def soft_graph(nodes: int, seed: int = 0) -> csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) * (rng.random((nodes, nodes)) < 0.1), 1)
    upper[0, 1] = 0.5
    return csr_array(upper + upper.T)


def embedding(nodes: int, dimension: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(nodes, dimension, generator=torch.Generator().manual_seed(seed))


def dense_loss(z: torch.Tensor, graph: csr_array, masked: csr_array | None = None) -> torch.Tensor:
    nodes, total = graph.shape[0], graph.sum()
    y = torch.from_numpy(graph.toarray() + np.eye(nodes)).to(z)
    counted = torch.ones_like(y)
    if masked is not None:
        counted -= torch.from_numpy(masked.toarray()).to(z)
    logits, weight = z @ z.T, (nodes**2 - total) / total
    terms = weight * y * softplus(-logits) + (1.0 - y) * softplus(logits)
    return nodes**2 / (2.0 * (nodes**2 - total)) * (terms * counted).sum() / counted.sum()


@pytest.mark.parametrize("nodes", [2, 7, 511, 512, 513])
@pytest.mark.parametrize("dimension", [1, 16])
def test_equals_the_dense_loss_with_soft_targets_and_masked_pairs(nodes, dimension):
    graph = soft_graph(nodes)
    masked = csr_array((np.ones(1), ([0], [1])), shape=graph.shape)  # one direction only
    ours, theirs = (embedding(nodes, dimension).requires_grad_() for _ in range(2))
    found = PairLoss(graph, masked)(ours)
    wanted = dense_loss(theirs, graph, masked)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    gradients = [torch.autograd.grad(loss, z)[0] for loss, z in ((found, ours), (wanted, theirs))]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("tile", [1, 3, 36, 37, 1000])
def test_tiles_of_any_size_give_the_same_sum(tile):
    z = embedding(37, 5).double()
    total, gradient = softplus_of_pairs(z, tile)
    torch.testing.assert_close(total, softplus(z @ z.T).sum())
    torch.testing.assert_close(gradient, 2.0 * torch.sigmoid(z @ z.T) @ z)


def test_extreme_logits_keep_exact_gradients_and_nan_shows():
    z = torch.tensor([[20.0], [-20.0], [1e-3]], requires_grad=True)
    graph = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    loss = PairLoss(graph)(z)
    theirs = z.detach().double().requires_grad_()
    wanted = torch.autograd.grad(dense_loss(theirs, graph), theirs)[0]
    torch.testing.assert_close(torch.autograd.grad(loss, z)[0].double(), wanted)
    for bad in (math.nan, math.inf):
        assert not torch.isfinite(PairLoss(graph)(torch.tensor([[bad], [0.0], [1.0]])))


def test_memory_is_linear_in_the_number_of_nodes():
    graph = csr_array(random_array((8_000, 8_000), density=5e-5, rng=np.random.default_rng(0)))
    graph = csr_array(((graph + graph.T) > 0).astype(float))
    tracemalloc.start()
    loss = PairLoss(graph)
    assert torch.isfinite(loss(embedding(8_000, 4)))
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()


def test_targets_have_to_be_probabilities_of_links():
    with pytest.raises(InputError, match="at least one link"):
        PairLoss(csr_array((4, 4)))
    with pytest.raises(InputError, match=r"to 2.*into \[0, 1\]"):
        PairLoss(csr_array(np.array([[0.0, 2.0], [2.0, 0.0]])))


def test_feature_loss_equals_the_dense_formula():
    features = csr_array(random_array((300, 23), density=0.2, rng=np.random.default_rng(0)))
    features.data[:3] = 5.0  # counts as 1
    y = torch.from_numpy(np.minimum(features.toarray(), 1.0)).float()
    weight = (y.numel() - y.sum()) / y.sum()
    ours, theirs = (
        [part.requires_grad_() for part in (embedding(300, 4), embedding(4, 23), torch.ones(23))]
        for _ in range(2)
    )
    logits = theirs[0] @ theirs[1] + theirs[2]
    wanted = (weight * y * softplus(-logits) + (1.0 - y) * softplus(logits)).mean()
    found = FeatureLoss(features)(*ours)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    gradients = [torch.autograd.grad(*both) for both in ((found, ours), (wanted, theirs))]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_what_can_be_decoded_is_neither_negative_nor_constant():
    good = csr_array(np.array([[0.0, 1.0], [0.3, 0.0]]))
    assert can_be_decoded(good)
    assert can_be_decoded(7.0 * good)
    for bad in (-good, 0.0 * good, csr_array(np.ones((2, 2)))):
        assert not can_be_decoded(bad)
