"""SBM-GCN (G3NN, Ma et al., NeurIPS 2019): a GCN trained with a generative model of the graph.

Labels have a perceptron as prior given the features, edges a block model given the labels
(probability `within` inside a class, `between` across), and the GCN is the posterior q. The loss is
what the authors' code minimises, which is what the published numbers come from. It departs from the
negative evidence bound in three ways: the entropy of q enters with the wrong sign, the edge term
uses the prior's probabilities and not q, and the terms are averaged and not summed over classes.
"""

from __future__ import annotations

from math import log
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch.nn.functional import cross_entropy

from truegraph.data.operators import without_diagonal
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.networks.sparse import (
    Field,
    Noise,
    SparseMatrix,
    dropped,
    field,
    glorot_uniform,
    uniform,
    zeros,
)


class SBMGCN(NodeNetwork):
    """q = A relu(A X W1 + b1) W2 + b2 and the prior relu(X V1 + c1) V2 + c2; L2 on all."""

    name = "sbm-gcn"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 64,
        "dropout": 0.5,
        "within": 0.9,
        "between": 0.1,
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "epochs": 2000,
        "patience": 200,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make Glorot's weights for the GCN and those of torch's linear layers for the prior."""
        features, hidden, classes = self.features, self.options.hidden, self.classes
        self.W1, self.b1 = glorot_uniform(generator, features, hidden), zeros(hidden)
        self.W2, self.b2 = glorot_uniform(generator, hidden, classes), zeros(classes)
        self.V1 = uniform(generator, features**-0.5, features, hidden)
        self.c1 = uniform(generator, features**-0.5, hidden)
        self.V2 = uniform(generator, hidden**-0.5, hidden, classes)
        self.c2 = uniform(generator, hidden**-0.5, classes)

    def forward(self, inputs: Field, noise: Noise = None) -> torch.Tensor:
        hidden = torch.relu(inputs.inner.times(inputs.features.times(self.W1)) + self.b1)
        hidden = dropped(hidden, self.options.dropout, noise)
        return inputs.outer.times(hidden @ self.W2) + self.b2

    def prior(self, features: SparseMatrix, noise: Noise) -> torch.Tensor:
        """Return the logits (N, C) of the prior: a perceptron on the features."""
        rate = self.options.dropout
        hidden = torch.relu(features.times(self.V1, rate, noise) + self.c1)
        return dropped(hidden, rate, noise) @ self.V2 + self.c2

    def prepare_loss(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64], labels: torch.Tensor
    ) -> Any:
        """Return inputs, edges as 0/1, known labels as one-hot rows (N, C), and both labels."""
        edges = without_diagonal(graph)
        edges.data[:] = 1.0
        where = torch.from_numpy(nodes).to(labels.device)
        one_hot = torch.zeros((graph.shape[0], self.classes), device=labels.device)
        one_hot[where, labels] = 1.0
        whole = field(self.operator(graph), features, None, self.device)
        return whole, SparseMatrix(edges, self.device), one_hot, where, labels

    def loss(self, prepared: Any, noise: Noise) -> torch.Tensor:
        """Return edge term + prior term + entropy term + supervision of the prior and of q."""
        inputs, edges, one_hot, nodes, labels = prepared
        prior, logits = self.prior(inputs.features, noise), self(inputs, noise)
        log_prior, log_q = torch.log_softmax(prior, 1), torch.log_softmax(logits, 1)
        unknown = 1.0 - one_hot.sum(1, keepdim=True)
        open_q = log_q.exp() * unknown
        count = self.classes * unknown.sum().clamp(min=1.0)
        terms = self._edge_term(log_prior.exp() * unknown + one_hot, edges, noise)
        terms = terms - (open_q * log_prior).sum() / count - (open_q * log_q).sum() / count
        for found in (prior, logits):
            terms = terms + cross_entropy(found.index_select(0, nodes), labels)
        return terms

    def _edge_term(self, y: torch.Tensor, edges: SparseMatrix, noise: Noise) -> torch.Tensor:
        """Return -mean over edges and over as many random pairs of y_i . y_j log odds."""
        linked, count = (y * edges.times(y)).sum(), len(edges.values)
        pairs = torch.randint(len(y), (2, count), generator=noise, device=y.device)
        apart = (y.index_select(0, pairs[0]) * y.index_select(0, pairs[1])).sum()
        p0, p1 = self.options.within, self.options.between
        odds = log(p0 / p1) * linked + log((1 - p0) / (1 - p1)) * apart
        return -odds / (max(count, 1) * self.classes)
