"""What the estimators of node classification share: fit, predict, uncertainty, save and load."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph.data.columns.plan import ColumnPlan
from truegraph.data.columns.vectorising import new_points, take_features
from truegraph.data.nodes.containers import UNLABELLED
from truegraph.data.storage import PathLike
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.learning.graph_advice import graph_advice
from truegraph.progress import console_progress
from truegraph.seeds import seed_from
from truegraph.tasks.base import Run, TakesSparse
from truegraph.tasks.classify.class_advice import class_advice, share_advice
from truegraph.tasks.classify.class_shares import shares_of
from truegraph.tasks.classify.committee.fitted import FittedCommittee
from truegraph.tasks.classify.feature_baselines import FittedLogistic
from truegraph.tasks.classify.inputs import NodeInputs, complete_inputs
from truegraph.tasks.classify.labels import check_nodes, encode_labels, training_split
from truegraph.tasks.classify.methods import LabelPropagation
from truegraph.tasks.classify.new_nodes import extend_inputs
from truegraph.tasks.classify.problem import open_problem
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.results import TrialResults
from truegraph.tasks.classify.trials import find_method, solve_problem
from truegraph.tasks.classify.trust.answers import TrustedAnswers
from truegraph.tasks.classify.trust.edges import edge_probabilities, suspects
from truegraph.tasks.classify.trust.novelty import novelty, novelty_parts
from truegraph.tasks.classify.trust.temperatures import log_degrees

if TYPE_CHECKING:
    import pandas as pd

# The accuracy on few nodes is soon perfect, and then GAT's rule would not stop for hours.
_FEW_VALIDATION = 100
_EPOCHS_IF_FEW = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class NodeParameters:
    """Parameters that all node classifiers have, see `NodeClassifier`."""

    options: Any = None
    plan: ColumnPlan | None = None
    random_state: Any = None
    device: str = "cpu"
    progress: bool = False


class NodeEstimator(TrustedAnswers, NodeParameters, TakesSparse, BaseEstimator):
    """Base class of the node classifiers; subclasses say which model with which options."""

    cache: PathLike | None = None
    _edge_probability: csr_array | None = None
    _called: NDArray[Any] | None = None  # what warnings call the classes, if not as in `classes_`

    @abstractmethod
    def _model(self) -> tuple[str, Any]:
        """Return the model's name, as the engine knows it, and its options."""

    def fit(self, X: Any, y: Any, *, graph: Any = None, validation: Any = None) -> Self:
        """Train on the labelled nodes and predict all.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (N, F), or None
            Mixed columns of a DataFrame are vectorised by `plan`; arrays are taken as they are.
            Rows are normalised here. None: each node is its own feature, or on more than 20,000
            nodes its degree is.
        y : array-like of shape (N,)
            Labels of any one kind; -1, None or NaN where unknown.
        graph : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table, optional
            Observed graph of the same nodes in the same order. None: the graph of the 10 nearest
            neighbours by the features.
        validation : array-like of int, optional
            Labelled nodes to hold out of training. Models that stop early need some and draw a
            fifth of the labelled nodes of each class if none are given.

        Returns
        -------
        self
        """
        labels, classes = encode_labels(y)
        X, self.plan_ = take_features(X, self.plan)
        _check_length(len(labels), X)
        name, options = self._model()
        method = find_method(name)
        chosen = method.options(options)
        inputs = complete_inputs(X, graph, len(labels))
        seed = seed_from(self.random_state)
        stops_early = method.stops_early(chosen)
        split, note = training_split(labels, validation, stops_early, seed)
        is_vague = stops_early and split.validation.size < _FEW_VALIDATION
        if is_vague:
            chosen = method.limited(chosen, _EPOCHS_IF_FEW)
        with console_progress(self.progress) as progress:
            run = Run(self.device, self.cache, progress, keep_graphs=True, keep_weights=True)
            if note is not None:
                run.note(note)
            if is_vague:
                run.note(f"few validation nodes: at most {_EPOCHS_IF_FEW} epochs unless set")
            problem = open_problem(
                inputs,
                labels,
                [split],
                [seed],
                classes=len(classes),
                use_validation=stops_early,
            )
            results = solve_problem(method, chosen, problem, run)
        self._inputs, self._train = inputs, split.train
        self._labels = np.full_like(labels, UNLABELLED)
        self._labels[split.train] = labels[split.train]
        self.classes_, self.seed_, self.model_ = classes, seed, name
        self._keep(results)
        for message in [*run.alarms, *self._advice()]:
            warn(message, AnswerWarning)
        return self

    def _advice(self) -> list[str]:
        """Return what looks bad about the answer."""
        called = self.classes_ if self._called is None else self._called
        found = class_advice(self._probabilities, self._labels, called)
        if self.learned_graph_ is not None:
            found += graph_advice(self.learned_graph_.adjacency)
        if self.learned_graph_ is not None and self.view_weights_ is not None:
            found += share_advice(self.view_weights_)
        return found

    def _keep(self, results: TrialResults) -> Self:
        """Take over the only trial of some results."""
        self._probabilities = results.probabilities[0]
        self._expected_entropy = None
        if results.expected_entropy is not None:
            self._expected_entropy = results.expected_entropy[0]
        self._weights = None if results.weights is None else results.weights[0]
        self.learned_graph_ = None if results.graphs is None else results.graphs[0]
        belief = None if results.beliefs is None else results.beliefs[0]
        self.view_weights_ = None if belief is None else belief.view_weights
        self.observed_graph_weight_ = None if belief is None else belief.observed_graph_weight
        self._left_out = None if results.left_out is None else results.left_out[0]
        self._edge_probability = None
        self._calibrations = ()
        self.notes_ = results.notes
        self.seconds_ = results.seconds
        return self

    def predict_proba(
        self, nodes: Any = None, *, X: Any = None, edges: Any = None
    ) -> NDArray[np.float32]:
        """Return class probabilities, columns in the order of `classes_`.

        Parameters
        ----------
        nodes : array-like of int, optional
            Which of the N fitted nodes; all by default.
        X : DataFrame, array-like or sparse matrix of shape (M, F), optional
            Features of new nodes, numbered N, N + 1, ... in this order; a table if a table was
            fitted.
        edges : array-like of shape (E, 2) or (E, 3), optional
            Edges (i, j) of the new nodes with fitted ones or with each other, optionally with a
            weight. The trained weights are applied to the observed graph with these edges added;
            nothing is trained again. None: no edges, or, if there was no graph at the fit, edges
            to the 10 nearest fitted nodes.

        Returns
        -------
        ndarray of float32, shape (N, C), (len(nodes), C) or, for new nodes, (M, C)
        """
        check_is_fitted(self, "classes_")
        if X is None and edges is None:
            if nodes is None:
                return self._probabilities.copy()
            return self._probabilities[check_nodes(nodes, len(self._probabilities), "nodes")]
        if nodes is not None:
            raise InputError("Pass either nodes (fitted) or X and edges (new), not both.")
        return self._predict_new(X, edges)

    def _predict_new(self, X: Any, edges: Any) -> NDArray[np.float32]:
        extended = extend_inputs(self._inputs, new_points(X, self.plan_), edges)
        found = self._predict_extended(extended)
        degrees = log_degrees(extended.graph)[self._inputs.n_nodes :]
        for one in self._calibrations:
            found = one.applied(found, degrees).astype(np.float32)
        return found

    def _predict_extended(self, extended: NodeInputs) -> NDArray[np.float32]:
        """Return the probabilities of the nodes that inputs have beyond the fitted ones."""
        fitted = self._inputs.n_nodes
        method = find_method(self.model_)
        if isinstance(self._weights, FittedCommittee | FittedLogistic):
            return self._weights.predict(extended).probabilities[fitted:]
        if self._weights is not None:
            graph = method.graph(extended)
            return self._weights.predict(graph, extended.features).probabilities[fitted:]
        assert isinstance(method, LabelPropagation)
        chosen = method.options(self._model()[1])
        classes = len(self.classes_)
        graph = method.graph(extended)
        return method.spread(graph, self._labels, self._train, classes, chosen)[fitted:]

    def predict(self, nodes: Any = None, *, X: Any = None, edges: Any = None) -> NDArray[Any]:
        """Return the most probable class of nodes; parameters as in `predict_proba`."""
        probabilities = self.predict_proba(nodes, X=X, edges=edges)
        found: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return found

    @property
    def class_shares_(self) -> NDArray[np.float64] | None:
        """How frequent the classes are taken to be among all nodes, shape (C,).

        With `class_prior="auto"` a careful estimate, between the shares of the training labels and
        those of the predictions. In the order of `classes_`; None for other recipes than "auto".
        """
        check_is_fitted(self, "classes_")
        if not isinstance(self._weights, FittedCommittee):
            return None
        return shares_of(self._weights.labels, self._weights.class_factors)

    @property
    def uncertainty_(self) -> NDArray[np.float64]:
        """One minus the probability of each node's predicted class, shape (N,).

        How likely the prediction is to be wrong. It tells wrong predictions from right ones at
        least as well as the entropy does.
        """
        check_is_fitted(self, "classes_")
        found: NDArray[np.float64] = 1.0 - self._probabilities.max(axis=1).astype(np.float64)
        return found

    @property
    def predictive_entropy_(self) -> NDArray[np.float64]:
        """Entropy of each node's class probabilities in nats, shape (N,)."""
        check_is_fitted(self, "classes_")
        return entropy(self._probabilities)

    @property
    def mutual_information_(self) -> NDArray[np.float64] | None:
        """Information between a node's class and the weights in nats, shape (N,).

        The part of the entropy that comes from samples of the weights, or with the recipe "auto"
        views of the graph, that disagree. It says why a node is uncertain, not how wrong its
        prediction may be: it tells errors worse than `uncertainty_`, which is the one to use for
        that. None for models without samples.
        """
        check_is_fitted(self, "classes_")
        if self._expected_entropy is None:
            return None
        return np.maximum(0.0, self.predictive_entropy_ - self._expected_entropy)

    @property
    def novelty_parts_(self) -> dict[str, NDArray[np.float64]]:
        """How strange each node is, by what: scores of shape (N,), higher for stranger nodes.

        "class": no class fits, the entropy. "neighbours": features unlike those of the neighbours.
        "features": features unlike those of all labelled nodes.
        """
        check_is_fitted(self, "classes_")
        return novelty_parts(self._inputs, self._probabilities, self._train)

    @property
    def novelty_(self) -> NDArray[np.float64]:
        """How unlike all that was learned from each node is, shape (N,).

        The parts of `novelty_parts_` by their ranks among the nodes, summed. For nodes of a class
        that nobody knows, `predictive_entropy_` alone is better; for strange features and edges
        that belong elsewhere it is blind.
        """
        return novelty(self.novelty_parts_)

    @property
    def edge_probability_(self) -> csr_array:
        """Probability that each observed edge is real, shape (N, N), one entry per edge.

        Found when it is first asked for, from features, other edges and predicted classes: an
        edge is false that looks like a random pair of nodes. Needs features and an observed graph.
        """
        check_is_fitted(self, "classes_")
        if self._edge_probability is None:
            trusts = self.observed_graph_weight_ is None or self.observed_graph_weight_ > 0.0
            self._edge_probability = edge_probabilities(self._inputs, self._probabilities, trusts)
        return self._edge_probability

    def suspect_edges(self, k: int | None = None, *, threshold: float = 0.5) -> pd.DataFrame:
        """Return the observed edges that look false, the falsest first.

        Parameters
        ----------
        k : int, optional
            How many at most; all by default.
        threshold : float, default=0.5
            Probability of being real up to which an edge looks false.

        Returns
        -------
        table : DataFrame
            Columns source and target (node numbers, source below target), probability (that the
            edge is real, see `edge_probability_`), source_class and target_class (predicted).
        """
        return suspects(self.edge_probability_, self.predict(), k, threshold)

    def save(self, folder: PathLike) -> None:
        """Write the fitted classifier to a folder: JSON, npz and safetensors, no pickle."""
        from truegraph.tasks.classify.saving import save_estimator

        check_is_fitted(self, "classes_")
        save_estimator(self, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read a classifier that `save` wrote; it predicts the same, bit for bit."""
        from truegraph.tasks.classify.saving import load_estimator

        return load_estimator(cls, folder)


def _check_length(labels: int, X: Any) -> None:
    rows = labels if X is None else (np.shape(X) or (0,))[0]
    if rows != labels:
        raise InputError(
            f"y has {labels} labels, but X has {rows} rows; give one label per node, -1 where "
            "unknown."
        )
