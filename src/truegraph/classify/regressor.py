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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
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
from truegraph.classify.inputs import NodeInputs
from truegraph.classify.prediction_sets import check_coverage
from truegraph.classify.view_models import (
    FittedView,
    fit_forest_of_values,
    fit_values,
    mean_of_values,
)
from truegraph.classify.views import KINDS, Views, ViewSources
from truegraph.data.column_plan import ColumnPlan
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.progress import console_progress
from truegraph.saving import savable
from truegraph.seeds import seed_from

# Penalties and weights are chosen by the same left-out values as intervals are: with n of them
# these get wider by 1 + 2 / n (lab/choose/regression_intervals.py).
_CHOSEN = 2.0
_MOST_LABELS = 2_000  # more would cost their square
_MOST_NODES, _MOST_NUMBERS = 200_000, 5e7  # beyond, no forest is grown

Floats = NDArray[np.float64]


@savable
class NodeRegressor(RegressorMixin, NodeEstimator):
    """Regression on nodes that does not take the observed graph for the true one.

    Bayesian model averaging (Hoeting et al., Statistical Science 1999) with Gaussian errors, and
    intervals by cross-conformal prediction (Vovk, 2015). The views are those of
    `NodeClassifier(model="auto")`: ridge regression in closed form, spreading of the values, and a
    random forest. Their weights follow from predictions of each known value without itself.

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
    n_features_in_, feature_names_in_
        Of X; the names only if it was a table.
    notes_, seconds_
        What was chosen for the user, and the seconds of each stage.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, graph: Any = None) -> Self:
        """Fit to the known values and predict all.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (N, F), or None
            As in `NodeClassifier.fit`.
        y : array-like of float, shape (N,)
            NaN or None where unknown.
        sample_weight : array-like of shape (N,), optional
            How much each known value counts; a value of weight 0 is as good as unknown.
        graph : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table, optional
            Observed graph of the same nodes in the same order.

        Returns
        -------
        self
        """
        values, weights = _checked_values(y, sample_weight)
        inputs = self._taken(X, graph, len(values))
        given = {} if self.degree is None else {"degree": self.degree}
        options = auto_options({**(self.options or {}), **given})
        seed = seed_from(self.random_state)
        known = _known(values, seed)
        own, counts = values[known], weights[known] / weights[known].mean()
        self._nodes, self._counts = known, counts
        self._centre = float(np.average(own, weights=counts))
        self._scale = float(np.sqrt(np.average((own - self._centre) ** 2, weights=counts))) or 1.0
        self._targets = (own - self._centre) / self._scale
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            for text in inputs.notes:
                log.note(text)
            fit = _Fit(inputs, (known, self._targets, counts), options, seed)
            self._sources = fit.all_views(log)
            weight_of_view = fit.weights()
        counting = [one for one in fit.found if one.name in weight_of_view]
        self._views = [one.model for one in counting]
        self.view_weights_ = dict(sorted(weight_of_view.items(), key=lambda one: -one[1]))
        self.observed_graph_weight_ = observed_graph_weight(weight_of_view, self._sources.has_graph)
        mean, deviation = self._averaged([one.left_out for one in counting])
        self._residuals = np.sort(np.abs(self._targets - mean) / deviation)
        self._predicted, self._deviations = self._averaged([one.scores for one in counting])
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
        given = (self._nodes, self._targets, self._counts)
        each = [one.values(views, *given) for one in self._views]
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
        found = self._sources.learned
        named = None if found is None or found.learned is None else found.learned
        return None if named is None else named.named(self._inputs.names)

    def _check_saved(self) -> None:
        nodes, count = self._inputs.n_nodes, len(self._nodes)
        gate.indices("nodes", self._nodes, nodes)
        for name in ("_targets", "_counts", "_residuals"):
            gate.array(name, getattr(self, name), (count,))
        for name in ("_predicted", "_deviations"):
            gate.array(name, getattr(self, name), (nodes,))
        if not {one.name for one in self._views} <= set(self.view_weights_):
            raise InputError("views lack their weights.")


def _checked_values(y: Any, sample_weight: Any) -> tuple[Floats, Floats]:
    """Return values (N,) with NaN where unknown, and their weights (N,)."""
    if y is None:
        raise InputError(
            "the fit requires y to be passed, but the target y is None; give one number per node, "
            "NaN where unknown."
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        raise InputError("y is a masked array; give NaN in place of masked values.")
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
    weights = np.ones(len(values))
    if sample_weight is not None:
        how: dict[str, Any] = {"length": len(values), "nonnegative": True}
        weights = gate.numbers("sample_weight", sample_weight, **how)
        values = np.where(weights > 0.0, values, np.nan)
        if not weights.any():
            raise InputError("sample_weight is zero everywhere; give some a weight above zero.")
    if np.count_nonzero(~np.isnan(values)) < 2:
        raise InputError(
            f"y has {np.count_nonzero(~np.isnan(values))} known values in {len(values)} sample(s); "
            "give at least two."
        )
    return values, weights


def _known(values: Floats, seed: int) -> NDArray[np.int64]:
    """Return the nodes with known values; of very many a part is drawn."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) <= _MOST_LABELS:
        return known
    generator = np.random.default_rng([seed, _MOST_LABELS])
    return np.sort(generator.choice(known, _MOST_LABELS, replace=False))


class _Fit:
    """The views of one fit, given the nodes with known values, these and their weights (n,)."""

    def __init__(
        self,
        inputs: NodeInputs,
        known: tuple[NDArray[np.int64], Floats, Floats],
        options: Mapping[str, Any],
        seed: int,
    ) -> None:
        self.inputs, self.known, self.options, self.seed = inputs, known, options, seed
        self.found: list[FittedView] = []

    def all_views(self, log: FitLog) -> ViewSources:
        """Fit all views: first those that need no learned graph, then the others."""
        nodes, targets, counts = self.known
        with log.stage("views"):
            sources = observed_sources(self.inputs, self.options, keeps_lengths=True)
            views = Views(sources, self.inputs)
            self.found.append(mean_of_values(self.inputs.n_nodes, targets, counts))
            self._add(sources, views)
        with log.stage("graph learning"):
            first_look = weight_of(self.weights(), ("observed", "cleaned"))
            sources = learned_sources(sources, views, first_look, self.options)
            views = Views(sources, self.inputs)
        with log.stage("views"):
            self._add(sources, views)
        numbers = 1.0 * len(nodes) * self.inputs.raw.shape[1]
        is_large = self.inputs.n_nodes > _MOST_NODES or numbers > _MOST_NUMBERS
        if self.inputs.features_from == "given" and not is_large:
            with log.stage("forest"):
                self.found.append(fit_forest_of_values(views, *self.known, self.seed))
        return sources

    def _add(self, sources: ViewSources, views: Views) -> None:
        """Fit the views that are not fitted yet; directions of rows say little about numbers."""
        known = {one.name for one in self.found}
        for name in sources.names:
            if name not in known and (name != "raw features" or sources.space.has_directions):
                self.found.append(fit_values(name, views, *self.known))

    def weights(self) -> dict[str, float]:
        """Return the weights of the views, see `truegraph.classify.averaging`."""
        agreement = 0.0
        if self.inputs.graph_from == "given" and self.options["observed_graph"]:
            alone = [one.scores[:, None] for one in self.found if KINDS.get(one.name) == "none"]
            each = (agreement_across(self.inputs.graph, one) for one in alone)
            agreement = min(each, default=0.0)
        densities = {one.name: one.densities for one in self.found}
        how: dict[str, Any] = {"all_alike": self.options["weights"] == "equal"}
        return weights_of_views(densities, agreement, self.seed, counts=self.known[2], **how)
