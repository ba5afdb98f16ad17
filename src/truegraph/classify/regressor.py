"""Predict numbers for the nodes of a graph, or the rows of a table, from a few of them.

>>> import numpy as np
>>> from truegraph import NodeRegressor
>>> X = np.random.default_rng(0).normal(size=(80, 4))
>>> y = X @ [2.0, -1.0, 0.0, 0.5]
>>> y[40:] = np.nan
>>> regressor = NodeRegressor(random_state=0).fit(X, y)
>>> predicted, interval = regressor.predict(X[:2], return_interval=0.9)
>>> predicted.shape, interval.shape
((2,), (2, 2))
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from truegraph import gate
from truegraph.classify.auto import auto_options, learned_sources, observed_sources
from truegraph.classify.averaging import (
    agreement_across,
    observed_graph_weight,
    weight_of,
    weights_of_views,
)
from truegraph.classify.base import NodeEstimator
from truegraph.classify.closed_form import Linear, fit_ridge, spread_values, values_left_out
from truegraph.classify.forest import Forest, grow_regression_forest, regression_left_out
from truegraph.classify.inputs import NodeInputs
from truegraph.classify.prediction_sets import check_coverage
from truegraph.classify.view_models import FOREST
from truegraph.classify.views import KINDS, SPREADING, Views, ViewSources
from truegraph.data.column_plan import ColumnPlan
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.progress import console_progress
from truegraph.saving import savable
from truegraph.seeds import seed_from

_MEAN = "mean"  # of the known values: what is known without looking at a node
_PENALTIES = (0.1, 1.0, 10.0, 100.0)
_PRIOR_LABELS = 2.0  # that the variance of the targets counts for in the variance of errors
# Penalties and weights are chosen by the same left-out values as intervals are: with n of them
# these get wider by 1 + 2 / n (lab/choose/regression_intervals.py).
_CHOSEN = 2.0
_MOST_LABELS = 2_000  # more would cost their square
_MOST_NODES, _MOST_NUMBERS = 200_000, 5e7  # beyond, no forest is grown

Floats = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class RegressionView:
    """What one view predicts, with Gaussian errors.

    Attributes
    ----------
    name : str
        Of the view, or "mean".
    model : Linear, Forest or None
        None where values are spread, and for the mean.
    deviation : float
        Standard deviation of the errors; targets have deviation one.
    """

    name: str
    model: Linear | Forest | None
    deviation: float

    def predicted(self, views: Views, nodes: NDArray[np.int64], targets: Floats) -> Floats:
        """Return what it predicts for all nodes of some views (N',), given the known targets."""
        if self.name == _MEAN:
            return np.zeros(views.n_nodes)
        if self.model is not None:
            return self.model.scores(views.table(self.name))[:, 0].astype(np.float64)
        operator = views.operator(self.name)
        found = spread_values(operator, nodes, targets, *SPREADING[self.name])
        return found.astype(np.float64)


class _Fitted(NamedTuple):
    """A view with its predictions of the targets (n,), each left out, and of all nodes (N,)."""

    view: RegressionView
    left_out: Floats
    everyone: Floats

    def densities(self, targets: Floats) -> Floats:
        """Return the log density of each left-out target."""
        return np.asarray(norm.logpdf(targets, self.left_out, self.view.deviation))


@savable
class NodeRegressor(RegressorMixin, NodeEstimator):
    """Regression on nodes that does not take the observed graph for the true one.

    The views of `NodeClassifier(model="auto")`, each with ridge regression in closed form or by
    spreading of the values, and a random forest, are averaged by how well they predict each known
    value without itself (exactly, without training again), with Gaussian errors.

    Parameters
    ----------
    degree : float, optional
        Average number of edges per node of the learned graphs, by default 30 and 80, fewer on few
        nodes and on many.
    options : mapping, optional
        ``learned_graphs``, ``observed_graph``, ``weights``, as of `truegraph.classify.auto`.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    view_weights_ : dict of str to float
        Weight of every view, the largest first.
    observed_graph_weight_ : float
        Weight of all views that rest on the observed graph.
    learned_graph_ : LearnedGraph or None
        Learned from the features.
    transduction_ : ndarray of shape (N,)
        Predicted value of every fitted node.
    uncertainty_ : ndarray of shape (N,)
        Standard deviation of each prediction's error, within views and between them.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X was a table.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
    """

    def __init__(
        self,
        *,
        degree: float | None = None,
        options: Mapping[str, Any] | None = None,
        plan: ColumnPlan | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.degree = degree
        self.options = options
        self.plan = plan
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, *, graph: Any = None) -> Self:
        """Fit to the known values and predict all.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (N, F), or None
            As in `NodeClassifier.fit`.
        y : array-like of float, shape (N,)
            NaN or None where unknown.
        graph : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table, optional
            Observed graph of the same nodes in the same order.

        Returns
        -------
        self
        """
        values = _checked_values(y)
        inputs = self._taken(X, graph, len(values))
        given = {} if self.degree is None else {"degree": self.degree}
        options = auto_options({**(self.options or {}), **given})
        seed = seed_from(self.random_state)
        known = _known(values, seed)
        self._nodes, own = known, values[known]
        self._centre, self._scale = float(own.mean()), float(own.std()) or 1.0
        self._targets = (own - self._centre) / self._scale
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            for text in inputs.notes:
                log.note(text)
            self._sources, fitted = _fit_views(inputs, known, self._targets, options, seed, log)
            weights = _weights(fitted, self._targets, inputs, options, seed)
        self._views = [one.view for one in fitted if one.view.name in weights]
        self.view_weights_ = dict(sorted(weights.items(), key=lambda one: -one[1]))
        self.observed_graph_weight_ = observed_graph_weight(weights, self._sources.has_graph)
        counting = [one for one in fitted if one.view.name in weights]
        mean, deviation = self._averaged([one.left_out for one in counting])
        self._residuals = np.sort(np.abs(self._targets - mean) / deviation)
        self._predicted, self._deviations = self._averaged([one.everyone for one in counting])
        self._inputs, self.seed_ = inputs, seed
        self.notes_, self.seconds_ = tuple(log.notes), log.seconds
        return self

    def _averaged(self, predictions: list[Floats]) -> tuple[Floats, Floats]:
        """Return the mean of the views' predictions (n,), and the deviation of its error."""
        weights = np.array([self.view_weights_[one.name] for one in self._views])
        each = np.array(predictions)
        mean = weights @ each
        within = np.array([one.deviation**2 for one in self._views])[:, None]
        return mean, np.sqrt(weights @ (within + (each - mean) ** 2))

    def predict(
        self,
        X: Any = None,
        *,
        nodes: Any = None,
        edges: Any = None,
        return_interval: float | None = None,
    ) -> Any:
        """Return predicted values.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (M, F), optional
            Features of new nodes. None, without edges: the fitted nodes.
        nodes : array-like of int, optional
            Which of the N fitted nodes; all by default.
        edges : array-like of shape (E, 2) or (E, 3), optional
            Of new nodes, as in `NodeClassifier.predict_proba`.
        return_interval : float, optional
            A share such as 0.9: return intervals too that hold the true value for this share of the
            nodes (cross-conformal: from the errors of known values, each predicted without itself).

        Returns
        -------
        values : ndarray of shape (N,), (len(nodes),) or (M,)
        interval : ndarray of shape (..., 2)
            Lower and upper ends; only with `return_interval`.
        """
        found, deviations = self._predictions(X, nodes, edges)
        values = self._centre + self._scale * found
        if return_interval is None:
            return values
        half = self._scale * self._factor(return_interval) * deviations
        return values, np.column_stack([values - half, values + half])

    def _predictions(self, X: Any, nodes: Any, edges: Any) -> tuple[Floats, Floats]:
        chosen = self._chosen_nodes(X, nodes, edges)
        if chosen is not None:
            return self._predicted[chosen], self._deviations[chosen]
        extended = self._extended(X, edges)
        views = Views(self._sources, extended)
        each = [one.predicted(views, self._nodes, self._targets) for one in self._views]
        mean, deviations = self._averaged(each)
        fitted = self._inputs.n_nodes
        return mean[fitted:], deviations[fitted:]

    def _factor(self, share: float) -> float:
        """Return how many deviations an interval extends to each side."""
        share, count = check_coverage(share), len(self._residuals)
        rank = math.ceil((count + 1) * share - 1e-9)
        if rank > count:
            least = math.ceil(share / (1.0 - share) - 1e-9)
            raise InputError(
                f"return_interval={share:g} needs at least {least} known values, and there are "
                f"{count}; give more, or lower return_interval."
            )
        return float(self._residuals[rank - 1]) * (1.0 + _CHOSEN / count)

    @property
    def transduction_(self) -> Floats:
        """Predicted value of every fitted node, shape (N,)."""
        found: Floats = self.predict()
        return found

    @property
    def uncertainty_(self) -> Floats:
        """Standard deviation of each prediction's error, within views and between them: (N,)."""
        check_is_fitted(self, "seed_")
        return self._scale * self._deviations

    @property
    def learned_graph_(self) -> LearnedGraph | None:
        """The graph learned from the features."""
        check_is_fitted(self, "seed_")
        return None if self._sources.learned is None else self._sources.learned.learned

    def _check_saved(self) -> None:
        nodes, count = self._inputs.n_nodes, len(self._nodes)
        gate.indices("nodes", self._nodes, nodes)
        for name, size in (("_targets", count), ("_residuals", count), ("_predicted", nodes)):
            gate.array(name, getattr(self, name), (size,))
        gate.array("_deviations", self._deviations, (nodes,))
        if not {one.name for one in self._views} <= set(self.view_weights_):
            raise InputError("views lack their weights.")


def _checked_values(y: Any) -> Floats:
    """Return values (N,) with NaN where unknown."""
    if y is None:
        raise InputError(
            "the fit requires y to be passed, but the target y is None; give one number per node, "
            "NaN where unknown."
        )
    table = np.asarray(y)
    if table.ndim == 2 and table.shape[1] == 1:
        table = column_or_1d(table, warn=True)
    if table.dtype.kind == "c":
        raise InputError("y: Complex data not supported; give real numbers, NaN where unknown.")
    try:
        values = np.array([np.nan if one is None else one for one in table.tolist()], dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y holds values that are no numbers ({error}); use NodeClassifier for classes."
        ) from error
    if values.ndim != 1:
        raise InputError(f"y has shape {values.shape}; give one number per node, shape (N,).")
    if np.isinf(values).any():
        raise InputError("Input y contains infinity; give finite numbers, NaN where unknown.")
    if np.count_nonzero(~np.isnan(values)) < 2:
        raise InputError(
            f"y has {np.count_nonzero(~np.isnan(values))} known values in {len(values)} sample(s); "
            "give at least two."
        )
    return values


def _known(values: Floats, seed: int) -> NDArray[np.int64]:
    """Return the nodes with known values; of very many a part is drawn."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) <= _MOST_LABELS:
        return known
    generator = np.random.default_rng([seed, _MOST_LABELS])
    return np.sort(generator.choice(known, _MOST_LABELS, replace=False))


def _fit_views(
    inputs: NodeInputs,
    nodes: NDArray[np.int64],
    targets: Floats,
    options: Mapping[str, Any],
    seed: int,
    log: FitLog,
) -> tuple[ViewSources, list[_Fitted]]:
    """Fit all views: first those that need no learned graph, then the others."""
    with log.stage("views"):
        sources = observed_sources(inputs, options, keeps_lengths=True)
        views = Views(sources, inputs)
        found = [_mean_alone(targets, inputs.n_nodes)]
        found += [_fit_view(name, views, nodes, targets) for name in _names(sources)]
    with log.stage("graph learning"):
        weights = _weights(found, targets, inputs, options, seed)
        first_look = weight_of(weights, ("observed", "cleaned"))
        sources = learned_sources(sources, views, first_look, options)
        views = Views(sources, inputs)
    with log.stage("views"):
        fitted = {one.view.name for one in found}
        new = [name for name in _names(sources) if name not in fitted]
        found += [_fit_view(name, views, nodes, targets) for name in new]
    numbers = 1.0 * len(nodes) * inputs.raw.shape[1]
    is_large = inputs.n_nodes > _MOST_NODES or numbers > _MOST_NUMBERS
    if inputs.features_from == "given" and not is_large:
        with log.stage("forest"):
            found.append(_fit_forest(inputs, nodes, targets, seed))
    return sources, found


def _names(sources: ViewSources) -> list[str]:
    """Return the views; directions of the rows alone say little about numbers."""
    return [n for n in sources.names if n != "raw features" or sources.space.has_directions]


def _mean_alone(targets: Floats, nodes: int) -> _Fitted:
    """Return what is known without looking at a node: the mean of the others."""
    count = len(targets)
    left_out = (targets.sum() - targets) / (count - 1)
    view = RegressionView(_MEAN, None, _deviation(targets - left_out))
    return _Fitted(view, left_out, np.zeros(nodes))


def _fit_view(name: str, views: Views, nodes: NDArray[np.int64], targets: Floats) -> _Fitted:
    model: Linear | None = None
    if name in SPREADING:
        left_out = values_left_out(views.operator(name), nodes, targets, *SPREADING[name])
    else:
        rows, each = views.table(name)[nodes], np.arange(len(nodes))[None]
        fits = [fit_ridge(rows, targets[:, None], each, penalty) for penalty in _PENALTIES]
        errors = [float(np.sum((targets - out[0, :, 0]) ** 2)) for _, out in fits]
        model, found = fits[int(np.argmin(errors))]
        left_out = found[0, :, 0]
    view = RegressionView(name, model, _deviation(targets - left_out))
    return _Fitted(view, left_out, view.predicted(views, nodes, targets))


def _fit_forest(
    inputs: NodeInputs, nodes: NDArray[np.int64], targets: Floats, seed: int
) -> _Fitted:
    rows = inputs.raw[nodes]
    left_out = regression_left_out(rows, targets, seed)
    forest = grow_regression_forest(rows, targets, seed)
    view = RegressionView(FOREST, forest, _deviation(targets - left_out))
    return _Fitted(view, left_out, forest.scores(inputs.raw)[:, 0].astype(np.float64))


def _deviation(errors: Floats) -> float:
    """Return the standard deviation of errors, drawn a little towards that of the targets."""
    total = float(errors @ errors) + _PRIOR_LABELS
    return math.sqrt(total / (len(errors) + _PRIOR_LABELS))


def _weights(
    fitted: list[_Fitted],
    targets: Floats,
    inputs: NodeInputs,
    options: Mapping[str, Any],
    seed: int,
) -> dict[str, float]:
    """Return the weights of the views, see `truegraph.classify.averaging`."""
    agreement = 0.0
    if inputs.graph_from == "given" and options["observed_graph"]:
        alone = [one.everyone[:, None] for one in fitted if KINDS.get(one.view.name) == "none"]
        agreement = min((agreement_across(inputs.graph, one) for one in alone), default=0.0)
    densities = {one.view.name: one.densities(targets) for one in fitted}
    return weights_of_views(densities, agreement, seed, all_alike=options["weights"] == "equal")
