"""GAT (Velickovic et al., ICLR 2018): graph attention with several heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from truegraph.nn.attention import Neighbourhoods, attend
from truegraph.nn.dense import add_bias, dropout_values, trial_matmul
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import Settings, glorot_uniform
from truegraph.nn.training.receptive import FieldClassifier, ReceptiveField

_SLOPE = 0.2  # of the leaky rectifier on the scores


@dataclass(frozen=True)
class GATSettings(Settings):
    """Hyperparameters of the authors for Cora and Citeseer.

    For Pubmed they use ``output_heads=8``, ``learning_rate=0.01`` and ``weight_decay=1e-3``.

    Parameters
    ----------
    heads, hidden : int
        Heads of the first layer and width of each.
    output_heads : int
        Heads of the second layer, averaged.
    dropout : float
        On each head's input, coefficients and projected features.
    patience : int or None
        Epochs without a gain in validation loss or accuracy before training stops. None: all
        epochs (choose ``epochs``), and the last weights instead of the best.
    """

    learning_rate: float = 0.005
    epochs: int = 100_000
    heads: int = 8
    hidden: int = 8
    output_heads: int = 1
    dropout: float = 0.6
    patience: int | None = 100


class GAT(FieldClassifier):
    """Two attention layers; heads count as further elements of the batch.

    Weights of a layer with K heads: the projection (T, K, in, width), the two score vectors
    (T, K, width, 2) with their biases (T, K, 2), and the bias of the output (T, K, width). L2 is
    on all of them: the authors' exception for biases never takes effect.
    """

    name = "gat"
    settings_type = GATSettings
    watches_accuracy = True

    def initial(self, seeds: np.ndarray) -> Weights:
        """Return Glorot uniform weights and zero biases."""
        heads, hidden, last = (
            self.settings.heads,
            self.settings.hidden,
            self.settings.output_heads,
        )
        return {
            **_layer(seeds, "first", 0, heads, self.features, hidden),
            **_layer(seeds, "second", 2, last, heads * hidden, self.classes),
        }

    def layers(self, weights: Weights, field: ReceptiveField, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, rows, C) of the outer rows of a field."""
        projected = self._project_features(weights["first"], field.features, noise)
        inner = Neighbourhoods(field.inner, field.inner_own)
        hidden = self._attention(weights, "first", projected, inner, noise, 1)
        joined = torch.nn.functional.elu(hidden).transpose(1, 2).flatten(2)  # (T, n1, K * width)
        projected = self._project_hidden(weights["second"], joined, noise)
        outer = Neighbourhoods(field.outer, field.outer_own)
        heads = self._attention(weights, "second", projected, outer, noise, 4)
        return heads[:, 0] if heads.shape[1] == 1 else _mean_of_heads(heads)

    def _project_features(
        self, weight: torch.Tensor, features: FixedSparse, noise: Noise | None
    ) -> torch.Tensor:
        """Return (T * K, rows, width); each head drops its own features."""
        trials, heads, width = len(weight), weight.shape[1], weight.shape[3]
        dropout = dropout_of(noise, self.settings.dropout, 0, heads)
        if dropout is not None:
            return sparse_product(features, weight.flatten(0, 1), dropout)
        wide = sparse_product(features, weight.transpose(1, 2).flatten(2))
        return wide.view(trials, -1, heads, width).transpose(1, 2).flatten(0, 1)

    def _project_hidden(
        self, weight: torch.Tensor, joined: torch.Tensor, noise: Noise | None
    ) -> torch.Tensor:
        heads = weight.shape[1]
        copies = joined[:, None].expand(-1, heads, -1, -1).flatten(0, 1)
        dropout = dropout_of(noise, self.settings.dropout, 3, heads)
        return trial_matmul(dropout_values(copies, dropout), weight.flatten(0, 1))

    def _attention(
        self,
        weights: Weights,
        layer: str,
        projected: torch.Tensor,
        near: Neighbourhoods,
        noise: Noise | None,
        tag: int,
    ) -> torch.Tensor:
        """Return one layer's output (T, K, rows, width), from (T * K, columns, width)."""
        heads, rate = weights[layer].shape[1], self.settings.dropout
        scores = add_bias(
            trial_matmul(projected, weights[f"{layer}_scores"].flatten(0, 1)),
            weights[f"{layer}_score_bias"].flatten(0, 1),
        )
        values = dropout_values(projected, dropout_of(noise, rate, tag, heads))
        averaged = attend(near, values, scores, _SLOPE, dropout_of(noise, rate, tag + 1, heads))
        shifted = add_bias(averaged, weights[f"{layer}_bias"].flatten(0, 1))
        return shifted.unflatten(0, (-1, heads))


def _layer(seeds: np.ndarray, name: str, tag: int, heads: int, fan_in: int, width: int) -> Weights:
    scores = glorot_uniform(seeds, tag + 1, heads, 2, width, 1)
    return {
        name: glorot_uniform(seeds, tag, heads, fan_in, width),
        f"{name}_scores": scores[..., 0].transpose(2, 3).contiguous(),
        f"{name}_score_bias": torch.zeros(len(seeds), heads, 2),
        f"{name}_bias": torch.zeros(len(seeds), heads, width),
    }


def _mean_of_heads(heads: torch.Tensor) -> torch.Tensor:
    """Average (T, K, rows, C) over K, one after the other."""
    total = heads[:, 0]
    for k in range(1, heads.shape[1]):
        total = total + heads[:, k]
    return total / heads.shape[1]
