"""Several sampled classifiers whose predictions are tempered and averaged.

A prediction p is tempered to p^(1/t), normalised: t < 1 makes it surer, t > 1 less sure, and the
order of the classes stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.nn.graph_operators import normalise_features
from truegraph.tasks.classify.inputs import neighbour_graph
from truegraph.tasks.classify.recipes.weight_samples import (
    MonteCarloAverage,
    WeightSamples,
    entropy,
)

Probabilities = NDArray[np.float32]

_TINY = 1e-30  # probabilities below this are as good as zero
_STEPS = 40  # of bisection


def tempered(probabilities: NDArray[Any], temperature: float | NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities (..., C) at another temperature, or (T, ..., C) at one each."""
    p = np.asarray(probabilities, dtype=np.float64)
    if np.all(temperature == 1.0):
        return p
    logits = np.log(np.maximum(p, _TINY)) / _along(temperature, p)
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: NDArray[np.float64] = raised / raised.sum(axis=-1, keepdims=True)
    return found


def confidence_temperature(probabilities: NDArray[Any], confidence: float) -> float:
    """Return the temperature at which predictions (N, C) have a given mean confidence.

    The confidence of a node is its largest probability. Where no temperature between 1/30 and 30
    will do, the nearest of these is returned.
    """
    p = np.maximum(np.asarray(probabilities, dtype=np.float64), _TINY)
    logits = np.log(p / p.max(axis=-1, keepdims=True))
    low, high = -np.log(30.0), np.log(30.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        # The largest of the tempered probabilities is one divided by the sum that normalises them.
        reached = (1.0 / np.exp(logits * np.exp(-middle)).sum(axis=-1)).mean()
        low, high = (middle, high) if reached > confidence else (low, middle)
    return float(np.exp(0.5 * (low + high)))


@dataclass(frozen=True, eq=False)
class Member:
    """One sampled classifier of one trial.

    Attributes
    ----------
    weights : WeightSamples
    scaling : {"sum", "length"}
        How the rows of its features are normalised.
    temperature : float
        At which each of its samples is tempered.
    share : float
        In the ensemble's average, relative to the other members'.
    """

    weights: WeightSamples
    scaling: str
    temperature: float
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Prediction:
    """A prediction with the mean entropy of the samples that it is the average of.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (..., C)
    expected_entropy : ndarray of float32, shape (...)
    """

    probabilities: Probabilities
    expected_entropy: Probabilities

    def at(self, temperature: float | NDArray[Any]) -> Prediction:
        """Return it tempered; samples keep their share of the entropy."""
        return self.moved_to(tempered(self.probabilities, temperature))

    def moved_to(self, found: NDArray[Any]) -> Prediction:
        """Return it with other probabilities; samples keep their share of the entropy."""
        before = np.maximum(entropy(self.probabilities), _TINY)
        share = np.minimum(1.0, self.expected_entropy / before)
        return Prediction(found.astype(np.float32), (entropy(found) * share).astype(np.float32))


def mean_of(
    predictions: Iterable[Prediction],
    shares: Iterable[float] | Iterable[NDArray[np.float64]] | None = None,
) -> Prediction:
    """Return the average of predictions of the same nodes, all alike or by their shares.

    A share is a number, or one per trial for predictions of shape (T, N, C).
    """
    found = list(predictions)
    weights: list[Any] = [1.0] * len(found) if shares is None else list(shares)
    return Prediction(
        _average([one.probabilities for one in found], weights),
        _average([one.expected_entropy for one in found], weights),
    )


def _average(arrays: list[Probabilities], weights: list[Any]) -> Probabilities:
    total = np.zeros(arrays[0].shape)
    for array, weight in zip(arrays, weights, strict=True):
        total += _along(weight, array) * array
    found: Probabilities = (total / _along(sum(weights), total)).astype(np.float32)
    return found


def _along(values: float | NDArray[Any], array: NDArray[Any]) -> NDArray[np.float64]:
    """Return a number as it is, and one per trial as (T, 1, ...) to go with an array (T, ...)."""
    given = np.asarray(values, dtype=np.float64)
    return given.reshape(-1, *[1] * (array.ndim - 1)) if given.ndim else given


def tempered_average(
    samples: Iterable[NDArray[Any]], temperature: float | NDArray[Any]
) -> Prediction:
    """Return the average of tempered samples (..., C); a temperature, or one per trial."""
    average = MonteCarloAverage()
    for sample in samples:
        average.add(tempered(sample, temperature))
    return Prediction(average.probabilities, average.expected_entropy)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members whose average is the prediction, to be applied to any graph.

    Attributes
    ----------
    members : tuple of Member
    temperature : float
        At which their average is tempered.
    on_neighbours : bool
        Whether the nearest neighbours of the features take the place of the observed graph.
    """

    members: tuple[Member, ...]
    temperature: float
    on_neighbours: bool = False

    def predict(self, graph: csr_array, features: csr_array) -> Prediction:
        """Return the average prediction (N', C) on a graph (N', N') with features (N', F).

        Rows of the features may be normalised in any way.
        """
        if self.on_neighbours:
            graph = neighbour_graph(features)[0]
        found = [
            tempered_average(
                one.weights.passes(graph, normalise_features(features, by=one.scaling)),
                one.temperature,
            )
            for one in self.members
        ]
        return mean_of(found, (one.share for one in self.members)).at(self.temperature)
