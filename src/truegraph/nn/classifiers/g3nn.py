"""SBM-GCN (G3NN, Ma et al., NeurIPS 2019): a GCN trained with a generative model of the graph.

Labels have a perceptron as prior given the features, edges a block model given the labels
(probability p0 within a class, p1 between classes), and the GCN is the posterior q. By default
the loss is what the authors' code minimises, which is what the published numbers come from; it
departs from the negative evidence bound in three ways: the entropy of q enters with the wrong
sign, the edge term uses the prior's probabilities and not q, and the terms are averaged and not
summed over classes. ``elbo="corrected"`` puts all three right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.block_model.membership_pairs import random_pair_agreement
from truegraph.nn.dense import add_bias, relu_dropout, row_sum, trial_matmul
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.graph_operators import without_diagonal
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import Classifier, Inputs, Settings, drawn, glorot_uniform
from truegraph.nn.training.receptive import operators_of
from truegraph.nn.training.targets import Targets, cross_entropy

_PAIRS = 100  # tag of the random pairs among the layers' random numbers


@dataclass(frozen=True)
class G3NNSettings(Settings):
    """Hyperparameters of the authors.

    Parameters
    ----------
    hidden : int
        Of the perceptron and of the GCN.
    dropout : float
        On the hidden layers of both and on the features of the perceptron.
    within, between : float
        Edge probabilities p0 and p1 of the block model.
    supervision : float
        Weight of the cross-entropy of q on the labelled nodes.
    patience : int or None
        Epochs without a lower validation loss before training stops. None: all epochs, and the
        last weights instead of the best; with five labels per class they have collapsed.
    elbo : "published" or "corrected"
    """

    epochs: int = 2000
    hidden: int = 64
    dropout: float = 0.5
    within: float = 0.9
    between: float = 0.1
    supervision: float = 1.0
    patience: int | None = 200
    elbo: str = "published"


class Generative(NamedTuple):
    """What the loss needs beside the inputs, for each trial.

    The observed edges as 0/1 matrices, their numbers (T,), the labels (T, N, C) as one-hot rows
    that are zero where unknown, and the nodes whose label is unknown (T, N, 1) as 0/1.
    """

    edges: FixedSparse
    counts: np.ndarray
    one_hot: torch.Tensor
    unknown: torch.Tensor
    targets: Targets


class G3NN(Classifier):
    """A GCN with biases whose loss also explains the graph."""

    name = "sbm-gcn"
    settings_type = G3NNSettings

    def __init__(self, settings: G3NNSettings, features: int, classes: int) -> None:
        super().__init__(settings, features, classes)
        if settings.elbo not in ("published", "corrected"):
            raise InputError(f'elbo={settings.elbo!r} must be "published" or "corrected".')

    def initial(self, seeds: np.ndarray) -> Weights:
        """Return Glorot uniform weights for the GCN, torch's linear ones for the prior."""
        features, hidden, classes = self.features, self.settings.hidden, self.classes
        first, first_bias = _linear(seeds, 2, features, hidden)
        second, second_bias = _linear(seeds, 3, hidden, classes)
        return {
            "first": glorot_uniform(seeds, 0, features, hidden),
            "first_bias": torch.zeros(len(seeds), hidden),
            "second": glorot_uniform(seeds, 1, hidden, classes),
            "second_bias": torch.zeros(len(seeds), classes),
            "prior_first": first,
            "prior_first_bias": first_bias,
            "prior_second": second,
            "prior_second_bias": second_bias,
        }

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C) of the posterior q; its features are never dropped."""
        hidden = sparse_product(inputs.operator, sparse_product(inputs.features, weights["first"]))
        hidden = add_bias(hidden, weights["first_bias"])
        hidden = relu_dropout(hidden, dropout_of(noise, self.settings.dropout, 0))
        logits = sparse_product(inputs.operator, trial_matmul(hidden, weights["second"]))
        return add_bias(logits, weights["second_bias"])

    def prior(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C) of the prior: a perceptron on the features."""
        rate = self.settings.dropout
        hidden = sparse_product(inputs.features, weights["prior_first"], dropout_of(noise, rate, 1))
        hidden = add_bias(hidden, weights["prior_first_bias"])
        hidden = relu_dropout(hidden, dropout_of(noise, rate, 2))
        return add_bias(trial_matmul(hidden, weights["prior_second"]), weights["prior_second_bias"])

    def prepare(self, inputs: Inputs, targets: Targets) -> Generative:
        """Return edges and labels in the form of the loss."""
        edges = [_pattern(operator) for operator in operators_of(inputs, targets)]
        counts = np.array([matrix.nnz for matrix in edges], dtype=np.int64)
        shared = edges[:1] if inputs.operator.count == 1 else edges
        one_hot, member = targets.indicator(inputs.operator.shape[0], self.classes)
        unknown = (~member)[:, :, None].astype(np.float32)
        tensors = (torch.from_numpy(one_hot), torch.from_numpy(unknown))
        return Generative(FixedSparse(shared), counts, *tensors, targets)

    def loss(
        self, weights: Weights, inputs: Inputs, prepared: Generative, noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return edge term + prior term + entropy term + supervision, each (T,)."""
        prior_logits = self.prior(weights, inputs, noise)
        logits = self.forward(weights, inputs, noise)
        log_prior, log_q = torch.log_softmax(prior_logits, 2), torch.log_softmax(logits, 2)
        q = log_q.exp()
        corrected = self.settings.elbo == "corrected"
        terms = (
            self._edge_term(q if corrected else log_prior.exp(), prepared, noise)
            + self._mean_over_unknown(-q * log_prior, prepared)
            + self._mean_over_unknown(q * log_q if corrected else -q * log_q, prepared)
        )
        if corrected:
            terms = self.classes * terms
        targets = prepared.targets
        supervised = cross_entropy(prior_logits, targets)
        supervised = supervised + self.settings.supervision * cross_entropy(logits, targets)
        return terms + supervised, {}

    def _edge_term(
        self, probabilities: torch.Tensor, prepared: Generative, noise: Noise
    ) -> torch.Tensor:
        """Return -mean over edges and over as many random pairs of y_i . y_j log odds."""
        place = probabilities.device
        memberships = probabilities * prepared.unknown.to(place) + prepared.one_hot.to(place)
        linked = _total(memberships * sparse_product(prepared.edges, memberships))
        keys = noise.keys(_PAIRS)
        drawn_pairs = random_pair_agreement(memberships, keys, prepared.counts)
        within, between = self.settings.within, self.settings.between
        odds = np.log(within / between), np.log((1 - within) / (1 - between))
        size = torch.from_numpy(np.maximum(prepared.counts, 1)).to(place) * self.classes
        return -(float(odds[0]) * linked + float(odds[1]) * drawn_pairs) / size

    def _mean_over_unknown(self, terms: torch.Tensor, prepared: Generative) -> torch.Tensor:
        unknown = prepared.unknown.to(terms.device)
        return _total(terms * unknown) / (self.classes * unknown.sum((1, 2)).clamp(min=1))


def _linear(
    seeds: np.ndarray, layer: int, fan_in: int, fan_out: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return weights and bias of a linear layer as torch starts them."""
    limit = 1.0 / np.sqrt(fan_in)
    both = drawn(seeds, layer, lambda rng: rng.uniform(-limit, limit, (fan_in + 1, fan_out)))
    return both[:, :-1].contiguous(), both[:, -1].contiguous()


def _pattern(operator: csr_array) -> csr_array:
    edges = without_diagonal(operator)
    edges.data[:] = 1.0
    return edges


def _total(tensor: torch.Tensor) -> torch.Tensor:
    """Sum a (T, N, C) tensor within each trial, in order."""
    return row_sum(tensor.flatten(1)[:, :, None])[:, 0]
