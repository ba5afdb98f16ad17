"""Graphite: its low-rank decoder against dense matrices, and its edge dropout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.nn.autoencoders.base import LinkData, one_torch_thread, train_autoencoder
from truegraph.nn.autoencoders.graphite import (
    EdgeDropout,
    GraphiteAE,
    GraphiteSettings,
    GraphiteVAE,
    implied_basis,
)
from truegraph.nn.autoencoders.vgae import GAE, VGAE, VGAESettings
from truegraph.nn.graph_operators import normalised_adjacency


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_torch_thread():
        yield


@pytest.fixture
def data() -> LinkData:
    """Four groups of ten nodes that graph and features tell apart."""
    rng = np.random.default_rng(0)
    group = np.arange(40) % 4
    chance = np.where(group[:, None] == group, 0.6, 0.03)
    upper = np.triu(rng.random((40, 40)) < chance, 1)
    graph = sparse.csr_array((upper | upper.T).astype(float))
    hints = 0.1 + 0.5 * (group[:, None] == np.arange(12) % 4)
    features = sparse.csr_array((rng.random((40, 12)) < hints).astype(float))
    return LinkData(features, graph, graph)


def dense_decoder(z, features, weights, share):
    cosines = torch.nn.functional.normalize(z) @ torch.nn.functional.normalize(z).T
    implied = cosines + 1.0
    degree = implied.sum(dim=1)
    normed = implied / torch.sqrt(degree[:, None] * degree[None])
    hidden = torch.relu(normed @ z @ weights["decoder_z"][0])
    hidden = hidden + torch.relu(normed @ features @ weights["decoder_x"][0])
    return (1.0 - share) * z + share * (normed @ hidden @ weights["decoder_last"][0])


def test_low_rank_graph_equals_the_dense_one():
    z = torch.randn((30, 5), generator=torch.Generator().manual_seed(0))
    rows = torch.nn.functional.normalize(z)
    implied = rows @ rows.T + 1.0
    basis = implied_basis(z)
    assert basis.shape == (30, 6)
    degree = implied.sum(dim=1)
    torch.testing.assert_close(basis[:, -1], degree**-0.5)  # the row sums of the low-rank form
    torch.testing.assert_close(basis @ basis.T, implied / torch.sqrt(torch.outer(degree, degree)))


def test_decoder_equals_the_dense_one(data):
    model = GraphiteAE.on(data, GraphiteSettings(refinement=0.3))
    weights = model.initial(1)
    z = torch.randn((40, 16), generator=torch.Generator().manual_seed(0))
    features = torch.from_numpy(data.features.toarray()).float()
    expected = dense_decoder(z, features, weights, 0.3)
    torch.testing.assert_close(model.decode(weights, z), expected, rtol=1e-4, atol=1e-5)


def test_gradient_of_the_decoder_agrees_with_the_dense_one(data):
    model = GraphiteAE.on(data, GraphiteSettings())
    weights = {name: w.requires_grad_() for name, w in model.initial(1).items()}
    z = torch.randn((40, 16), generator=torch.Generator().manual_seed(0)).requires_grad_()
    features = torch.from_numpy(data.features.toarray()).float()
    names = ("decoder_z", "decoder_x", "decoder_last")
    leaves = [z, *(weights[name] for name in names)]
    ours = torch.autograd.grad(model.decode(weights, z).square().sum(), leaves)
    dense = torch.autograd.grad(dense_decoder(z, features, weights, 0.5).square().sum(), leaves)
    for own, expected in zip(ours, dense, strict=True):
        torch.testing.assert_close(own, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("kind", "plain"), [(GraphiteAE, GAE), (GraphiteVAE, VGAE)])
def test_without_refinement_and_dropout_it_is_the_plain_auto_encoder(data, kind, plain):
    settings = GraphiteSettings(refinement=0.0, edge_dropout=0.0)
    model, other = kind.on(data, settings), plain.on(data, VGAESettings())
    weights = model.initial(0)
    assert torch.equal(model.vectors(weights), other.vectors(weights))
    losses = [m.loss(weights, torch.Generator().manual_seed(2)).item() for m in (model, other)]
    assert losses[0] == losses[1]


def test_zero_rows_and_opposite_nodes_stay_finite():
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], requires_grad=True)
    basis = implied_basis(z)
    assert torch.isfinite(basis).all()
    (gradient,) = torch.autograd.grad(basis.sum(), z)
    assert torch.isfinite(gradient).all()


def test_edge_dropout_keeps_a_fixed_share_and_both_directions(data):
    weighted = data.graph * 0.5
    edges = EdgeDropout(weighted, 0.4)
    generator = torch.Generator().manual_seed(0)
    draws = [edges.operator(generator) for _ in range(2)]
    count = data.graph.nnz // 2
    for operator in draws:
        pattern = operator.toarray() != 0.0
        np.fill_diagonal(pattern, False)
        assert pattern.sum() == 2 * (count - int(0.4 * count))
        assert (pattern == pattern.T).all()
        assert not (pattern & (data.graph.toarray() == 0.0)).any()
        kept = sparse.csr_array(np.where(pattern, weighted.toarray(), 0.0))
        np.testing.assert_allclose(operator.toarray(), normalised_adjacency(kept).toarray())
    assert (draws[0].toarray() != draws[1].toarray()).any()


def test_only_training_drops_edges(data):
    model = GraphiteVAE.on(data, GraphiteSettings())
    weights = model.initial(0)
    full = VGAE.on(data, VGAESettings())
    assert torch.equal(model.embedding(weights), full.embedding(weights))
    dropped, _ = model.encode(weights, torch.Generator().manual_seed(0))
    assert not torch.equal(dropped, model.embedding(weights))


@pytest.mark.parametrize("kind", [GraphiteAE, GraphiteVAE])
def test_training_lowers_the_loss(data, kind):
    model = kind.on(data, GraphiteSettings())
    _, history = train_autoencoder(model, random_state=0, epochs=60, learning_rate=0.01)
    assert np.mean(history[-10:]) < 0.9 * np.mean(history[:5])
