"""The part of the graph that a loss can see.

With few labelled nodes, a two-layer network's training loss depends on the nodes within two
steps of them and on nothing else. Computing only those gives the same loss and gradient as the
whole graph, several times faster on a sparse graph.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Classifier, Inputs
from truegraph.nn.training.targets import Targets, cross_entropy


class ReceptiveField(NamedTuple):
    """Operators of a two-layer network, one set per trial or the whole graph for all.

    ``features`` (n2, F) are those of the nodes within two steps of the labelled nodes,
    ``inner`` (n1, n2) leads from them to the nodes within one step, ``outer`` (n0, n1) to the
    labelled nodes themselves. Trials with smaller fields are filled up with empty rows.
    ``inner_own`` (count, n1) and ``outer_own`` (count, n0), int64, say which column is a row's
    own node.
    """

    features: FixedSparse
    inner: FixedSparse
    outer: FixedSparse
    inner_own: np.ndarray
    outer_own: np.ndarray


def whole_graph(inputs: Inputs) -> ReceptiveField:
    """Return the field in which every node is wanted."""
    operator = inputs.operator
    own = np.tile(np.arange(operator.shape[0]), (operator.count, 1))
    return ReceptiveField(inputs.features, operator, operator, own, own)


def receptive_field(inputs: Inputs, targets: Targets) -> tuple[ReceptiveField, Targets]:
    """Return each trial's receptive field, and the targets as positions in its outer rows.

    Every node has to be its own neighbour in the operator.
    """
    inner, outer, nodes, inner_own, outer_own = [], [], [], [], []
    for operator, labelled in zip(operators_of(inputs, targets), targets.sets(), strict=True):
        last, within_one = compact_columns(operator[labelled])
        first, within_two = compact_columns(operator[within_one])
        outer.append(last)
        inner.append(first)
        nodes.append(within_two)
        outer_own.append(np.searchsorted(within_one, labelled))
        inner_own.append(np.searchsorted(within_two, within_one))
    field = ReceptiveField(
        inputs.features.select_rows(nodes),
        FixedSparse(inner),
        FixedSparse(outer),
        _filled_up(inner_own),
        _filled_up(outer_own),
    )
    return field, targets.local()


class FieldClassifier(Classifier):
    """A network of two layers, trained on the receptive field of the labelled nodes."""

    @abstractmethod
    def layers(self, weights: Weights, field: ReceptiveField, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, rows, C) of the outer rows of a field."""

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C)."""
        return self.layers(weights, whole_graph(inputs), noise)

    def prepare(self, inputs: Inputs, targets: Targets) -> tuple[ReceptiveField, Targets]:
        """Return the nodes within two steps of the labelled ones: all that the loss depends on."""
        return receptive_field(inputs, targets)

    def loss(
        self,
        weights: Weights,
        inputs: Inputs,
        prepared: tuple[ReceptiveField, Targets],
        noise: Noise,
    ) -> tuple[torch.Tensor, Weights]:
        """Return the mean cross-entropy of each trial's labelled nodes, (T,)."""
        field, targets = prepared
        return cross_entropy(self.layers(weights, field, noise), targets), {}


def _filled_up(positions: list[np.ndarray]) -> np.ndarray:
    filled = np.zeros((len(positions), max(map(len, positions))), dtype=np.int64)
    for row, own in zip(filled, positions, strict=True):
        row[: len(own)] = own
    return filled


def operators_of(inputs: Inputs, targets: Targets) -> list[csr_array]:
    """Return the operator of each trial; a shared one appears T times."""
    operators = [inputs.operator.to_scipy(k) for k in range(inputs.operator.count)]
    return operators if len(operators) > 1 else operators * targets.trials


def compact_columns(matrix: csr_array) -> tuple[csr_array, np.ndarray]:
    """Return the matrix without its empty columns, and which columns are left, ascending."""
    columns = np.unique(matrix.indices)
    place = np.zeros(matrix.shape[1], dtype=matrix.indices.dtype)
    place[columns] = np.arange(len(columns))
    parts = (matrix.data, place[matrix.indices], matrix.indptr)
    return csr_array(parts, shape=(matrix.shape[0], len(columns))), columns
