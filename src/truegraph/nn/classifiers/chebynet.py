"""ChebyNet (Defferrard et al., NeurIPS 2016) in the form Kipf & Welling compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array, vstack
from scipy.sparse.linalg import eigsh

from truegraph.nn.dense import relu_dropout, trial_matmul
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import Classifier, Inputs, Settings, glorot_uniform
from truegraph.nn.training.receptive import operators_of
from truegraph.nn.training.targets import Targets, cross_entropy

_SMALL = 10  # below this, all eigenvalues at once


@dataclass(frozen=True)
class ChebyNetSettings(Settings):
    """Hyperparameters of Kipf & Welling's ``gcn_cheby``.

    Parameters
    ----------
    hidden : int
    dropout : float
        On the stored features and on the hidden layer.
    degree : int
        Degree K of the polynomials: K + 1 weight matrices per layer.
    """

    hidden: int = 16
    dropout: float = 0.5
    degree: int = 3


class ChebyNet(Classifier):
    """Layers sum_k T_k(L) X W_k, L the normalised Laplacian scaled to [-1, 1].

    A layer's matrices W_0 .. W_K stand side by side in "first" (T, F, (K + 1) hidden) and one
    below the other in "second" (T, (K + 1) hidden, C).
    """

    name = "chebynet"
    settings_type = ChebyNetSettings

    @staticmethod
    def operator(adjacency: Any) -> csr_array:
        """Return (2 / largest eigenvalue) (I - D^(-1/2) A D^(-1/2)) - I, without self-loops."""
        walk = normalised_adjacency(adjacency, self_loops=False)
        identity = eye_array(walk.shape[0], format="csr")
        laplacian = csr_array(identity - walk)
        return csr_array((2.0 / _largest_eigenvalue(laplacian)) * laplacian - identity)

    def initial(self, seeds: np.ndarray) -> Weights:
        """Return Glorot uniform weights, each matrix with the range of its own size."""
        supports, hidden = self.settings.degree + 1, self.settings.hidden
        first = glorot_uniform(seeds, 0, supports, self.features, hidden)
        second = glorot_uniform(seeds, 1, supports, hidden, self.classes)
        return {
            "first": first.permute(0, 2, 1, 3).reshape(len(seeds), self.features, -1),
            "second": second.reshape(len(seeds), -1, self.classes),
        }

    def decay(self) -> dict[str, float]:
        """Return L2 on the first layer only."""
        return {"first": self.settings.weight_decay}

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C)."""
        terms = [self._hidden(weights, inputs, noise)]
        for k in range(self.settings.degree):
            ahead = sparse_product(inputs.operator, terms[-1])
            terms.append(ahead if k == 0 else 2.0 * ahead - terms[-2])
        return trial_matmul(torch.cat(terms, dim=2), weights["second"])

    def _hidden(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Sum T_k(L) Z_k by Clenshaw's recurrence: as many products as the degree."""
        rate = self.settings.dropout
        projected = sparse_product(inputs.features, weights["first"], dropout_of(noise, rate, 0))
        parts = projected.split(self.settings.hidden, dim=2)
        later, latest = torch.zeros_like(parts[0]), torch.zeros_like(parts[0])
        for part in reversed(parts[1:]):
            later, latest = latest, part + 2.0 * sparse_product(inputs.operator, latest) - later
        summed = parts[0] + sparse_product(inputs.operator, latest) - later
        return relu_dropout(summed, dropout_of(noise, rate, 1))

    def prepare(self, inputs: Inputs, targets: Targets) -> tuple[FixedSparse, Targets]:
        """Return rows T_0 .. T_K of each labelled node, so that the last layer is one product."""
        pairs = zip(operators_of(inputs, targets), targets.sets(), strict=True)
        return FixedSparse([self._rows(*pair) for pair in pairs]), targets.local()

    def _rows(self, operator: csr_array, nodes: np.ndarray) -> csr_array:
        terms = [eye_array(operator.shape[0], format="csr")[nodes]]
        for k in range(self.settings.degree):
            ahead = terms[-1] @ operator
            terms.append(ahead if k == 0 else 2.0 * ahead - terms[-2])
        interleaved = np.arange(len(terms) * len(nodes)).reshape(len(terms), -1).T.ravel()
        return csr_array(vstack(terms, format="csr")[interleaved])

    def loss(
        self, weights: Weights, inputs: Inputs, prepared: tuple[FixedSparse, Targets], noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return the mean cross-entropy of each trial's labelled nodes, (T,)."""
        rows, targets = prepared
        terms = sparse_product(rows, self._hidden(weights, inputs, noise))
        side_by_side = terms.view(len(terms), -1, weights["second"].shape[1])
        return cross_entropy(trial_matmul(side_by_side, weights["second"]), targets), {}


def _largest_eigenvalue(laplacian: csr_array) -> float:
    if laplacian.shape[0] <= _SMALL:
        largest = np.linalg.eigvalsh(laplacian.toarray())[-1]
    else:
        start = np.random.default_rng(0).normal(size=laplacian.shape[0])
        largest = eigsh(laplacian, 1, which="LM", v0=start, return_eigenvectors=False)[0]
    # rounded, because the last bits may depend on the number of threads
    return round(float(largest), 9)
