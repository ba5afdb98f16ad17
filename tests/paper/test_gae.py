"""GAE and VGAE: against torch-geometric, and worked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.paper.networks.gae import GAE, VGAE, divergence

RING = sparse.csr_array(np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1))


def model_of(kind, features, graph, **options):
    chosen = SimpleNamespace(**{**kind.DEFAULTS, **options})
    return kind(features, graph, chosen, torch.Generator().manual_seed(0))


class Encoder(torch.nn.Module):
    """The encoder of the examples of torch-geometric."""

    def __init__(self, layer, weights) -> None:
        super().__init__()
        layers = [layer(*weight.shape, bias=False) for weight in weights]
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x, edges):
        hidden = self.layers[0](x, edges).relu()
        found = [layer(hidden, edges) for layer in self.layers[1:]]
        return tuple(found) if len(found) == 2 else found[0]


@pytest.mark.parametrize("kind", [GAE, VGAE])
def test_same_weights_give_what_torch_geometric_gives(problem, kind):
    pyg = pytest.importorskip("torch_geometric").nn
    ours = model_of(kind, problem.raw, problem.graph)
    edges = torch.from_numpy(np.stack(problem.graph.nonzero()))
    weights = list(ours.parameters())
    other = getattr(pyg, kind.__name__)(Encoder(pyg.GCNConv, weights)).eval()
    for layer, weight in zip(other.encoder.layers, weights, strict=True):
        layer.lin.weight.data = weight.detach().T.clone()
    z = other.encode(torch.from_numpy(problem.raw.toarray()).float(), edges)
    torch.testing.assert_close(ours.embedding(), z)
    logits = other.decoder.forward_all(z, sigmoid=False)
    torch.testing.assert_close(ours.vectors() @ ours.vectors().T, logits)
    if kind is VGAE:
        mean, log_std = ours.posterior()
        # Theirs is the mean over nodes alone; the authors' code divides by N once more.
        kl = other.kl_loss(mean, log_std) / len(z)
        torch.testing.assert_close(divergence(mean, log_std), kl)


def test_forward_pass_and_loss_on_four_nodes_worked_by_hand():
    # On the ring every row of the operator is a mean over a node and its two neighbours:
    # A x = (-1/3, 2, 1/3, 0), so relu gives (0, 2, 1/3, 0) and (1/3, 0, 0, 0), and the second
    # mean gives (2/3, 7/9, 7/9, 1/9) and (1/9, 1/9, 0, 1/9).
    features = sparse.csr_array(np.array([[1.0], [2.0], [3.0], [-4.0]]))
    model = model_of(VGAE, features, RING, hidden=2, dimension=1)
    model.W_0.data = torch.tensor([[1.0, -1.0]])
    model.W_1.data = torch.tensor([[3.0], [9.0]])
    model.W_2.data = torch.tensor([[0.0], [-9.0]])
    mean, log_std = np.array([3.0, 10 / 3, 7 / 3, 4 / 3]), np.array([-1.0, -1.0, 0.0, -1.0])
    for found, wanted in zip(model.posterior(), (mean, log_std), strict=True):
        np.testing.assert_allclose(found.detach().ravel(), wanted, rtol=1e-5)
    loss = model.loss(torch.Generator().manual_seed(5)).item()
    noise = torch.randn((4, 1), generator=torch.Generator().manual_seed(5)).numpy().ravel()
    z = mean + noise * np.exp(log_std)
    logits, target = np.outer(z, z), RING.toarray() + np.eye(4)
    # Eight of sixteen pairs are links: pos_weight (16 - 8)/8 = 1, norm 16/(2 (16 - 8)) = 1.
    cross_entropy = np.mean(np.logaddexp(0.0, logits) - target * logits)
    kl = 0.5 / 4 * np.mean(mean**2 + np.exp(2 * log_std) - 1 - 2 * log_std)
    assert loss == pytest.approx(cross_entropy + kl, rel=1e-5)
