"""What the node classifiers have in common: options, inputs for some nodes, a loss.

A network is one class in a file of its own. It says how the graph becomes the matrix that it
multiplies with (`operator`), what it computes for some nodes (`prepare`), and its formula
(`forward`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.operators import normalised_adjacency
from truegraph.options import checked_options
from truegraph.paper.networks.sparse import Noise, field


class NodeNetwork(torch.nn.Module):
    """A node classifier for F features and C classes.

    `generator` draws the first weights on the CPU; `options` take the place of those of `DEFAULTS`.
    """

    name: ClassVar[str]
    DEFAULTS: ClassVar[dict[str, Any]]
    watches_accuracy: ClassVar[bool] = False  # not only the loss, where training stops early

    def __init__(
        self,
        features: int,
        classes: int,
        generator: torch.Generator,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.features, self.classes = features, classes
        self.options = SimpleNamespace(**checked_options(self.DEFAULTS, options))
        self.start(generator)

    def start(self, generator: torch.Generator) -> None:
        """Make the weights."""
        raise NotImplementedError

    @staticmethod
    def operator(graph: csr_array) -> csr_array:
        """Return D^(-1/2) (A + I) D^(-1/2) of a weighted graph A (N, N), D the degrees of A + I."""
        return normalised_adjacency(graph)

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> Any:
        """Return what `forward` needs for some nodes, by default for all."""
        return field(self.operator(graph), features, nodes, self.device)

    def forward(self, inputs: Any, noise: Noise = None) -> torch.Tensor:
        """Return the logits (rows, C) of the prepared nodes; dropout only with noise."""
        raise NotImplementedError

    def prepare_loss(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64], labels: torch.Tensor
    ) -> Any:
        """Return what `loss` needs for the labelled nodes (n,) with their labels (n,)."""
        return self.prepare(graph, features, nodes), labels

    def loss(self, prepared: Any, noise: Noise) -> torch.Tensor:
        """Return the mean cross-entropy of the labelled nodes."""
        inputs, labels = prepared
        return torch.nn.functional.cross_entropy(self(inputs, noise), labels)

    def weight_decay(self) -> dict[str, float]:
        """Return the coefficient of L2 of each weight that has one: here of all, biases too."""
        names = [name for name, _ in self.named_parameters()]
        return dict.fromkeys(names, self.options.weight_decay)

    def constrain(self) -> None:
        """Change weights in place where a network restricts them after every step."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device
