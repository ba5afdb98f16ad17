"""MGCCF: both published forms by dense formulas, the similarity graphs, folding in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.dropout import Noise
from truegraph.nn.recommenders.mgccf import MGCCF, MGCCFSettings, most_similar

LIKES = np.array(
    [[1, 1, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 1, 1, 0]], dtype=np.float32
)
TRAIN = csr_array(LIKES)


def made(**options: object) -> MGCCF:
    return MGCCF(MGCCFSettings(width=6, neighbours=2, **options), TRAIN)  # type: ignore[arg-type]


def means(table: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(table / table.sum(axis=1, keepdims=True)).float()


def similar_tables(model: MGCCF) -> tuple[torch.Tensor, torch.Tensor]:
    whole = torch.from_numpy(model.similar.forth.to_scipy().toarray())
    return whole[:4, :4], whole[4:, 4:]


def test_the_sum_form_is_the_papers() -> None:
    model = made()
    w = model.initial(0)
    e = {"user": w["embeddings"][:4], "item": w["embeddings"][4:]}
    to = {"user": means(LIKES), "item": means(LIKES.T)}
    other = {"user": "item", "item": "user"}
    h = dict(e)
    for layer in range(2):
        n = {
            s: torch.tanh(to[s] @ h[other[s]] @ w[f"neighbours_{layer}_{s}"])
            for s in ("user", "item")
        }
        h = {
            s: torch.tanh(torch.cat([h[s], n[s]], 1) @ w[f"join_{layer}_{s}"])
            for s in ("user", "item")
        }
    parts = []
    for side, graph in zip(("user", "item"), similar_tables(model), strict=True):
        z = torch.tanh(graph @ e[side] @ w[f"similar_{side}"])
        parts.append(h[side] + z + torch.tanh(e[side] @ w[f"skip_{side}"]))
    assert torch.allclose(model.vectors(w, None), torch.cat(parts), atol=1e-6)


def test_the_concat_form_is_the_codes() -> None:
    model = made(fusion="concat")
    w = model.initial(0)
    e = {"user": w["embeddings"][:4], "item": w["embeddings"][4:]}
    to = {"user": means(LIKES), "item": means(LIKES.T)}
    other = {"user": "item", "item": "user"}
    h = dict(e)
    for layer in range(2):
        h = {
            s: torch.tanh(torch.cat([e[s], to[s] @ h[other[s]]], 1) @ w[f"join_{layer}_{s}"])
            for s in ("user", "item")
        }
    parts = []
    for side, graph in zip(("user", "item"), similar_tables(model), strict=True):
        z = torch.tanh(torch.cat([e[side], graph @ e[side]], 1) @ w[f"similar_{side}"])
        parts.append(torch.cat([torch.tanh(torch.cat([h[side], z], 1)), e[side]], 1))
    expected = torch.cat(parts)
    assert expected.shape == (9, 18)
    assert torch.allclose(model.vectors(w, None), expected, atol=1e-6)


def test_similarity_is_the_cosine_and_ties_go_to_the_first() -> None:
    graph = most_similar(TRAIN, TRAIN, 2, leave_out_self=True).toarray()
    # cosines of user 0: 2/sqrt(6) with 1, 0 with 2, 1/3 with 3
    assert graph.tolist() == [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 1, 0]]
    twins = csr_array(np.ones((4, 2)))
    assert most_similar(twins, twins, 1, leave_out_self=True).indices.tolist() == [1, 0, 0, 0]
    new = csr_array(np.array([[0, 0, 1, 1, 0]]))
    assert most_similar(new, TRAIN, 1, leave_out_self=False).indices.tolist() == [2]


def test_sampled_neighbours_have_the_mean_of_all_in_the_long_run() -> None:
    model = made(samples=[15, 10], neighbour_dropout=0.0)
    assert model.settings.samples == (15, 10)
    state = model.initial(0)["embeddings"]
    noises = [Noise(np.array([3], dtype=np.uint64), step) for step in range(3000)]
    total = sum(model._mean_of_neighbours(state, noise, 0) for noise in noises)
    assert torch.allclose(total / 3000, model.observed(state), atol=0.01)
    first, again = (model._mean_of_neighbours(state, noises[0], 0) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, model._mean_of_neighbours(state, noises[1], 0))
    assert torch.equal(model._mean_of_neighbours(state, None, 0), model.observed(state))


def test_gradient_of_sampled_means_is_that_of_finite_differences() -> None:
    model = made(samples=(4, 4))
    dense = torch.randn(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    key = np.array([5, 6], dtype=np.uint32)
    assert torch.autograd.gradcheck(
        lambda values: model.drawn(values, 4, key), dense.requires_grad_()
    )


def test_impossible_samples() -> None:
    with pytest.raises(InputError, match=r"samples=\(3,\) must be one number"):
        MGCCFSettings(samples=(3,))


def test_dropout_is_on_in_training_only() -> None:
    model = made()
    weights = model.initial(0)
    masks = [Noise(np.array([1], dtype=np.uint64), step) for step in range(2)]
    assert torch.equal(model.vectors(weights, None), model.vectors(weights, None))
    assert not torch.equal(model.vectors(weights, masks[0]), model.vectors(weights, masks[1]))


@pytest.mark.parametrize("fusion", ["sum", "concat"])
def test_a_user_folded_in_with_a_trained_start_is_the_trained_one(fusion: str) -> None:
    model = made(fusion=fusion)
    model.settings = MGCCFSettings(width=6, neighbours=3, fusion=fusion)  # type: ignore[arg-type]
    weights = model.initial(0)
    model.first_vectors = lambda w, history: w["embeddings"][:4]  # type: ignore[method-assign]
    folded = model.fold_in(weights, TRAIN)
    assert folded.shape == model.vectors(weights, None)[:4].shape
    # a new user finds itself among the users: take that away and the rest must agree
    model.similar = None  # type: ignore[assignment]
    whole = torch.from_numpy(most_similar(TRAIN, TRAIN, 3, False).toarray()).float()
    weighed = whole if fusion == "sum" else whole / whole.sum(1, keepdim=True)
    *_, deep = model._states(weights, None)
    around = weighed @ weights["embeddings"][:4]
    expected = model._fused(weights, "user", deep[:4], around, weights["embeddings"][:4])
    assert torch.allclose(folded, expected, atol=1e-5)
