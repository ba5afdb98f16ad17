"""Classify the nodes of a graph, or the rows of a table, from a few labels.

>>> import numpy as np
>>> from truegraph import NodeClassifier
>>> points = np.random.default_rng(0).normal(size=(60, 4)) + 4 * np.repeat([[0.0], [1.0]], 30, 0)
>>> y = np.full(60, -1)
>>> y[[0, 1, 30, 31]] = [0, 0, 1, 1]
>>> classifier = NodeClassifier(random_state=0).fit(points, y)
>>> classifier.predict_proba().shape
(60, 2)
>>> classifier.predict(points[[2, 32]] + 0.1)
array([0, 1])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from truegraph import gate
from truegraph.classify.auto import AutoModel
from truegraph.classify.averaging import class_advice, share_advice
from truegraph.classify.base import NodeEstimator
from truegraph.classify.calibration import (
    LEAST_LABELS,
    NodeTemperatures,
    calibrating_temperatures,
    log_degrees,
    moved_entropy,
)
from truegraph.classify.edges import edge_probabilities, suspects
from truegraph.classify.labels import encode_labels, training_split, weights_of_labels
from truegraph.classify.left_out import LeftOutLabels
from truegraph.classify.models import find_model
from truegraph.classify.novelty import novelty, novelty_parts
from truegraph.classify.prediction_sets import (
    PredictionSets,
    check_calibration,
    check_coverage,
    check_smoothing,
    set_scores,
    sets_from_calibration,
    sets_from_left_out,
)
from truegraph.classify.problem import FittedModel, Problem, hidden_labels
from truegraph.data.column_plan import ColumnPlan
from truegraph.data.storage import PathLike
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.evaluation.samples import entropy
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.learner import graph_advice
from truegraph.progress import console_progress
from truegraph.saving import savable
from truegraph.seeds import seed_from
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd


class MissingEdgesError(InputError, AttributeError):
    """There are no edges, or no features, by which `edge_probability_` could be found."""


_USUAL = {"degree": None, "effort": "normal", "class_prior": "auto"}


@savable
class NodeClassifier(ClassifierMixin, NodeEstimator):
    """Classifier of nodes that does not take the observed graph for the true one.

    "auto" is Bayesian model averaging (Hoeting et al., Statistical Science 1999) over views of the
    graph. "bgcn" is Algorithm 1 of Pal et al., UAI 2020. The page "Options of the models" lists the
    options of every model.

    Parameters
    ----------
    model : str, default="auto"
        "auto", the recommended one, averages views of the nodes under different hypotheses about
        the true graph (none, the observed one, learned ones, neighbours that differ) and a trained
        network, weighted by how well they predict left-out training labels. The paper's: "bgcn",
        the Bayesian GCN as published; "bgcn-refined" keeps its graph learning and puts propagated
        predictions (APPNP) in place of the GCN, in two rounds; "bgcn-fast" is the same without
        training an embedding, in one round. Networks: "gcn", "chebynet", "gat", "dfnet-att",
        "sbm-gcn", "mlp", "appnp", "bgcn-parametric" (the Bayesian GCN of Zhang et al.). Others:
        "logistic-regression", "label-propagation", "label-spreading" (between the nearest
        neighbours of the features), "learned-spreading" (over the graph learned from them).
    degree : float, optional
        Average number of edges per node of the learned graphs. The default depends on the model:
        with "auto" 30 and 80, with the paper's 100, fewer on few nodes and on many.
    effort : {"low", "normal"}, default="normal"
        Of "auto": "low" trains no network, "normal" one where left-out labels support the
        observed graph.
    class_prior : {"auto", "train", "uniform"} or array of shape (C,), default="auto"
        Of "auto": how frequent the classes are among all nodes; as the predictions say where they
        clearly differ from the training labels, as among these, all alike, or as given in the order
        of `classes_`.
    options : mapping, optional
        Further options of the model, for example ``{"epochs": 100}`` of a network; those that a
        model has are ``truegraph.classify.models.find_model(name).defaults``.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        A torch device, e.g. "cuda".
    cache : path-like, optional
        Folder of embeddings computed before.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    n_features_in_, feature_names_in_
        Of X; the names only if it was a table.
    plan_ : ColumnPlan or None
        The fitted plan of a DataFrame.
    notes_, seconds_
        What was chosen for the user, and the seconds of each stage.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    _unsaved = ("_edge_probability",)
    _computed = ("edge_probability_", "novelty_", "novelty_parts_")

    def __init__(
        self,
        model: str = "auto",
        *,
        degree: float | None = None,
        effort: str = "normal",
        class_prior: Any = "auto",
        options: Mapping[str, Any] | None = None,
        plan: ColumnPlan | None = None,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.degree = degree
        self.effort = effort
        self.class_prior = class_prior
        self.options = options
        self.plan = plan
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        graph: Any = None,
        validation: Any = None,
    ) -> Self:
        """Train on the labelled nodes and predict all.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (N, F), or None
            Mixed columns of a DataFrame are vectorised by `plan`; arrays are taken as they are.
            Rows are normalised here. None: each node is its own feature, or on more than 20,000
            nodes its degree is.
        y : array-like of shape (N,)
            Labels of any one kind; -1, None or NaN where unknown.
        sample_weight : array-like of shape (N,), optional
            How much each label counts; a label of weight 0 is as good as none. Networks take none.
        graph : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table, optional
            Observed graph of the same nodes, in the same order or, where both have names, matched
            by these. None: the graph of the 10 nearest neighbours by the features.
        validation : array-like of int, optional
            Labelled nodes to hold out of training. Models that stop early need some and draw a
            fifth of the labelled nodes of each class if none are given.

        Returns
        -------
        self
        """
        labels, classes = encode_labels(y, sample_weight)
        inputs = self._taken(X, graph, len(labels))
        model, options = find_model(self.model), self._model_options()
        seed = seed_from(self.random_state)
        train, held_out, note = training_split(labels, validation, model.stops_early, seed)
        shown = hidden_labels(labels, train, held_out if model.stops_early else held_out[:0])
        known = hidden_labels(labels, train, held_out[:0])
        weights = weights_of_labels(sample_weight, known)
        if weights is not None and not model.takes_weights:
            raise InputError(
                f"sample_weight does not go with model={self.model!r}; remove it, give the same "
                "weight (or 0) to all labels, or use model='auto'."
            )
        cache = None if self.cache is None else Path(self.cache)
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            for text in [*([note] if note else []), *inputs.notes]:
                log.note(text)
            given = (len(classes), seed, self.device, cache, weights)
            problem = Problem(inputs, shown, train, held_out, *given)
            self._fitted: FittedModel = model.fit(problem, options, log)
        self._inputs, self._train, self.classes_, self.seed_ = inputs, train, classes, seed
        self._labels = known
        self._probabilities = self._fitted.probabilities
        self._expected_entropy = self._fitted.expected_entropy
        self._left_out = self._auto.left_out if self._auto else None
        self._calibrations: list[NodeTemperatures] = []
        self._edge_probability: csr_array | None = None
        self.notes_, self.seconds_ = tuple(log.notes), log.seconds
        for message in [*log.alarms, *self._advice()]:
            warn(message, AnswerWarning)
        return self

    def _model_options(self) -> dict[str, Any]:
        """Return the options of the model, with the parameters that are options of some models."""
        model, options = find_model(self.model), dict(self.options or {})
        for name, usual in _USUAL.items():
            value = getattr(self, name)
            if value is usual or (isinstance(value, str) and value == usual):
                continue
            if name not in model.defaults:
                raise InputError(
                    f"{name}={value!r} does not go with model={self.model!r}; remove it, or use "
                    "model='auto'."
                )
            options[name] = value
        return options

    @property
    def _auto(self) -> AutoModel | None:
        return self._fitted if isinstance(self._fitted, AutoModel) else None

    def _advice(self) -> list[str]:
        """Return why the result is probably unreliable."""
        found = class_advice(self._probabilities, self._labels, self.classes_)
        if self.learned_graph_ is not None:
            found += graph_advice(self.learned_graph_.adjacency)
            if self.view_weights_ is not None:
                found += share_advice(self.view_weights_)
        return found

    def predict_proba(
        self, X: Any = None, *, nodes: Any = None, edges: Any = None
    ) -> NDArray[np.float32]:
        """Return class probabilities, columns in the order of `classes_`.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (M, F), optional
            Features of new nodes, numbered N, N + 1, ... in this order; a table if a table was
            fitted. None, without edges: the fitted nodes.
        nodes : array-like of int, optional
            Which of the N fitted nodes; all by default.
        edges : array-like of shape (E, 2) or (E, 3), optional
            Edges (i, j) of the new nodes with fitted ones or with each other, optionally with a
            weight. What was trained is applied to the observed graph with these edges added;
            nothing is trained again. None: no edges, or, if there was no graph at the fit, edges
            from the 10 nearest fitted nodes.

        Returns
        -------
        ndarray of float32, shape (N, C), (len(nodes), C) or, for new nodes, (M, C)
        """
        chosen = self._chosen_nodes(X, nodes, edges)
        if chosen is not None:
            return self._probabilities[chosen]
        extended = self._extended(X, edges)
        fitted = self._inputs.n_nodes
        found = self._fitted.predict(extended)[fitted:]
        degrees = log_degrees(extended.graph)[fitted:]
        for one in self._calibrations:
            found = one.applied(found, degrees).astype(np.float32)
        return found

    def predict(self, X: Any = None, *, nodes: Any = None, edges: Any = None) -> NDArray[Any]:
        """Return the most probable class of nodes; parameters as in `predict_proba`."""
        probabilities = self.predict_proba(X, nodes=nodes, edges=edges)
        found: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return found

    def predict_set(
        self,
        X: Any = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        coverage: float = 0.9,
        calibration: Any = None,
        class_conditional: bool = False,
        smoothing: float = 0.0,
    ) -> PredictionSets:
        """Return sets of classes that hold the true class with the asked probability.

        Cross-conformal prediction (Vovk, 2015); with `calibration`, split conformal prediction
        (Papadopoulos et al., ECML 2002).

        Without `calibration`, thresholds come from the training labels, each predicted without
        itself, which "auto" keeps; with few labels they rest more on the probabilities themselves.
        With it, they come from labels that were set aside (split conformal prediction): then the
        coverage is guaranteed on average, if these nodes were drawn like those asked for.

        Parameters
        ----------
        X, nodes, edges
            As in `predict_proba`.
        coverage : float, default=0.9
            Share of the nodes whose true class shall be in their set.
        calibration : pair of array-likes (nodes, labels), optional
            Fitted nodes whose labels were set aside, -1 in the `y` of the fit, and these labels.
        class_conditional : bool, default=False
            Whether the coverage shall hold within every class, not only over all of them.
        smoothing : float, default=0.0
            With `calibration`, how much of a node's scores is the mean over its neighbours in the
            observed graph, as in DAPS. Training labels cannot be used with it: the neighbours'
            predictions know them.

        Returns
        -------
        PredictionSets
            Never empty; `lists()` has the names of the classes.

        References
        ----------
        V. Vovk, "Cross-conformal predictors", 2015; S. Zargarbashi, S. Antonelli, A. Bojchevski,
        "Conformal prediction sets for graph neural networks", ICML 2023.
        """
        check_is_fitted(self, "classes_")
        coverage = check_coverage(coverage)
        smoothing = check_smoothing(smoothing, calibration is not None and X is edges is None)
        probabilities = self.predict_proba(X, nodes=nodes, edges=edges)
        if calibration is None:
            if self._left_out is None:
                raise InputError(
                    f"the model {self.model!r} keeps no left-out predictions of its training "
                    "labels; pass calibration=(nodes, labels) set aside, or use model='auto'."
                )
            unlabelled = np.delete(self._probabilities, self._train, axis=0)
            given = (probabilities, unlabelled, self.classes_, coverage)
            return sets_from_left_out(self._left_out, *given, class_conditional)
        aside, labels = self._labels_aside(calibration)
        everyone = set_scores(self._probabilities, self._inputs.graph, smoothing)
        asked = set_scores(probabilities)
        if smoothing > 0.0:
            asked = everyone if nodes is None else everyone[np.atleast_1d(np.asarray(nodes))]
        return sets_from_calibration(
            asked, (everyone[aside], labels), self.classes_, coverage, class_conditional
        )

    def calibrate(self, nodes: Any, labels: Any) -> Self:
        """Correct all probabilities by labels that were set aside: a temperature for every node.

        Left-out training labels count as well. From 300 labels on each class gets an offset, too,
        by which a predicted class may change. Without it, "auto" learns such temperatures from 100
        training labels on, see `calibration_`.

        Parameters
        ----------
        nodes : array-like of int, shape (m,)
            Fitted nodes whose labels were set aside, -1 in the `y` of the fit; a hundred or more
            are worth it. They should be drawn at random: if rare classes are drawn more often,
            their offsets say that they are more frequent than they are.
        labels : array-like of shape (m,)
            Their labels.

        Returns
        -------
        self
        """
        check_is_fitted(self, "classes_")
        aside, classes = self._labels_aside((nodes, labels))
        degrees, before = log_degrees(self._inputs.graph), self._probabilities
        seen = LeftOutLabels(aside, classes, before[aside].astype(np.float64))
        found = calibrating_temperatures(seen, self._left_out, degrees)
        if self._left_out is not None:
            chances = found.applied(self._left_out.probabilities, degrees[self._left_out.nodes])
            self._left_out = replace(self._left_out, probabilities=chances)
        after = found.applied(before, degrees)
        self._probabilities = after.astype(np.float32)
        if self._expected_entropy is not None:
            self._expected_entropy = moved_entropy(self._expected_entropy, before, after)
        self._calibrations = [*self._calibrations, found]
        self._edge_probability = None  # it rests on the probabilities
        return self

    def _labels_aside(self, given: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return check_calibration(given, self.classes_, self._train, self._inputs.n_nodes)

    @property
    def calibration_(self) -> str:
        """Where the confidence of the probabilities comes from, in words."""
        check_is_fitted(self, "classes_")
        if self._calibrations:
            last = self._calibrations[-1]
            return f"{last.described}, from {counted(last.labels, 'label')} set aside"
        if self._auto is None:
            return "as the model is trained"
        own = self._auto.temperatures
        if own is not None:
            return f"{own.described}, from {counted(own.labels, 'left-out label')}"
        return (
            "temperatures of the views, from left-out labels; fewer than "
            f"{LEAST_LABELS} are too few for temperatures of the nodes"
        )

    @property
    def transduction_(self) -> NDArray[Any]:
        """Most probable class of every fitted node, shape (N,)."""
        check_is_fitted(self, "classes_")
        return self.predict()

    @property
    def learned_graph_(self) -> LearnedGraph | None:
        """The learned graph; with "auto" the one whose views have the largest weight."""
        check_is_fitted(self, "classes_")
        found = self._fitted.learned_graph
        return found if found is None else found.named(self._inputs.names)

    @property
    def view_weights_(self) -> dict[str, float] | None:
        """With "auto" the weight of every view and of the network, the largest first."""
        check_is_fitted(self, "classes_")
        return self._auto.view_weights if self._auto else None

    @property
    def observed_graph_weight_(self) -> float | None:
        """With "auto" the weight of all that rest on the observed graph."""
        check_is_fitted(self, "classes_")
        return self._auto.observed_graph_weight if self._auto else None

    @property
    def class_shares_(self) -> NDArray[np.float64] | None:
        """How frequent the classes are taken to be among all nodes, shape (C,).

        With `class_prior="auto"` an estimate between those of labels and of predictions; None for
        other models than "auto".
        """
        check_is_fitted(self, "classes_")
        return self._auto.class_shares if self._auto else None

    @property
    def uncertainty_(self) -> NDArray[np.float64]:
        """One minus the probability of each node's predicted class, shape (N,).

        It tells wrong predictions from right ones at least as well as the entropy does.
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

        The part of the entropy that comes from samples of the weights, or with "auto" views of the
        graph, that disagree. It says why a node is uncertain, not how wrong its prediction may be:
        it tells errors worse than `uncertainty_`, which is the one to use for that. None for models
        without samples.
        """
        check_is_fitted(self, "classes_")
        if self._expected_entropy is None:
            return None
        return np.maximum(0.0, self.predictive_entropy_ - self._expected_entropy)

    @property
    def novelty_parts_(self) -> dict[str, NDArray[np.float64]]:
        """Novelty scores by source; each an array of shape (N,), higher is more novel.

        "class": the entropy, high where no class fits. "neighbours": distance of the features from
        those of the neighbours. "features": distance from those of all labelled nodes.
        """
        check_is_fitted(self, "classes_")
        return novelty_parts(self._inputs, self._probabilities, self._train)

    @property
    def novelty_(self) -> NDArray[np.float64]:
        """Novelty scores of shape (N,), higher is more novel.

        The sum of the ranks of `novelty_parts_`. `predictive_entropy_` alone finds nodes of an
        unknown class better, but it misses unusual features and misplaced edges.
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
            given = (self._inputs, self._probabilities, trusts)
            try:
                self._edge_probability = edge_probabilities(*given)
            except InputError as error:  # so that hasattr() says no
                raise MissingEdgesError(str(error)) from error
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
            Columns source and target (names of the nodes, or numbers), probability (that the edge
            is real, see `edge_probability_`), source_class and target_class (predicted).
        """
        found = suspects(self.edge_probability_, self.predict(), k, threshold)
        if self._inputs.names is not None:
            names = np.array([*self._inputs.names, None], dtype=object)[:-1]
            found = found.assign(source=names[found["source"]], target=names[found["target"]])
        return found

    def _check_saved(self) -> None:
        nodes, classes = self._inputs.n_nodes, len(self.classes_)
        chances = gate.array("probabilities", self._probabilities, (nodes, classes))
        if chances.min(initial=0.0) < 0.0 or self._fitted.probabilities.shape != chances.shape:
            raise InputError("probabilities are negative, or not those of the model")
        if self._expected_entropy is not None:
            gate.array("expected_entropy", self._expected_entropy, (nodes,))
        labels = gate.whole_numbers("labels", self._labels, length=nodes, at_least=-1)
        gate.indices("labels", labels[labels >= 0], classes, what="class")
        gate.indices("train", self._train, nodes)
        graph = self._fitted.learned_graph
        if graph is not None and graph.n_nodes != nodes:
            raise InputError(f"the learned graph has {graph.n_nodes} nodes, the data {nodes}")
        if self._left_out is not None:
            gate.indices("left_out.nodes", self._left_out.nodes, nodes)

    def _after_load(self) -> None:
        self._edge_probability = None
