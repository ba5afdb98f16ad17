"""Neural graph collaborative filtering (NGCF), Wang et al., SIGIR 2019.

One layer, with P the operator of the graph and E the embeddings of users and items::

    S  = P E
    E' = dropout(LeakyReLU_0.2(S W1 + b1 + (E * S) W2 + b2))

A node's vector joins its embedding with every layer's output scaled to unit length. The default is
the form with a published match of the original figures: P = D^-1 (A + I) in both terms, the sum
inside the activation, layers that pass on their output before it is scaled. The settings
``operator``, ``activation`` and ``pass_on`` give the paper's and other published forms.

The learning rate decides more than the form: on ML100K 0.01, the default of the authors' program,
ends at the recall that is printed for NGCF elsewhere, 0.001 three points above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from torch.nn.functional import leaky_relu, normalize

from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import (
    RankingModel,
    RankingSettings,
    check_choice,
    check_rate,
    drop,
    glorot,
    initial_embeddings,
)
from truegraph.nn.recommenders.ngcf_layers import Layer, joined_layers
from truegraph.nn.recommenders.propagation import Propagation, mean_with_self, symmetric_normalised
from truegraph.nn.recommenders.triples import Sampling

LEAKY_SLOPE = 0.2  # torch's own default is 0.01
_NODE_DROPOUT = 100  # layers' numbers for the masks of the operator's entries


@dataclass(frozen=True)
class NGCFSettings(RankingSettings):
    """Hyperparameters of NGCF.

    Parameters
    ----------
    layers : int
        Number of layers; each is `width` wide.
    message_dropout : float
        Rate of dropout on every layer's output.
    node_dropout : float
        Rate of dropout on the entries of the operator.
    operator : {"mean", "laplacian"}
        "mean": D^-1 (A + I) in both terms. "laplacian": L + I in the first and L in the second,
        L = D^-1/2 A D^-1/2, as in the paper and in RecBole.
    activation : {"sum", "terms"}
        LeakyReLU of the sum, or of each of the two terms (the authors' code).
    pass_on : {"raw", "scaled"}
        What the next layer gets; "scaled" is RecBole's.
    """

    penalty: float = 1e-5
    layers: int = 3
    message_dropout: float = 0.1
    node_dropout: float = 0.0
    operator: Literal["mean", "laplacian"] = "mean"
    activation: Literal["sum", "terms"] = "sum"
    pass_on: Literal["raw", "scaled"] = "raw"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("message_dropout", self.message_dropout)
        check_rate("node_dropout", self.node_dropout)
        check_choice("operator", self.operator, ("mean", "laplacian"))
        check_choice("activation", self.activation, ("sum", "terms"))
        check_choice("pass_on", self.pass_on, ("raw", "scaled"))


class NGCF(RankingModel):
    """NGCF; vectors have width * (layers + 1) elements."""

    name: ClassVar[str] = "ngcf"
    settings_type: ClassVar[type[RankingSettings]] = NGCFSettings
    sampling: ClassVar[Sampling] = "users"
    settings: NGCFSettings

    def __init__(self, settings: NGCFSettings, train: csr_array) -> None:
        super().__init__(settings, train)
        is_mean = settings.operator == "mean"
        self.operator = Propagation((mean_with_self if is_mean else symmetric_normalised)(train))

    def initial(self, seed: int) -> Weights:
        """Return Glorot-uniform embeddings, matrices and biases."""
        width = self.settings.width
        weights = {"embeddings": initial_embeddings(seed, self.n_users, self.n_items, width)}
        for layer in range(self.settings.layers):
            for term in (1, 2):
                tag = 10 * (layer + 1) + 2 * term
                weights[f"matrix{term}_{layer}"] = glorot(seed, tag, width, width)
                weights[f"bias{term}_{layer}"] = glorot(seed, tag + 1, 1, width)[0]
        return weights

    def vectors(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        """Return the embedding and every layer's scaled output side by side."""
        if self._is_default_form:
            return self._joined(weights, noise)
        states = self._states(weights, noise)
        return torch.cat([states[0], *(normalize(state) for state in states[1:])], dim=1)

    @property
    def _is_default_form(self) -> bool:
        chosen = self.settings
        return (chosen.operator, chosen.activation, chosen.pass_on, chosen.node_dropout) == (
            "mean",
            "sum",
            "raw",
            0.0,
        )

    def _joined(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        numbers = range(self.settings.layers)
        parts = ("matrix1", "bias1", "matrix2", "bias2")
        return joined_layers(
            weights["embeddings"],
            [Layer(*(weights[f"{part}_{layer}"] for part in parts)) for layer in numbers],
            self.operator,
            LEAKY_SLOPE,
            [dropout_of(noise, self.settings.message_dropout, layer) for layer in numbers],
        )

    def _states(self, weights: Weights, noise: Noise | None) -> list[torch.Tensor]:
        """Return the embeddings and the output of every layer, unscaled."""
        states = [weights["embeddings"]]
        for layer in range(self.settings.layers):
            own = self._carried(states[-1], layer)
            entries = dropout_of(noise, self.settings.node_dropout, _NODE_DROPOUT + layer)
            messages = self.operator(own, entries)
            states.append(self._layer(weights, layer, own, messages, noise))
        return states

    def _carried(self, state: torch.Tensor, layer: int) -> torch.Tensor:
        return normalize(state) if self.settings.pass_on == "scaled" and layer else state

    def _layer(
        self,
        weights: Weights,
        layer: int,
        own: torch.Tensor,
        messages: torch.Tensor,
        noise: Noise | None,
    ) -> torch.Tensor:
        plain = messages + own if self.settings.operator == "laplacian" else messages
        matrices = [weights[f"matrix{term}_{layer}"] for term in (1, 2)]
        biases = [weights[f"bias{term}_{layer}"] for term in (1, 2)]
        first = torch.addmm(biases[0], plain, matrices[0])
        second = torch.addmm(biases[1], own * messages, matrices[1])
        if self.settings.activation == "sum":
            active = leaky_relu(first + second, LEAKY_SLOPE)
        else:
            active = leaky_relu(first, LEAKY_SLOPE) + leaky_relu(second, LEAKY_SLOPE)
        return drop(active, noise, self.settings.message_dropout, layer)

    def fold_in(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Send the items' states through the layers to the new users, item states unchanged."""
        own_share, rows = self._history_rows(history)
        item_states = [state[self.n_users :].detach() for state in self._states(weights, None)]
        states = [self.first_vectors(weights, history)]
        for layer in range(self.settings.layers):
            own = self._carried(states[-1], layer)
            items = self._carried(item_states[layer], layer).numpy()
            messages = torch.from_numpy((rows @ items).astype(np.float32)) + own_share * own
            states.append(self._layer(weights, layer, own, messages, None).detach())
        return torch.cat([states[0], *(normalize(state) for state in states[1:])], dim=1)

    def _history_rows(self, history: csr_array) -> tuple[torch.Tensor, csr_array]:
        """Return the share of itself (m, 1) and of the items (m, n_items) in a user's message."""
        counts = np.diff(history.indptr).astype(np.float64)
        if self.settings.operator == "mean":
            scale = 1.0 / (counts + 1.0)
            own = torch.from_numpy(scale.astype(np.float32))[:, None]
            return own, csr_array(diags_array(scale) @ history)
        degrees = np.bincount(self.train.indices, minlength=self.n_items)
        by_item = 1.0 / np.sqrt(np.maximum(degrees, 1.0))
        by_user = 1.0 / np.sqrt(np.maximum(counts, 1.0))
        rows = csr_array(diags_array(by_user) @ history @ diags_array(by_item))
        return torch.zeros((len(counts), 1)), rows
