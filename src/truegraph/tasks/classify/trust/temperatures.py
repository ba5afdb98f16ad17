r"""A temperature for every node and an offset for every class, from labels that were left out.

How much too sure or too modest a prediction is depends on the node: its entropy and the number of
its neighbours tell (nodes with many neighbours are averaged over more). The logarithm of the
temperature of node v is

.. math:: a + b (H_v - 0.3) + c (\log(1 + d_v) - m),

with the entropy H_v of its probabilities as a share of the largest possible, its number of
neighbours d_v, and the mean m over all nodes. Where many labels were set aside, an offset per class
is added to the logarithms of the tempered probabilities: rare classes are often given too little.
All of these are those of greatest likelihood of the labels, with a normal prior around zero: few
labels hardly move them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from truegraph import gate
from truegraph.errors import InputError
from truegraph.tasks.classify.recipes.ensemble import Prediction, tempered
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.trust.left_out import LeftOutLabels, joined

LEAST_LABELS = 100  # left-out ones; fewer say less than what is usual
_MANY_LABELS = 300  # that offsets of the classes are learned from
_DEVIATION = 0.5
_LITTLE = 0.1  # deviation where the probabilities have learned temperatures already
_USUAL_ENTROPY = 0.3
_LARGEST = 1.5  # of |log temperature|

Floats = NDArray[np.float64]


def log_degrees(graph: csr_array) -> Floats:
    """Return log(1 + number of neighbours) of every node, shape (N,)."""
    found: Floats = np.log1p(np.diff(graph.indptr)).astype(np.float64)
    return found


@dataclass(frozen=True, eq=False)
class NodeTemperatures:
    """How the temperature of a node follows from its entropy and degree, and offsets of classes.

    Attributes
    ----------
    coefficients : ndarray of shape (3,)
        Of one, the entropy and the degree.
    centre : float
        Mean of log(1 + degree) over the fitted nodes.
    labels : int
        How many labels they were learned from.
    offsets : ndarray of shape (C,), or (0,) for none
        Added to the logarithms of the tempered probabilities of the classes.
    """

    coefficients: Floats
    centre: float
    labels: int
    offsets: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def described(self) -> str:
        """What was learned, in words."""
        return "temperatures of the nodes" + " and offsets of the classes" * bool(len(self.offsets))

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
        """Return the probabilities (n, C) of nodes at their temperatures, classes offset."""
        found = tempered(probabilities, self.temperatures(probabilities, degrees))
        if len(self.offsets):
            found = found * np.exp(self.offsets)
            found /= found.sum(axis=1, keepdims=True)
        return found

    def calibrated(self, prediction: Prediction, degrees: Floats) -> Prediction:
        """Return a prediction (N, C) with every node at its temperature, classes offset."""
        return prediction.moved_to(self.applied(prediction.probabilities, degrees))

    def to_list(self) -> list[float]:
        """Return all numbers, as `from_list` takes them."""
        own = [*self.coefficients.tolist(), self.centre, float(self.labels)]
        return own + self.offsets.tolist()

    @classmethod
    def from_list(cls, values: Any, classes: int) -> NodeTemperatures:
        """Return the temperatures of stored numbers, for so many classes."""
        numbers = gate.numbers("temperatures", values)
        if len(numbers) not in (5, 5 + classes):
            raise InputError(f"temperatures has {len(numbers)} numbers; give 5 or {5 + classes}.")
        return cls(numbers[:3], float(numbers[3]), int(numbers[4]), numbers[5:])


def fit_temperatures(
    seen: LeftOutLabels,
    degrees: Floats,
    *,
    deviation: float = _DEVIATION,
    with_offsets: bool = False,
) -> NodeTemperatures:
    """Learn temperatures from nodes whose labels their probabilities do not know.

    Parameters
    ----------
    seen : LeftOutLabels
    degrees : ndarray of shape (N,)
        Of all nodes, as `log_degrees` returns them.
    deviation : float
        Of the prior of the three numbers that make temperatures.
    with_offsets : bool
        Whether classes get offsets, if there are many labels.
    """
    counts, centre = seen.counts, float(degrees.mean())
    design = _design(seen.probabilities, degrees[seen.nodes] - centre)
    logits = np.log(np.maximum(np.asarray(seen.probabilities, dtype=np.float64), 1e-30))
    rows, labels = np.arange(len(seen.labels)), seen.labels
    classes = logits.shape[1] if with_offsets and len(labels) >= _MANY_LABELS else 0
    told = np.bincount(labels, weights=counts, minlength=logits.shape[1])
    precision = np.array([deviation] * 3 + [_DEVIATION] * classes) ** -2.0

    def cost(values: Floats) -> tuple[float, Floats]:
        coefficients, offsets = values[:3], values[3:]
        inverse = np.exp(-np.clip(design @ coefficients, -_LARGEST, _LARGEST))
        cooled = logits * inverse[:, None]
        scaled = cooled + offsets if classes else cooled
        missed = logsumexp(scaled, axis=1) - scaled[rows, labels]
        chances = softmax(scaled, axis=1)
        # of each node's cost by the logarithm of its temperature
        slope = cooled[rows, labels] - (chances * cooled).sum(axis=1)
        by_offset = (counts @ chances - told)[:classes]
        prior = precision * values
        value = counts @ missed + 0.5 * float(prior @ values)
        return float(value), np.concatenate([design.T @ (counts * slope), by_offset]) + prior

    found = minimize(cost, np.zeros(3 + classes), jac=True, method="L-BFGS-B").x
    return NodeTemperatures(found[:3], centre, len(labels), found[3:])


def calibrating_temperatures(
    aside: LeftOutLabels, left_out: LeftOutLabels | None, degrees: Floats
) -> NodeTemperatures:
    """Learn temperatures, and offsets of classes, from labels that were set aside.

    Left-out training labels count as well. Where there are enough of them to have taught
    temperatures, the probabilities need little change.
    """
    deviation = _DEVIATION
    seen = aside
    if left_out is not None:
        seen = joined(aside, left_out)
        deviation = _LITTLE if len(left_out.nodes) >= LEAST_LABELS else _DEVIATION
    found = fit_temperatures(seen, degrees, deviation=deviation, with_offsets=True)
    return replace(found, labels=len(aside.nodes))


def _design(probabilities: NDArray[Any], degrees: Floats) -> Floats:
    """Return one, entropy and degree of every node, around their usual values: (n, 3)."""
    share = entropy(probabilities) / np.log(probabilities.shape[1])
    return np.column_stack([np.ones(len(share)), share - _USUAL_ENTROPY, degrees])
