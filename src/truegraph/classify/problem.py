"""What every model of node classification gets, and what it gives back.

Labels that a model must not see are -1 in a `Problem` before anything looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.inputs import NodeInputs
from truegraph.data.containers import UNLABELLED
from truegraph.data.operators import normalise_features
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph

_SHORTEST = 0.1  # median length of rows of sum one


@dataclass(frozen=True, eq=False)
class Problem:
    """One task of node classification.

    Attributes
    ----------
    inputs : NodeInputs
        Features and observed graph of N nodes.
    labels : ndarray of int64, shape (N,)
        Classes; -1 where unknown or hidden.
    train : ndarray of int64, shape (n,)
        Labelled nodes to train on.
    validation : ndarray of int64, shape (v,)
        Labelled nodes by which training stops; empty for models that do not stop early.
    classes : int
        Number C of classes.
    seed : int
    device : str
        Of torch.
    cache : Path or None
        Folder of embeddings computed before.
    """

    inputs: NodeInputs
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    classes: int
    seed: int
    device: str = "cpu"
    cache: Path | None = None

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

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
        Of the fitted nodes.
    expected_entropy : ndarray of float32, shape (N,), or None
        Mean over the samples of the weights, or over the views, of the entropy of each in nats;
        None for models without samples.
    learned_graph : LearnedGraph or None
    """

    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32] | None
    learned_graph: LearnedGraph | None

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them.

        Parameters
        ----------
        inputs : NodeInputs
            Of N' nodes, from `truegraph.classify.new_nodes.extend_inputs`.
        """


class Model(Protocol):
    """A model by name: what the registry `truegraph.classify.models.MODELS` holds.

    Attributes
    ----------
    defaults : mapping
        The options it takes, with their defaults.
    stops_early : bool
        Whether it needs validation nodes.
    """

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the options with their defaults."""

    @property
    def stops_early(self) -> bool:
        """Whether it needs validation nodes."""

    def fit(self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> FittedModel:
        """Train it."""


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
