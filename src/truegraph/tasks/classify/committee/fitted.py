"""A fitted committee: views, their classifiers and weights, to be applied to any nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.tasks.classify.committee.classifiers import Linear, spread_labels
from truegraph.tasks.classify.committee.forest import Forest
from truegraph.tasks.classify.committee.opinions import CLASS_SHARES
from truegraph.tasks.classify.committee.views import SPREADING, Grounds, Views
from truegraph.tasks.classify.committee.weights import Sharpness
from truegraph.tasks.classify.inputs import NodeInputs
from truegraph.tasks.classify.recipes.ensemble import Ensemble, Prediction, confidence_temperature
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.trust.temperatures import NodeTemperatures, log_degrees

_SHARPER = 1.15


@dataclass(frozen=True, eq=False)
class Voice:
    """A view that counts.

    Attributes
    ----------
    name : str
    weight : float
    sharpness : Sharpness
    classifier : Linear, Forest or None
        None where labels are spread, and for the shares of the classes.
    """

    name: str
    weight: float
    sharpness: Sharpness
    classifier: Linear | Forest | None


@dataclass(frozen=True, eq=False)
class FittedCommittee:
    """The committee of one trial.

    Attributes
    ----------
    grounds : Grounds
    voices : tuple of Voice
    trained : dict of str to (float, Ensemble)
        Weight and classifiers of the trained recipes.
    train, labels : ndarray of int64, shape (n,)
        Training nodes and their classes, for the spreading of labels.
    class_factors : ndarray of shape (C,)
        By which the probabilities of the classes are multiplied.
    temperatures : NodeTemperatures or None
        Of the nodes, where there were enough labels to learn them.
    """

    grounds: Grounds
    voices: tuple[Voice, ...]
    trained: dict[str, tuple[float, Ensemble]]
    train: NDArray[np.int64]
    labels: NDArray[np.int64]
    class_factors: NDArray[np.float64]
    temperatures: NodeTemperatures | None = None

    def predict(self, inputs: NodeInputs) -> Prediction:
        """Return the prediction (N', C) for nodes of which the first N are those of the fit."""
        views = Views(self.grounds, inputs)
        parts: list[Any] = [
            (one.weight, self._probabilities(one, views, inputs)) for one in self.voices
        ]
        for weight, ensemble in self.trained.values():
            found = ensemble.predict(views.trusted_graph, inputs.features)
            parts.append((weight, found.probabilities))
        prediction, _ = averaged(parts, self.class_factors)
        if self.temperatures is None:
            return prediction
        return self.temperatures.calibrated(prediction, log_degrees(inputs.graph))

    def _probabilities(self, voice: Voice, views: Views, inputs: NodeInputs) -> NDArray[np.float64]:
        classes = len(self.class_factors)
        if voice.name == CLASS_SHARES:
            counts = np.bincount(self.labels, minlength=classes) + 1.0
            return np.tile(counts / counts.sum(), (inputs.n_nodes, 1))
        if voice.classifier is None:
            operator = views.operator(voice.name)
            given = (operator, self.train, self.labels, classes)
            return voice.sharpness.probabilities(spread_labels(*given, *SPREADING[voice.name]))
        return voice.sharpness.probabilities(voice.classifier.scores(views.table(voice.name)))


def averaged(
    parts: Iterable[tuple[float, NDArray[Any]]], class_factors: NDArray[np.float64]
) -> tuple[Prediction, float]:
    """Return the mean of predictions (N, C) by their weights, and the temperature that it got.

    Classes are as frequent as the factors say. Means are less sure than what they are means of,
    though no less right: the mean gets the confidence that its parts have on average. And all
    parts are a little better than left-out labels said, since these were predicted from fewer
    labels. The expected entropy is the mean of the parts' own: what the entropy of the mean has
    beyond it comes from not knowing the graph.
    """
    total: float = 0.0
    mean: Any = 0.0
    uncertainty: Any = 0.0
    confidence: float = 0.0
    for weight, probabilities in parts:
        own = probabilities * class_factors
        own = own / own.sum(axis=1, keepdims=True)
        mean = mean + weight * own
        uncertainty = uncertainty + weight * entropy(own)
        confidence += weight * float(own.max(axis=1).mean())
        total += weight
    mean = mean / total
    temperature = min(1.0, confidence_temperature(mean, confidence / total)) / _SHARPER
    found = Prediction(mean.astype(np.float32), (uncertainty / total).astype(np.float32))
    return found.at(temperature), temperature
