"""LightGCN: the mean of the layers, its gradient, folding in."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.nn.recommenders.lightgcn import LightGCN, LightGCNSettings
from truegraph.nn.recommenders.propagation import symmetric_normalised
from truegraph.nn.recommenders.triples import Triples

TRAIN = csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32))
TRIPLES = Triples(np.array([0, 1, 1]), np.array([0, 2, 1]), np.array([[2], [0], [0]]))


def dense_vectors(embeddings: torch.Tensor) -> torch.Tensor:
    operator = torch.from_numpy(symmetric_normalised(TRAIN).toarray()).float()
    layers = [embeddings]
    for _ in range(3):
        layers.append(operator @ layers[-1])
    return torch.stack(layers).mean(0)


def test_vectors_are_the_mean_of_the_layers() -> None:
    model = LightGCN(LightGCNSettings(width=4), TRAIN)
    weights = model.initial(0)
    assert torch.allclose(
        model.vectors(weights, None), dense_vectors(weights["embeddings"]), atol=1e-6
    )


def test_the_loss_penalises_embeddings_and_has_torchs_gradient() -> None:
    model = LightGCN(LightGCNSettings(width=4, penalty=0.5), TRAIN)
    ours = model.initial(0)["embeddings"].requires_grad_()
    plain = ours.detach().clone().requires_grad_()
    loss = model.loss({"embeddings": ours}, TRIPLES, None)
    found = dense_vectors(plain)
    users, likes, others = TRIPLES.users, 2 + TRIPLES.positives, 2 + TRIPLES.negatives[:, 0]
    margin = (found[users] * (found[likes] - found[others])).sum(1)
    lengths = sum((plain[rows] ** 2).sum() for rows in (users, likes, others))
    expected = -torch.nn.functional.logsigmoid(margin).mean() + 0.5 * lengths / 2 / 3
    assert torch.allclose(loss, expected, atol=1e-6)
    loss.backward()
    expected.backward()
    assert torch.allclose(ours.grad, plain.grad, atol=1e-6)


def test_a_user_folded_in_with_a_trained_start_is_the_trained_one() -> None:
    model = LightGCN(LightGCNSettings(width=4), TRAIN)
    weights = model.initial(0)
    model.first_vectors = lambda w, history: w["embeddings"][:2]  # type: ignore[method-assign]
    folded = model.fold_in(weights, TRAIN)
    assert torch.allclose(folded, model.vectors(weights, None)[:2], atol=1e-6)
