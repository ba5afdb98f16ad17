"""What every model of node classification gets, and what it gives back.

Labels that a model must not see are -1 in a `Problem` before anything looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.inputs import NodeInputs
from truegraph.data.containers import UNLABELLED
from truegraph.data.operators import normalise_features
from truegraph.learning.learned import LearnedGraph

_SHORTEST = 0.1  # median length of rows of sum one, see `row_scaling`


@dataclass(frozen=True, eq=False)
class Problem:
    """One task of node classification on N nodes with C classes."""

    inputs: NodeInputs
    labels: NDArray[np.int64]  # (N,), -1 where unknown or hidden
    train: NDArray[np.int64]  # (n,), labelled nodes to train on
    validation: NDArray[np.int64]  # (v,), by which training stops, or empty
    classes: int
    seed: int
    device: str = "cpu"
    cache: Path | None = None  # folder of embeddings computed before
    weights: NDArray[np.float64] | None = None  # (N,), of the labels, mean one over `train`

    @property
    def graph(self) -> csr_array:
        """The observed graph, (N, N)."""
        return self.inputs.graph

    @property
    def raw(self) -> csr_array:
        """Features as they were given, (N, F)."""
        return self.inputs.raw

    @cached_property
    def features(self) -> csr_array:
        """Features of a network, (N, F): see `row_scaling`."""
        return normalise_features(self.inputs.raw, by=row_scaling(self.inputs))


class FittedModel(Protocol):
    """What the fit of any model returns: an object of a savable class.

    The expected entropy is the mean over samples of the weights, or over views; None without.
    """

    probabilities: NDArray[np.float32]  # (N, C)
    expected_entropy: NDArray[np.float32] | None  # (N,)
    learned_graph: LearnedGraph | None

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""


def hidden_labels(
    labels: NDArray[np.int64], train: NDArray[np.int64], validation: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return labels (N,) with -1 at all nodes but those of training and validation."""
    shown = np.concatenate([train, validation])
    found = np.full(len(labels), UNLABELLED, dtype=np.int64)
    found[shown] = labels[shown]
    return found


def row_scaling(inputs: NodeInputs) -> str:
    """Return how the rows of a network's features are normalised: by "sum" or by "length".

    By sum, as the authors of GCN do, unless that makes the rows of dense counts so short that 200
    epochs of training hardly leave the start. The median row of Cora has then the length 0.22, of
    Pubmed 0.19, of Citeseer 0.18; of the counts of Amazon Photo 0.07, of UAI2010 0.04.
    """
    if inputs.normalised_by == "length":
        return "length"
    rows = normalise_features(inputs.raw, by="sum")
    squares = rows.multiply(rows).sum(axis=1)
    filled = squares[squares > 0.0]
    is_long = not len(filled) or np.median(filled) >= _SHORTEST**2
    return "sum" if is_long else "length"
