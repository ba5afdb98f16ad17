r"""A temperature of its own for every node, learned from labels that a prediction has not seen.

How much too sure or too modest a prediction is depends on the node: its entropy and the number of
its neighbours tell (nodes with many neighbours are averaged over more). The logarithm of the
temperature of node v is

.. math:: a + b (H_v - 0.3) + c (\log(1 + d_v) - m),

with the entropy H_v of its probabilities as a share of the largest possible, its number of
neighbours d_v, and the mean m over all nodes. a, b and c are those of greatest likelihood of the
labels, with a normal prior of deviation 0.5 around zero: few labels hardly move them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.tasks.classify.recipes.ensemble import Prediction, tempered
from truegraph.tasks.classify.recipes.weight_samples import entropy

LEAST_LABELS = 100  # left-out ones; fewer say less than what is usual
_DEVIATION = 0.5
_USUAL_ENTROPY = 0.3
_LARGEST = 1.5  # of |log temperature|

Floats = NDArray[np.float64]


def log_degrees(graph: csr_array) -> Floats:
    """Return log(1 + number of neighbours) of every node, shape (N,)."""
    found: Floats = np.log1p(np.diff(graph.indptr)).astype(np.float64)
    return found


@dataclass(frozen=True, eq=False)
class NodeTemperatures:
    """How the temperature of a node follows from its entropy and degree.

    Attributes
    ----------
    coefficients : ndarray of shape (3,)
        Of one, the entropy and the degree.
    centre : float
        Mean of log(1 + degree) over the fitted nodes.
    labels : int
        How many labels they were learned from.
    """

    coefficients: Floats
    centre: float
    labels: int

    def temperatures(self, probabilities: NDArray[Any], degrees: Floats) -> Floats:
        """Return the temperatures (n,) of nodes.

        Parameters
        ----------
        probabilities : ndarray of shape (n, C)
        degrees : ndarray of shape (n,)
            As `log_degrees` returns them.
        """
        logs = _design(probabilities, degrees - self.centre) @ self.coefficients
        found: Floats = np.exp(np.clip(logs, -_LARGEST, _LARGEST))
        return found

    def applied(self, probabilities: NDArray[Any], degrees: Floats) -> Floats:
        """Return the probabilities (n, C) of nodes at their temperatures."""
        return tempered(probabilities, self.temperatures(probabilities, degrees))

    def calibrated(self, prediction: Prediction, degrees: Floats) -> Prediction:
        """Return a prediction (N, C) with every node at its temperature."""
        return prediction.at(self.temperatures(prediction.probabilities, degrees))

    def to_list(self) -> list[float]:
        """Return all numbers, as `from_list` takes them."""
        return [*self.coefficients.tolist(), self.centre, float(self.labels)]

    @classmethod
    def from_list(cls, values: Any) -> NodeTemperatures:
        """Return the temperatures of stored numbers."""
        *coefficients, centre, labels = gate.numbers("temperatures", values, length=5)
        return cls(np.array(coefficients), float(centre), int(labels))


def fit_temperatures(
    probabilities: NDArray[Any],
    labels: NDArray[np.int64],
    degrees: Floats,
    centre: float,
    weights: Floats | None = None,
) -> NodeTemperatures:
    """Learn temperatures from nodes whose labels their probabilities do not know.

    Parameters
    ----------
    probabilities : ndarray of shape (m, C)
    labels : ndarray of int64, shape (m,)
    degrees : ndarray of shape (m,)
        As `log_degrees` returns them.
    centre : float
        Their mean over all nodes.
    weights : ndarray of shape (m,), optional
        How much each label counts beside the others; all alike by default.
    """
    counts = np.ones(len(labels)) if weights is None else weights / max(weights.mean(), 1e-30)
    design = _design(probabilities, degrees - centre)
    logits = np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), 1e-30))
    rows = np.arange(len(labels))

    def cost(coefficients: Floats) -> tuple[float, Floats]:
        inverse = np.exp(-np.clip(design @ coefficients, -_LARGEST, _LARGEST))
        scaled = logits * inverse[:, None]
        scaled -= scaled.max(axis=1, keepdims=True)
        chances = np.exp(scaled)
        total = chances.sum(axis=1)
        missed = np.log(total) - scaled[rows, labels]
        # of each node's cost by the logarithm of its temperature
        slope = scaled[rows, labels] - (chances * scaled).sum(axis=1) / total
        prior = coefficients / _DEVIATION**2
        value = counts @ missed + 0.5 * float(prior @ coefficients)
        return float(value), design.T @ (counts * slope) + prior

    found = minimize(cost, np.zeros(3), jac=True, method="L-BFGS-B")
    return NodeTemperatures(np.asarray(found.x, dtype=np.float64), centre, len(labels))


def _design(probabilities: NDArray[Any], degrees: Floats) -> Floats:
    """Return one, entropy and degree of every node, around their usual values: (n, 3)."""
    share = entropy(probabilities) / np.log(probabilities.shape[1])
    return np.column_stack([np.ones(len(share)), share - _USUAL_ENTROPY, degrees])
