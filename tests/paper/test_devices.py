"""The same code on every device: shapes and gradients of all networks on torch's "meta" device."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.paper.ensemble import AppnpEnsemble, predictors
from truegraph.paper.networks import AUTO_ENCODERS, CLASSIFIERS, RECOMMENDERS, network_class, sparse
from truegraph.paper.networks.ranking import Triples
from truegraph.paper.networks.sparse import SparseMatrix
from truegraph.paper.step import stream


@pytest.fixture(autouse=True)
def shapes_on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teach torch the shapes of two operations that it does not have on the device "meta"."""
    multiplied, reduced = sparse._multiplied, torch.segment_reduce

    def product(matrix: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        if dense.is_meta:
            return dense.new_empty((matrix.shape[0], dense.shape[1]))
        return multiplied(matrix, dense)

    def reduce(data: torch.Tensor, how: str, *, lengths: torch.Tensor, **other) -> torch.Tensor:
        if data.is_meta:
            return data.new_empty((len(lengths), *data.shape[1:]))
        return reduced(data, how, lengths=lengths, **other)

    monkeypatch.setattr(sparse, "_multiplied", product)
    monkeypatch.setattr(torch, "segment_reduce", reduce)


def check_gradients(loss: torch.Tensor, network: torch.nn.Module, unused: tuple = ()) -> None:
    assert loss.shape == ()
    assert loss.is_meta
    used = [weight for name, weight in network.named_parameters() if name not in unused]
    for gradient, weight in zip(torch.autograd.grad(loss, used), used, strict=True):
        assert gradient.is_meta
        assert gradient.shape == weight.shape


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, problem):
    options = {"units": (2, 3), "heads": 2} if name == "dfnet-att" else {}
    network = network_class(name)(12, 3, stream(3, 0), options).to("meta")
    out = network(network.prepare(problem.graph, problem.features))
    assert out.is_meta
    assert out.shape == (60, 3)
    labels = torch.zeros(len(problem.train), dtype=torch.int64, device="meta")
    inputs = network.prepare(problem.graph, problem.features, problem.train)
    loss = torch.nn.functional.cross_entropy(network(inputs), labels)
    check_gradients(loss, network, ("V1", "c1", "V2", "c2"))


@pytest.mark.parametrize("name", AUTO_ENCODERS)
def test_auto_encoders(name, problem):
    kind = network_class(name)
    given = (problem.features, problem.graph, SimpleNamespace(**kind.DEFAULTS), stream(3, 0))
    network = kind(*given, device="meta")
    embedding, vectors = network.embedding(), network.vectors()
    assert embedding.is_meta
    assert vectors.is_meta
    assert len(embedding) == len(vectors) == 60
    noise = stream(3, 1)
    check_gradients(network.loss(noise), network)
    assert len(network.draw(noise)) == 60


@pytest.mark.parametrize("name", RECOMMENDERS)
def test_recommenders(name):
    observed = csr_array((np.random.default_rng(0).random((20, 30)) < 0.2).astype(float))
    network = network_class(name)(observed, {"width": 8}, stream(3, 0), "meta")
    assert network().is_meta
    assert network().shape[0] == 50
    ends = [torch.zeros(shape, dtype=torch.int64, device="meta") for shape in ((5,), (5,), (5, 2))]
    check_gradients(network.loss(Triples(*ends)), network)


def test_the_ensemble(problem):
    W1 = torch.empty((12, 4, 8), device="meta", requires_grad=True)
    W2 = torch.empty((4, 8, 3), device="meta", requires_grad=True)
    found = predictors(W1, W2, SparseMatrix(problem.features, "meta"), 0.0, 0.0, None)
    assert found.is_meta
    assert found.shape == (60, 4, 3)
    gradients = torch.autograd.grad(found.sum(), [W1, W2])
    assert [gradient.shape for gradient in gradients] == [W1.shape, W2.shape]
    scalings = ["sum", "length", "sum", "length"]
    members = AppnpEnsemble(W1, W2, scalings, {"dropout": 0.5, "restart": 0.1, "steps": 2}, 0)
    H = members._predictors(SparseMatrix(problem.features, "meta"), found[:, :, :1], None)
    assert H.shape == (60, 4, 3)
