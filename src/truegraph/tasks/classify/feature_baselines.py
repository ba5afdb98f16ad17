"""Baselines that see the features only: logistic regression, and labels spread by similarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from truegraph.data.nodes.containers import UNLABELLED
from truegraph.errors import InputError
from truegraph.learning import learn_graph
from truegraph.learning.search.distances import CosineDistance
from truegraph.nn.graph_operators import normalise_features
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import NEIGHBOURS, NodeInputs, distance_graph
from truegraph.tasks.classify.label_spreading import spread_labels
from truegraph.tasks.classify.methods import LabelPropagation, Method, PropagationOptions
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.ensemble import Prediction
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.results import TrialResults

_DENSE = 0.2  # density from which on columns are standardised


@dataclass(frozen=True)
class LogisticOptions:
    """Options of logistic regression.

    Parameters
    ----------
    strength : float
        Inverse of the L2 penalty, scikit-learn's C.
    """

    strength: float = 10.0

    def __post_init__(self) -> None:
        if not self.strength > 0.0:
            raise InputError(f"strength={self.strength} must be above 0.")


@dataclass(frozen=True, eq=False)
class FittedLogistic:
    """Trained logistic regression.

    Attributes
    ----------
    shift, scale : ndarray of shape (F,), or None
        Columns become (x - shift) * scale; None: rows get length one.
    coefficients : ndarray of shape (C, F)
    intercept : ndarray of shape (C,)
    """

    shift: NDArray[np.float64] | None
    scale: NDArray[np.float64] | None
    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def predict(self, inputs: NodeInputs) -> Prediction:
        """Return class probabilities (N', C)."""
        with threadpool_limits(1):
            rows = _rows(inputs.raw, self.shift, self.scale)
            logits = rows @ self.coefficients.T + self.intercept
        found = softmax(logits, axis=1).astype(np.float32)
        return Prediction(found, entropy(found).astype(np.float32))


class Logistic(Method):
    """Multinomial logistic regression on the features; the graph is not used.

    Features that are mostly zero have rows of length one, others standardised columns.
    """

    options_type = LogisticOptions

    def run(self, problem: Problem, options: LogisticOptions, run: Run) -> TrialResults:
        """Train every trial."""
        raw = problem.inputs.raw
        shift, scale = _standard(raw)
        rows = _rows(raw, shift, scale)
        with run.stage("logistic-regression"), threadpool_limits(1):
            fitted = [
                _fitted(rows[train], labels[train], problem.classes, options, shift, scale)
                for labels, train in zip(problem.labels, problem.train, strict=True)
            ]
        found = np.stack([one.predict(problem.inputs).probabilities for one in fitted])
        return TrialResults(found, weights=fitted if run.keep_weights else None)


def _standard(raw: csr_array) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    if 1.0 * raw.nnz < _DENSE * raw.shape[0] * raw.shape[1]:
        return None, None
    table = raw.toarray()
    deviation = table.std(axis=0)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
    return table.mean(axis=0), inverse


def _rows(
    raw: csr_array, shift: NDArray[np.float64] | None, scale: NDArray[np.float64] | None
) -> csr_array | NDArray[np.float64]:
    if shift is None or scale is None:
        return normalise_features(raw, by="length")
    standard: NDArray[np.float64] = (raw.toarray() - shift) * scale
    return standard


def _fitted(
    rows: csr_array | NDArray[np.float64],
    labels: NDArray[np.int64],
    classes: int,
    options: LogisticOptions,
    shift: NDArray[np.float64] | None,
    scale: NDArray[np.float64] | None,
) -> FittedLogistic:
    model = LogisticRegression(C=options.strength, max_iter=1000).fit(rows, labels)
    coefficients = np.zeros((classes, rows.shape[1]))
    intercept = np.full(classes, -np.inf)
    if len(model.classes_) == 2:  # scikit-learn keeps the second class's row alone
        coefficients[model.classes_[1]] = model.coef_[0]
        intercept[model.classes_] = [0.0, float(model.intercept_[0])]
    else:
        coefficients[model.classes_] = model.coef_
        intercept[model.classes_] = model.intercept_
    return FittedLogistic(shift, scale, coefficients, intercept)


@dataclass(frozen=True)
class SpreadingOptions(PropagationOptions):
    """Options of label spreading: those of label propagation, with another default."""

    alpha: float = 0.99


class LabelSpreading(LabelPropagation):
    """Labels spread between the 10 nearest neighbours by cosine distance of the features."""

    options_type = SpreadingOptions

    def graph(self, inputs: NodeInputs) -> csr_array:
        """Return the neighbour graph."""
        return distance_graph(CosineDistance(inputs.raw), NEIGHBOURS)


class LearnedSpreading(LabelSpreading):
    """Labels spread over the graph learned from the features: `GraphLabelSpreading`."""

    def graph(self, inputs: NodeInputs) -> csr_array:
        """Return the graph learned by cosine distance, with the learner's own defaults."""
        return learn_graph(inputs.raw, metric="cosine").adjacency

    def spread(
        self,
        graph: csr_array,
        labels: NDArray[np.int64],
        train: NDArray[np.int64],
        classes: int,
        options: SpreadingOptions,
    ) -> NDArray[np.float32]:
        """Return class probabilities (N, C) of one trial, on the given graph."""
        known = np.full(graph.shape[0], UNLABELLED)  # new nodes come after the others
        known[train] = labels[train]
        return spread_labels(graph, known, classes, options.alpha).astype(np.float32)
