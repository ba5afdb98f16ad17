"""NGCF: a layer by hand, the fused gradient against torch's, dropout off in evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import leaky_relu, normalize

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.nn.dropout import Noise
from truegraph.nn.recommenders.bpr import bpr_loss
from truegraph.nn.recommenders.ngcf import LEAKY_SLOPE, NGCF, NGCFSettings
from truegraph.nn.recommenders.propagation import mean_with_self, symmetric_normalised
from truegraph.nn.recommenders.triples import Triples


@pytest.fixture(scope="module")
def train() -> csr_array:
    return split_randomly(load_interactions("planted"), random_state=0).train


def made(train: csr_array, **options: object) -> NGCF:
    return NGCF(NGCFSettings(**options), train)  # type: ignore[arg-type]


def noise(step: int = 0) -> Noise:
    return Noise(np.array([7], dtype=np.uint64), step)


def test_the_slope_is_a_fifth_and_vectors_have_256_elements(train: csr_array) -> None:
    assert LEAKY_SLOPE == 0.2
    model = made(train)
    assert model.vectors(model.initial(0), None).shape == (sum(train.shape), 256)


def test_one_layer_is_the_formula() -> None:
    small = csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.float32))
    model = made(small, layers=1, width=4)
    weights = model.initial(3)
    own = weights["embeddings"]
    sent = torch.from_numpy(mean_with_self(small).toarray()).float() @ own
    mixed = sent @ weights["matrix1_0"] + weights["bias1_0"]
    mixed = mixed + (own * sent) @ weights["matrix2_0"] + weights["bias2_0"]
    active = torch.where(mixed > 0, mixed, 0.2 * mixed)
    expected = torch.cat([own, active / active.norm(dim=1, keepdim=True)], dim=1)
    assert torch.allclose(model.vectors(weights, None), expected, atol=1e-6)


def by_torch(model: NGCF, weights: dict[str, torch.Tensor], masks: Noise | None) -> torch.Tensor:
    states = model._states(weights, masks)
    return torch.cat([states[0], *(normalize(state) for state in states[1:])], dim=1)


@pytest.mark.parametrize("masks", [None, noise(4)])
def test_fused_layers_and_their_gradient_are_torchs(train: csr_array, masks: Noise | None) -> None:
    model = made(train, width=16)
    weights = {name: tensor.requires_grad_() for name, tensor in model.initial(1).items()}
    rng = np.random.default_rng(2)
    triples = Triples(
        rng.integers(240, size=200), rng.integers(180, size=200), rng.integers(180, size=(200, 2))
    )
    fused, plain = model.vectors(weights, masks), by_torch(model, weights, masks)
    assert torch.allclose(fused, plain, atol=1e-6)
    for name, ours, theirs in zip(
        weights,
        *(
            torch.autograd.grad(bpr_loss(found, triples, 240, 1e-3), list(weights.values()))
            for found in (fused, plain)
        ),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=2e-7), name


def test_dropout_is_on_in_training_only(train: csr_array) -> None:
    model = made(train)
    weights = model.initial(0)
    calm = model.vectors(weights, None)
    assert torch.equal(calm, model.vectors(weights, None))
    first, second = model.vectors(weights, noise(0)), model.vectors(weights, noise(1))
    assert not torch.equal(first, second)
    dropped = (first[:, 64:128] == 0).float().mean()
    assert dropped == pytest.approx(0.1, abs=0.01)
    assert (calm == 0).sum() == 0


def test_other_published_forms(train: csr_array) -> None:
    weights = made(train, layers=1).initial(0)
    own = weights["embeddings"]
    laplacian = torch.from_numpy(symmetric_normalised(train).toarray()).float()
    sent = laplacian @ own
    plain = (sent + own) @ weights["matrix1_0"] + weights["bias1_0"]
    product = (own * sent) @ weights["matrix2_0"] + weights["bias2_0"]
    for activation, active in (
        ("sum", leaky_relu(plain + product, 0.2)),
        ("terms", leaky_relu(plain, 0.2) + leaky_relu(product, 0.2)),
    ):
        model = made(train, layers=1, operator="laplacian", activation=activation)
        expected = torch.cat([own, normalize(active)], dim=1)
        assert torch.allclose(model.vectors(weights, None), expected, atol=1e-5)
    deep = made(train, pass_on="scaled").initial(0)
    raw, scaled = (made(train, pass_on=form).vectors(deep, None) for form in ("raw", "scaled"))
    assert torch.allclose(raw[:, :128], scaled[:, :128], atol=1e-6)
    assert not torch.allclose(raw[:, 128:], scaled[:, 128:], atol=1e-3)
    model = made(train, node_dropout=0.5)
    assert not torch.equal(model.vectors(deep, noise()), model.vectors(deep, None))


@pytest.mark.parametrize("operator", ["mean", "laplacian"])
def test_a_user_folded_in_with_a_trained_start_is_the_trained_one(
    train: csr_array, operator: str
) -> None:
    """Only the start differs: given the trained embedding, folding in repeats the layers."""
    model = made(train, operator=operator)
    weights = model.initial(0)
    model.first_vectors = lambda w, history: w["embeddings"][:240]  # type: ignore[method-assign]
    folded = model.fold_in(weights, train)
    assert torch.allclose(folded, model.vectors(weights, None)[:240], atol=1e-5)


def test_the_start_of_a_new_user_is_the_mean_two_hops_away() -> None:
    small = csr_array(np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32))
    model = made(small, width=4)
    weights = model.initial(0)
    users = weights["embeddings"][:3]
    history = csr_array(np.array([[1, 1]], dtype=np.float32))
    expected = ((users[0] + users[1]) / 2 + (users[1] + users[2]) / 2) / 2
    assert torch.allclose(model.first_vectors(weights, history)[0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("option", "value"),
    [("message_dropout", 1.0), ("operator", "sum"), ("width", 0), ("learning_rate", -1.0)],
)
def test_impossible_settings(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        NGCFSettings(**{option: value})  # type: ignore[arg-type]
