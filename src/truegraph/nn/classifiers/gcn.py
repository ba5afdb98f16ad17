"""GCN (Kipf & Welling, ICLR 2017): two graph convolutions without bias."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from truegraph.nn.dense import relu_dropout, trial_matmul
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import sparse_product
from truegraph.nn.training.base import TwoLayerSettings, TwoMatrices
from truegraph.nn.training.receptive import FieldClassifier, ReceptiveField


@dataclass(frozen=True)
class GCNSettings(TwoLayerSettings):
    """Hyperparameters of Kipf & Welling; no early stopping."""


class GCN(TwoMatrices, FieldClassifier):
    """softmax(A relu(A X W1) W2) with A = D^(-1/2) (A_obs + I) D^(-1/2)."""

    name = "gcn"
    settings_type = GCNSettings

    def layers(self, weights: Weights, field: ReceptiveField, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, rows, C) of the outer rows of a field."""
        rate = self.settings.dropout
        projected = sparse_product(field.features, weights["first"], dropout_of(noise, rate, 0))
        hidden = sparse_product(field.inner, projected)
        hidden = relu_dropout(hidden, dropout_of(noise, rate, 1))
        return trial_matmul(sparse_product(field.outer, hidden), weights["second"])
