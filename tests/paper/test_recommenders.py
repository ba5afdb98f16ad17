"""Networks of recommendation: by their formulas, beside torch-geometric, and their negatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.paper.networks.lightgcn import LightGCN
from truegraph.paper.networks.mgccf import most_similar
from truegraph.paper.networks.ngcf import NGCF
from truegraph.paper.networks.ranking import Triples, bipartite, bpr
from truegraph.paper.training_recommenders import HeldOutRecall, NegativePool, train_base
from truegraph.recommend.models import rank_items

SPLIT = split_randomly(load_interactions("planted"), random_state=0)


def test_lightgcn_is_torch_geometrics() -> None:
    """The same weights give the same vectors and the same gradient."""
    reference = pytest.importorskip("torch_geometric.nn.models").LightGCN
    ours = LightGCN(SPLIT.train, {"width": 8, "layers": 3}, torch.Generator().manual_seed(1))
    theirs = reference(420, 8, num_layers=3)
    theirs.embedding.weight.data.copy_(ours.E.data)
    edges = np.array(bipartite(SPLIT.train).nonzero())
    expected = theirs.get_embedding(torch.from_numpy(edges).long())
    assert torch.allclose(ours(), expected, atol=1e-6)
    pull = torch.randn(420, 8, generator=torch.Generator().manual_seed(2))
    (expected * pull).sum().backward()
    (ours() * pull).sum().backward()
    assert torch.allclose(ours.E.grad, theirs.embedding.weight.grad, atol=1e-5)


def test_ngcf_by_its_formula() -> None:
    network = NGCF(SPLIT.train, {"width": 4, "layers": 1}, torch.Generator().manual_seed(0))
    both = bipartite(SPLIT.train).toarray() + np.eye(420)
    means = torch.from_numpy(both / both.sum(axis=1, keepdims=True)).float()
    with torch.no_grad():
        S = means @ network.E
        inner = S @ network.W1[0] + network.b1[0] + (network.E * S) @ network.W2[0] + network.b2[0]
        layer = torch.where(inner > 0, inner, 0.2 * inner)
        layer = layer / layer.norm(dim=1, keepdim=True)
        assert torch.allclose(network(), torch.cat([network.E, layer], dim=1), atol=1e-5)


def test_bpr_and_its_batches_by_hand() -> None:
    u, i = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0]])
    j = torch.tensor([[[1.0, 0.0], [3.0, 0.0]]])
    expected = -np.mean(np.log(1 / (1 + np.exp(-np.array([1.0, -1.0])))))
    assert float(bpr(u, i, j)) == pytest.approx(expected, rel=1e-6)
    network = LightGCN(SPLIT.train, {"width": 4})
    rows = network.rows(network.E, Triples(*map(torch.tensor, ([3], [5], [[7, 8]]))))
    assert torch.equal(rows[1][0], network.E[240 + 5])
    assert torch.equal(rows[2][0, 1], network.E[240 + 8])


def test_negatives_are_uniform_over_what_is_left() -> None:
    excluded = csr_array(np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 1]], dtype=float))
    pool = NegativePool(excluded)
    assert pool.sizes.tolist() == [3, 4]
    drawn = pool.draw(np.repeat([0, 1], 6000), 1, np.random.default_rng(0)).reshape(2, 6000)
    for row, free in zip(drawn, ([1, 3, 4], [0, 1, 2, 3]), strict=True):
        values, counts = np.unique(row, return_counts=True)
        assert values.tolist() == free
        assert counts == pytest.approx(np.full(len(free), 6000 / len(free)), rel=0.1)


def test_similar_users_share_items() -> None:
    table = csr_array(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]]))
    assert most_similar(table, 1).toarray().argmax(axis=1)[:3].tolist() == [1, 0, 1]
    assert most_similar(table, 2).toarray()[3].sum() == 0


def test_held_out_recall_is_that_of_the_lists() -> None:
    network = LightGCN(SPLIT.train, {"width": 8}, torch.Generator().manual_seed(0))
    with torch.no_grad():
        vectors = network()
        found = HeldOutRecall(SPLIT.train, SPLIT.validation)(vectors)
    products = (vectors[:240] @ vectors[240:].T).numpy()
    lists, _ = rank_items(lambda users: products[users], SPLIT.train, 20)
    held = SPLIT.validation.toarray()
    users = np.flatnonzero(held.sum(axis=1))
    shares = [held[user, lists[user]].sum() / held[user].sum() for user in users]
    assert found == pytest.approx(np.mean(shares))


def test_training_stops_and_keeps_its_best_epoch() -> None:
    options = {"width": 8, "learning_rate": 1e-2, "batch": 512, "epochs": 40, "patience": 4}
    network, history = train_base("bpr-mf", SPLIT.train, SPLIT.validation, options=options, seed=1)
    recalls = history["recalls"]
    assert history["best_epoch"] == int(recalls.argmax())
    assert len(recalls) in (40, history["best_epoch"] + 5)
    with torch.no_grad():
        again = HeldOutRecall(SPLIT.train, SPLIT.validation)(network())
    assert again == history["best_recall"] == recalls.max()
