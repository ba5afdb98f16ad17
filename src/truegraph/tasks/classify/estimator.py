"""Classify the nodes of a graph from a few labels.

>>> import numpy as np
>>> from truegraph import BayesianNodeClassifier
>>> points = np.random.default_rng(0).normal(size=(60, 4)) + 4 * np.repeat([[0.0], [1.0]], 30, 0)
>>> y = np.full(60, -1)
>>> y[[0, 1, 30, 31]] = [0, 0, 1, 1]
>>> classifier = BayesianNodeClassifier(random_state=0).fit(points, y)
>>> classifier.predict_proba().shape
(60, 2)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from truegraph.data.nodes.containers import UNLABELLED
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.progress import console_progress
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.labels import check_nodes, encode_labels, training_split
from truegraph.tasks.classify.methods import LabelPropagation, Run
from truegraph.tasks.classify.new_nodes import extend_inputs
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.trials import TrialResults, find_method, run_on_inputs

# The accuracy on few nodes is soon perfect, and then GAT's rule would not stop for hours.
_FEW_VALIDATION = 100
_EPOCHS_IF_FEW = 1000
_RECIPES = {"paper": "bgcn", "refined": "refined", "fast": "fast"}  # to the names of methods
_OF_PAPER = {  # parameters of the paper's recipe alone, with their defaults
    "base": "gcn",
    "weight_sampling": "mc-dropout",
    "schedule": "fresh",
    "predict_on": "observed",
    "graph_inference": "map",
}


class _NodeEstimator(BaseEstimator):
    """What both estimators share; subclasses say which model with which options."""

    random_state: Any
    device: str
    cache: PathLike | None
    progress: bool

    @abstractmethod
    def _model(self) -> tuple[str, Any]:
        """Return the model's name and options."""

    def fit(self, X: Any, y: Any, *, graph: Any = None, validation: Any = None) -> Self:
        """Train on the labelled nodes and predict all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (N, F), or None
            Features as they are; rows are normalised here. None: each node is its own feature, or
            on more than 20,000 nodes its degree is.
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
        name, options = self._model()
        method = find_method(name)
        chosen = method.options(options)
        labels, classes = encode_labels(y)
        _check_length(len(labels), X)
        inputs = complete_inputs(X, graph, len(labels))
        seed = _seed(self.random_state)
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
            results = run_on_inputs(
                name, inputs, labels, [split], [seed], chosen, len(classes), run
            )
        self._inputs, self._train = inputs, split.train
        self._labels = np.full_like(labels, UNLABELLED)
        self._labels[split.train] = labels[split.train]
        self.classes_, self.seed_ = classes, seed
        return self._keep(results)

    def _keep(self, results: TrialResults) -> Self:
        """Take over the only trial of some results."""
        self._probabilities = results.probabilities[0]
        self._expected_entropy = None
        if results.expected_entropy is not None:
            self._expected_entropy = results.expected_entropy[0]
        self._weights = None if results.weights is None else results.weights[0]
        self.learned_graph_ = None if results.graphs is None else results.graphs[0]
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
        X : array-like or sparse matrix of shape (M, F), optional
            Features of new nodes, numbered N, N + 1, ... in this order.
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
            raise InputError("nodes is given beside X or edges. Ask for fitted or for new nodes.")
        return self._predict_new(X, edges)

    def _predict_new(self, X: Any, edges: Any) -> NDArray[np.float32]:
        fitted = self._inputs.n_nodes
        extended = extend_inputs(self._inputs, X, edges)
        name, options = self._model()
        method = find_method(name)
        if self._weights is not None:
            graph = method.graph(extended)
            return self._weights.predict(graph, extended.features).probabilities[fitted:]
        assert isinstance(method, LabelPropagation)
        chosen = method.options(options)
        classes = len(self.classes_)
        return method.spread(extended.graph, self._labels, self._train, classes, chosen)[fitted:]

    def predict(self, nodes: Any = None, *, X: Any = None, edges: Any = None) -> NDArray[Any]:
        """Return the most probable class of nodes; parameters as in `predict_proba`."""
        probabilities = self.predict_proba(nodes, X=X, edges=edges)
        found: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return found

    @property
    def predictive_entropy_(self) -> NDArray[np.float64]:
        """Entropy of each node's class probabilities in nats, shape (N,)."""
        check_is_fitted(self, "classes_")
        return entropy(self._probabilities)

    @property
    def mutual_information_(self) -> NDArray[np.float64] | None:
        """Information between a node's class and the weights in nats, shape (N,).

        The part of the entropy that more data would remove. None for models without samples.
        """
        check_is_fitted(self, "classes_")
        if self._expected_entropy is None:
            return None
        return np.maximum(0.0, self.predictive_entropy_ - self._expected_entropy)

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


class NodeClassifier(_NodeEstimator):
    """Any of the classifiers for the nodes of a graph.

    Parameters
    ----------
    model : str, default="gcn"
        "gcn", "chebynet", "gat", "dfnet-att", "sbm-gcn", "mlp", "appnp", "label-propagation",
        "knn" and "gdc" (a GCN on the nearest-neighbour graph of the features, or on the diffused
        observed graph), "gdc-appnp", "bgcn-parametric" (the Bayesian GCN of Zhang et al.), "bgcn",
        "refined" or "fast"; for the last three see also `BayesianNodeClassifier`.
    options : mapping or the model's own settings, optional
        For example ``{"epochs": 100}``; by default those of the model's authors.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        Anything that torch knows.
    cache : path-like, optional
        Folder of embeddings computed before, for "bgcn" and "refined".
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    predictive_entropy_ : ndarray of shape (N,)
    mutual_information_ : ndarray of shape (N,), or None
        Only for the Bayesian models.
    learned_graph_ : LearnedGraph or None
        Only for "bgcn", "refined" and "fast".
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
    """

    def __init__(
        self,
        model: str = "gcn",
        *,
        options: Any = None,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.options = options
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def _model(self) -> tuple[str, Any]:
        return self.model, self.options


class BayesianNodeClassifier(_NodeEstimator):
    """Bayesian classifier on the most probable graph: the paper's Algorithm 1, or a refined one.

    Parameters
    ----------
    degree : float, optional
        Average number of edges per node of the learned graph. Default: 100, but not more than
        half the mean class size; with the recipes "refined" and "fast", fewer beyond 6,000 nodes.
    recipe : {"paper", "refined", "fast"}, default="paper"
        "paper" is the Bayesian GCN as published. "refined", the recommended one, keeps its graph
        learning and puts propagated predictions (APPNP) in place of the GCN, in two rounds, with
        calibrated probabilities: more accurate and better calibrated on the paper's data. "fast"
        is the same without training an embedding, in one round, for large graphs.
    candidate_ratio : float, default=3
        Candidate neighbours per wanted edge.
    embedding : "vgae", "svd" or array of shape (N, d), optional
        Default: "vgae"; "svd" for the recipe "fast".
    base : str, default="gcn"
        Classifier whose predictions enter the distances.
    weight_sampling : {"mc-dropout", "snapshots"}, default="mc-dropout"
    schedule : {"fresh", "continue"}, default="fresh"
        Whether the GCN on the learned graph is new, or was trained on the observed one before.
    predict_on : {"observed", "learned"}, default="observed"
        New nodes are always predicted on the observed graph.
    samples : int, optional
        Weight samples; default 60 dropout passes or 59 snapshots; 20 passes of each classifier
        with the other recipes.
    scope, solver, tol
        Of the graph learner, see `GraphLearner`.
    graph_inference : {"map", "mean", "samples"}, default="map"
        Train on the most probable graph, as the paper does, on the mean of the graph's posterior,
        or on a fresh draw from it in every epoch. This, `base`, `weight_sampling`, `schedule` and
        `predict_on` belong to the paper's recipe.
    options : mapping, optional
        Further options of `truegraph.tasks.classify.recipes.algorithm1.BGCNOptions`, for example
        ``{"settings": {"hidden": 32}, "embedding_options": {"epochs": 9}}``, or, for others, of
        `truegraph.tasks.classify.recipes.refined.RefinedOptions`, for example ``{"rounds": 1}``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        Anything that torch knows.
    cache : path-like, optional
        Folder of embeddings computed before.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    learned_graph_ : LearnedGraph
    predictive_entropy_, mutual_information_ : ndarray of shape (N,)
        Uncertainty of each node's class, and the part of it that comes from the weights.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    def __init__(
        self,
        degree: float | None = None,
        *,
        recipe: str = "paper",
        candidate_ratio: float = 3.0,
        embedding: Any = None,
        base: str = "gcn",
        weight_sampling: str = "mc-dropout",
        schedule: str = "fresh",
        predict_on: str = "observed",
        samples: int | None = None,
        scope: str = "candidates",
        solver: str = "newton",
        tol: float = 1e-6,
        graph_inference: str = "map",
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.degree = degree
        self.recipe = recipe
        self.candidate_ratio = candidate_ratio
        self.embedding = embedding
        self.base = base
        self.weight_sampling = weight_sampling
        self.schedule = schedule
        self.predict_on = predict_on
        self.samples = samples
        self.scope = scope
        self.solver = solver
        self.tol = tol
        self.graph_inference = graph_inference
        self.options = options
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def _model(self) -> tuple[str, Any]:
        if self.recipe not in _RECIPES:
            raise InputError(f"recipe is {self.recipe!r}. Use one of {', '.join(_RECIPES)}.")
        params = self.get_params(deep=False)
        own = ("recipe", "options", "random_state", "device", "cache", "progress")
        options = {k: v for k, v in params.items() if k not in own and v is not None}
        if self.recipe != "paper":
            for name, usual in _OF_PAPER.items():
                if options.pop(name) != usual:
                    raise InputError(
                        f"{name} is {params[name]!r}, but recipe {self.recipe!r} has no such "
                        "choice. Leave it out, or use recipe='paper'."
                    )
        return _RECIPES[self.recipe], {**options, **(self.options or {})}


def _check_length(labels: int, X: Any) -> None:
    rows = labels if X is None else (np.shape(X) or (0,))[0]
    if rows != labels:
        raise InputError(
            f"y has {labels} labels, but X has {rows} rows. Give one label per node, -1 where "
            "unknown."
        )


def _seed(random_state: Any) -> int:
    """Return an integer as it is, and a number drawn from anything else."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state is {random_state!r}. Give an integer >= 0, a RandomState or None."
        ) from error
