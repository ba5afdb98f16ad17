"""The receptive field gives the loss and gradient of the whole graph."""

from __future__ import annotations

import numpy as np
import torch

from truegraph.nn.classifiers.gcn import GCN, GCNSettings
from truegraph.nn.dropout import Noise
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.receptive import receptive_field
from truegraph.nn.training.targets import Targets, cross_entropy


def _setting(problem, graphs) -> tuple[GCN, Inputs, Targets]:
    model = GCN(GCNSettings(dropout=0.0), 12, 3)
    operators = FixedSparse([GCN.operator(graph) for graph in graphs])
    targets = Targets.from_sets(np.tile(problem.labels, (5, 1)), problem.train, "train")
    return model, Inputs(FixedSparse(problem.features), operators), targets


def test_loss_and_gradient_are_those_of_the_whole_graph(problem, other_graphs) -> None:
    for graphs in ([problem.graph], other_graphs):
        model, inputs, targets = _setting(problem, graphs)
        weights = {n: w.requires_grad_() for n, w in model.initial(np.arange(5)).items()}
        noise = Noise(np.arange(5, dtype=np.uint64), 0)
        small, _ = model.loss(weights, inputs, model.prepare(inputs, targets), noise)
        whole = cross_entropy(model.forward(weights, inputs, noise), targets)
        torch.testing.assert_close(small, whole)
        for name in weights:
            parts = [
                torch.autograd.grad(x.sum(), weights[name], retain_graph=True)
                for x in (small, whole)
            ]
            torch.testing.assert_close(*(part[0] for part in parts))


def test_the_field_holds_the_nodes_within_two_steps(problem) -> None:
    _, inputs, targets = _setting(problem, [problem.graph])
    field, moved = receptive_field(inputs, targets)
    reach = (problem.graph.toarray() + np.eye(60)) > 0
    one = [reach[nodes].any(0) for nodes in problem.train]
    two = [reach[nodes].any(0) for nodes in one]
    assert field.outer.shape == (9, max(r.sum() for r in one))
    assert field.inner.shape == (max(r.sum() for r in one), max(r.sum() for r in two))
    assert field.features.shape == (max(r.sum() for r in two), 12)
    assert moved.nodes.tolist()[:8] == [0, 1, 2, 3, 4, 5, 0, 1]
