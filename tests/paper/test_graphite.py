"""Graphite: its low-rank decoder against dense matrices, and its edge dropout."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.gae import GAE, VGAE
from truegraph.paper.networks.graphite import EdgeDropout, GraphiteAE, GraphiteVAE, implied_basis


def model_of(kind, problem, **options):
    chosen = SimpleNamespace(**{**kind.DEFAULTS, **options})
    return kind(problem.raw, problem.graph, chosen, torch.Generator().manual_seed(0))


def dense_decoder(z, features, model, share):
    cosines = torch.nn.functional.normalize(z) @ torch.nn.functional.normalize(z).T
    implied = cosines + 1.0
    degree = implied.sum(dim=1)
    normed = implied / torch.sqrt(degree[:, None] * degree[None])
    hidden = torch.relu(normed @ z @ model.W_z) + torch.relu(normed @ features @ model.W_x)
    return (1.0 - share) * z + share * (normed @ hidden @ model.W_v)


def test_low_rank_graph_equals_the_dense_one():
    z = torch.randn((30, 5), generator=torch.Generator().manual_seed(0))
    rows = torch.nn.functional.normalize(z)
    implied = rows @ rows.T + 1.0
    basis = implied_basis(z)
    assert basis.shape == (30, 6)
    degree = implied.sum(dim=1)
    torch.testing.assert_close(basis[:, -1], degree**-0.5)  # the row sums of the low-rank form
    torch.testing.assert_close(basis @ basis.T, implied / torch.sqrt(torch.outer(degree, degree)))


def test_decoder_and_its_gradient_equal_the_dense_ones(problem):
    model = model_of(GraphiteAE, problem, refinement=0.3)
    z = torch.randn((60, 16), generator=torch.Generator().manual_seed(0)).requires_grad_()
    features = torch.from_numpy(problem.raw.toarray()).float()
    found, expected = model.decode(z), dense_decoder(z, features, model, 0.3)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    leaves = [z, model.W_z, model.W_x, model.W_v]
    slopes = [torch.autograd.grad(one.square().sum(), leaves) for one in (found, expected)]
    for own, dense in zip(*slopes, strict=True):
        torch.testing.assert_close(own, dense, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("kind", "plain"), [(GraphiteAE, GAE), (GraphiteVAE, VGAE)])
def test_without_refinement_and_dropout_it_is_the_plain_auto_encoder(problem, kind, plain):
    model = model_of(kind, problem, refinement=0.0, edge_dropout=0.0)
    other = model_of(plain, problem)
    other.load_state_dict({name: model.state_dict()[name] for name in other.state_dict()})
    assert torch.equal(model.vectors(), other.vectors())
    noise = torch.Generator().manual_seed(2)
    torch.testing.assert_close(model.hidden(noise), other.hidden(noise))


def test_zero_rows_and_opposite_nodes_stay_finite():
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], requires_grad=True)
    basis = implied_basis(z)
    assert torch.isfinite(basis).all()
    (gradient,) = torch.autograd.grad(basis.sum(), z)
    assert torch.isfinite(gradient).all()


def test_edge_dropout_keeps_a_fixed_share_and_both_directions(problem):
    weighted = problem.graph * 0.5
    edges = EdgeDropout(weighted, 0.4)
    generator = torch.Generator().manual_seed(0)
    draws = [edges.drawn(generator).times(torch.eye(60)).numpy() for _ in range(2)]
    count = problem.graph.nnz // 2
    for operator in draws:
        pattern = operator != 0.0
        np.fill_diagonal(pattern, False)
        assert pattern.sum() == 2 * (count - int(0.4 * count))
        assert (pattern == pattern.T).all()
        assert not (pattern & (problem.graph.toarray() == 0.0)).any()
        kept = sparse.csr_array(np.where(pattern, weighted.toarray(), 0.0))
        np.testing.assert_allclose(operator, normalised_adjacency(kept).toarray(), rtol=1e-5)
    assert (draws[0] != draws[1]).any()
