"""Baselines in closed form: logistic regression on the features, and labels spread over a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from truegraph.classify.inputs import NEIGHBOURS, NodeInputs, distance_graph
from truegraph.classify.label_spreading import spread_labels
from truegraph.classify.problem import Problem, hidden_labels
from truegraph.data.containers import UNLABELLED
from truegraph.data.operators import normalise_features
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import CosineDistance
from truegraph.learning.settings import SCALING_NEIGHBOUR, Settings
from truegraph.options import checked_options
from truegraph.saving import savable

Floats = NDArray[np.float64]

_DENSE = 0.2  # density from which on columns are standardised

#: strength : float, inverse of the L2 penalty, scikit-learn's C.
LOGISTIC_DEFAULTS = MappingProxyType({"strength": 10.0})
#: alpha : float, weight of the neighbours against a node's own label, in [0, 1).
PROPAGATION_DEFAULTS = MappingProxyType({"alpha": 0.9})
SPREADING_DEFAULTS = MappingProxyType({"alpha": 0.99})


@savable
@dataclass(eq=False)
class FittedLogistic:
    """Trained logistic regression.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
    shift, scale : ndarray of shape (F,), or None
        Columns become (x - shift) * scale; None: rows get length one.
    coefficients : ndarray of shape (C, F)
    intercept : ndarray of shape (C,)
        Minus infinity for classes without training nodes.
    expected_entropy, learned_graph : None
    """

    probabilities: NDArray[np.float32]
    shift: Floats | None
    scale: Floats | None
    coefficients: Floats
    intercept: Floats
    expected_entropy: NDArray[np.float32] | None = None
    learned_graph: LearnedGraph | None = None

    _may_be_nan = ("intercept",)

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the nodes of other inputs."""
        rows = _rows(inputs.raw, self.shift, self.scale)
        return _chances(rows, self.coefficients, self.intercept)


def logistic_regression(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> FittedLogistic:
    """Train multinomial logistic regression on the features; the graph is not used.

    Features that are mostly zero have rows of length one, others standardised columns.
    """
    strength = checked_options(LOGISTIC_DEFAULTS, options)["strength"]
    if not strength > 0.0:
        raise InputError(f"strength={strength} must be above 0.")
    shift, scale = _standard(problem.inputs.raw)
    rows = _rows(problem.inputs.raw, shift, scale)
    with log.stage("logistic-regression"), threadpool_limits(1):
        wanted = problem.labels[problem.train]
        model = LogisticRegression(C=strength, max_iter=1000).fit(rows[problem.train], wanted)
    coefficients = np.zeros((problem.classes, rows.shape[1]))
    intercept = np.full(problem.classes, -np.inf)
    if len(model.classes_) == 2:  # scikit-learn keeps the second class's row alone
        coefficients[model.classes_[1]] = model.coef_[0]
        intercept[model.classes_] = [0.0, float(model.intercept_[0])]
    else:
        coefficients[model.classes_] = model.coef_
        intercept[model.classes_] = model.intercept_
    found = _chances(rows, coefficients, intercept)
    return FittedLogistic(found, shift, scale, coefficients, intercept)


def _standard(raw: csr_array) -> tuple[Floats | None, Floats | None]:
    if 1.0 * raw.nnz < _DENSE * raw.shape[0] * raw.shape[1]:
        return None, None
    table = raw.toarray()
    deviation = table.std(axis=0)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
    return table.mean(axis=0), inverse


def _rows(raw: csr_array, shift: Floats | None, scale: Floats | None) -> csr_array | Floats:
    if shift is None or scale is None:
        return normalise_features(raw, by="length")
    standard: Floats = (raw.toarray() - shift) * scale
    return standard


def _chances(
    rows: csr_array | Floats, coefficients: Floats, intercept: Floats
) -> NDArray[np.float32]:
    with threadpool_limits(1):
        found: NDArray[np.float32] = softmax(rows @ coefficients.T + intercept, axis=1).astype(
            np.float32
        )
    return found


@savable
@dataclass(eq=False)
class FittedSpreading:
    """Labels spread over a graph.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
    learned_graph : LearnedGraph or None
    labels : ndarray of int64, shape (N,)
        -1 but at the training nodes.
    alpha : float
    graph : {"observed", "nearest", "learned"}
    expected_entropy : None
    """

    probabilities: NDArray[np.float32]
    learned_graph: LearnedGraph | None
    labels: NDArray[np.int64]
    alpha: float
    graph: str
    expected_entropy: NDArray[np.float32] | None = None

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""
        adjacency, _ = _graph(inputs, self.graph)
        labels = np.full(inputs.n_nodes, UNLABELLED)
        labels[: len(self.labels)] = self.labels
        classes = self.probabilities.shape[1]
        return spread_labels(adjacency, labels, classes, self.alpha).astype(np.float32)


def _spread(problem: Problem, options: dict[str, Any], log: FitLog, graph: str) -> FittedSpreading:
    labels = hidden_labels(problem.labels, problem.train, problem.train[:0])
    with log.stage("label spreading"):
        adjacency, learned = _graph(problem.inputs, graph)
        found = spread_labels(adjacency, labels, problem.classes, options["alpha"])
    return FittedSpreading(found.astype(np.float32), learned, labels, options["alpha"], graph)


def label_propagation(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> FittedSpreading:
    """Spread labels over the observed graph (Zhou et al. 2003); features are not used."""
    return _spread(problem, checked_options(PROPAGATION_DEFAULTS, options), log, "observed")


def label_spreading(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> FittedSpreading:
    """Spread labels between the 10 nearest neighbours by cosine distance of the features."""
    return _spread(problem, checked_options(SPREADING_DEFAULTS, options), log, "nearest")


def learned_spreading(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> FittedSpreading:
    """Spread labels over the graph learned from the features by cosine distance."""
    return _spread(problem, checked_options(SPREADING_DEFAULTS, options), log, "learned")


def _graph(inputs: NodeInputs, which: str) -> tuple[csr_array, LearnedGraph | None]:
    """Return the graph that labels are spread over, and the learned graph if it is that."""
    if which == "observed":
        return inputs.graph, None
    distance = CosineDistance(inputs.raw)
    if which == "nearest":
        return distance_graph(distance, NEIGHBOURS), None
    # as `learn_graph` does by default
    settings = Settings(is_degree_auto=True, local_scaling=SCALING_NEIGHBOUR, connected=True)
    learned = learn(distance, settings)
    return learned.adjacency, learned
