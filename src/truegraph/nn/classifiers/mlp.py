"""A two-layer perceptron on the features: what there is to gain without a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from scipy.sparse import csr_array

from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import Weights
from truegraph.nn.perceptron import perceptron
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs, TwoLayerSettings, TwoMatrices
from truegraph.nn.training.targets import Targets, cross_entropy


@dataclass(frozen=True)
class MLPSettings(TwoLayerSettings):
    """Hyperparameters of the perceptron that Kipf & Welling compare with."""


class MLP(TwoMatrices):
    """softmax(relu(X W1) W2); the graph is not used."""

    name = "mlp"
    settings_type = MLPSettings

    @staticmethod
    def operator(adjacency: Any) -> csr_array:
        """Return an empty matrix of the graph's size."""
        return csr_array(adjacency.shape)

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C)."""
        return perceptron(weights, inputs.features, noise, self.settings.dropout)

    def prepare(self, inputs: Inputs, targets: Targets) -> tuple[FixedSparse, Targets]:
        """Return the features of the labelled nodes."""
        return inputs.features.select_rows(targets.sets()), targets.local()

    def loss(
        self, weights: Weights, inputs: Inputs, prepared: tuple[FixedSparse, Targets], noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return the mean cross-entropy of each trial's labelled nodes, (T,)."""
        features, targets = prepared
        logits = perceptron(weights, features, noise, self.settings.dropout)
        return cross_entropy(logits, targets), {}
