"""Baselines in closed form: logistic regression on the features, and labels spread over a graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from truegraph import gate
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
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

Floats = NDArray[np.float64]

_DENSE = 0.2  # density from which on columns are standardised: words are sparser, tables denser

#: strength : float, inverse of the L2 penalty, scikit-learn's C.
LOGISTIC_DEFAULTS = MappingProxyType({"strength": 10.0})
#: alpha : float, weight of the neighbours against a node's own label, in [0, 1).
PROPAGATION_DEFAULTS = MappingProxyType({"alpha": 0.9})
SPREADING_DEFAULTS = MappingProxyType({"alpha": 0.99})


@savable
class LogisticModel:
    """Multinomial logistic regression on the features; the graph is not used.

    Features that are mostly zero have rows of length one, others standardised columns.
    """

    _may_be_nan = ("intercept",)  # minus infinity for classes without training nodes
    expected_entropy, learned_graph = None, None

    def __init__(self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> None:
        strength = checked_options(LOGISTIC_DEFAULTS, options)["strength"]
        if not strength > 0.0:
            raise InputError(f"strength={strength} must be above 0.")
        raw, train = problem.inputs.raw, problem.train
        self.shift, self.scale = _standard(raw)
        rows = self._rows(raw)
        weights = None if problem.weights is None else problem.weights[train]
        with log.stage("logistic-regression"), one_blas_thread():
            model = LogisticRegression(C=strength, max_iter=1000)
            model.fit(rows[train], problem.labels[train], weights)
        self.coefficients = np.zeros((problem.classes, rows.shape[1]))
        self.intercept = np.full(problem.classes, -np.inf)
        if len(model.classes_) == 2:  # scikit-learn keeps the second class's row alone
            self.coefficients[model.classes_[1]] = model.coef_[0]
            self.intercept[model.classes_] = [0.0, float(model.intercept_[0])]
        else:
            self.coefficients[model.classes_] = model.coef_
            self.intercept[model.classes_] = model.intercept_
        self.probabilities = self.predict(problem.inputs)

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the nodes of other inputs."""
        with one_blas_thread():
            logits = self._rows(inputs.raw) @ self.coefficients.T + self.intercept
            found: NDArray[np.float32] = softmax(logits, axis=1).astype(np.float32)
        return found

    def _rows(self, raw: csr_array) -> csr_array | Floats:
        if self.shift is None or self.scale is None:
            return normalise_features(raw, by="length")
        standard: Floats = (raw.toarray() - self.shift) * self.scale
        return standard

    def _check_saved(self) -> None:
        gate.array("coefficients", self.coefficients, (self.probabilities.shape[1], None))
        if self.intercept.shape != self.coefficients.shape[:1]:
            raise InputError("coefficients and intercept do not fit.")


def _standard(raw: csr_array) -> tuple[Floats | None, Floats | None]:
    if 1.0 * raw.nnz < _DENSE * raw.shape[0] * raw.shape[1]:
        return None, None
    table = raw.toarray()
    deviation = table.std(axis=0)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
    return table.mean(axis=0), inverse


@savable
class SpreadingModel:
    """Labels spread over the "observed" graph (Zhou et al. 2003), or one made of the features.

    "nearest" are the 10 nearest neighbours by cosine distance, "learned" is the learned graph.
    """

    expected_entropy = None

    def __init__(
        self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog, graph: str
    ) -> None:
        usual = PROPAGATION_DEFAULTS if graph == "observed" else SPREADING_DEFAULTS
        self.alpha, self.graph = checked_options(usual, options)["alpha"], graph
        self.labels = hidden_labels(problem.labels, problem.train, problem.train[:0])
        self.weights, self._classes = problem.weights, problem.classes
        with log.stage("label spreading"):
            adjacency, self.learned_graph = self._adjacency(problem.inputs)
            self.probabilities = self._spread(adjacency)

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""
        return self._spread(self._adjacency(inputs)[0])

    def _spread(self, adjacency: csr_array) -> NDArray[np.float32]:
        new = (0, adjacency.shape[0] - len(self.labels))
        labels = np.pad(self.labels, new, constant_values=UNLABELLED)
        weights = None if self.weights is None else np.pad(self.weights, new)
        found = spread_labels(adjacency, labels, self._classes, self.alpha, weights)
        return found.astype(np.float32)

    def _adjacency(self, inputs: NodeInputs) -> tuple[csr_array, LearnedGraph | None]:
        """Return the graph that labels are spread over, and the learned graph if it is that."""
        if self.graph == "observed":
            return inputs.graph, None
        distance = CosineDistance(inputs.raw)
        if self.graph == "nearest":
            return distance_graph(distance, NEIGHBOURS), None
        # as `learn_graph` does by default
        settings = Settings(is_degree_auto=True, local_scaling=SCALING_NEIGHBOUR, connected=True)
        learned = learn(distance, settings)
        return learned.adjacency, learned

    def _check_saved(self) -> None:
        nodes = len(gate.array("probabilities", self.probabilities, (None, self._classes)))
        gate.whole_numbers("labels", self.labels, length=nodes, at_least=UNLABELLED)
