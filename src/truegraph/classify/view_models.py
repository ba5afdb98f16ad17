"""The model of each view: what it says of all nodes, and of labels and values that are left out.

Scores of classes are divided by their root mean square and multiplied by an inverse temperature,
the one of greatest likelihood of the left-out labels with a prior around a usual value. Numbers
have Gaussian errors.

Ridge regression and spreading are linear in the labels, so that predictions without a fold of them
are exact without training again: kernel ridge regression by the block formula, spreading by leaving
columns out. Weights say how much each label counts; None: all alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from truegraph.classify.forest import (
    Forest,
    folds_of_classes,
    folds_of_numbers,
    forest_left_out,
    grow_forest,
)
from truegraph.classify.left_out import TrainingLabels
from truegraph.classify.spaces import Matrix, pagerank
from truegraph.classify.views import SPREADING, Views
from truegraph.errors import InputError
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

_INTERCEPT = 10.0  # added to the kernel: a constant of prior variance 10
_COLUMNS = 64  # labels that are spread at once

Scores = NDArray[np.float64]
Nodes = NDArray[np.int64]


def linear_scores(table: Any, coefficients: Scores, intercept: Scores) -> Matrix:
    """Return the scores (N', C) of rows (N', d) by coefficients (d, C) and intercept (C,)."""
    with one_blas_thread():
        found = table @ coefficients.astype(np.float32)
    return np.asarray(found + intercept, dtype=np.float32)


def one_hot(labels: Nodes, classes: int) -> Scores:
    """Return the labels as rows of zeros and a one, minus 1 / C: (n, C)."""
    found: Scores = np.eye(classes)[labels] - 1.0 / classes
    return found


def fit_ridge(
    rows: Any, wanted: Scores, folds: Nodes, penalty: float, weights: Scores | None = None
) -> tuple[Scores, Scores, Scores]:
    """Fit ridge regression of (n, C) on (n, d), and predict each row without its fold.

    Returns the coefficients (d, C), the intercept (C,), and for folds (repeats, n) predictions
    (repeats, n, C), zero where a row is never left out.
    """
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    dense = np.asarray(dense, dtype=np.float64)
    with one_blas_thread():
        kernel = dense @ dense.T + _INTERCEPT
        diagonal = np.ones(len(wanted)) if weights is None else 1.0 / weights
        inverse = np.linalg.inv(kernel + penalty * np.diag(diagonal))
        dual = inverse @ wanted
        left_out = np.zeros((len(folds), *wanted.shape))
        for found, row in zip(left_out, folds, strict=True):
            for fold in range(row.max() + 1):
                part = np.flatnonzero(row == fold)
                if len(part):
                    block = inverse[np.ix_(part, part)]
                    found[part] = wanted[part] - np.linalg.solve(block, dual[part])
        return dense.T @ dual, _INTERCEPT * dual.sum(axis=0), left_out


def spread_labels(
    operator: csr_array,
    train: Nodes,
    pure: Scores,
    restart: float,
    steps: int,
) -> Matrix:
    """Return the share (N', C) of each class in what reaches a node, minus 1 / C.

    `pure` (n, C) has the weight of each label in the column of its class.
    """
    start = np.zeros((operator.shape[0], pure.shape[1]), dtype=np.float32)
    start[train] = pure
    return _shares(pagerank(operator, start, restart, steps)).astype(np.float32)


def spread_left_out(
    operator: csr_array, train: Nodes, pure: Scores, folds: Nodes, restart: float, steps: int
) -> Scores:
    """Return the same for training nodes without the labels of their fold: (repeats, n, C)."""
    influence = influences(operator, train, restart, steps)
    found = np.empty((len(folds), *pure.shape))
    for left_out, row in zip(found, folds, strict=True):
        left_out[:] = _shares((influence * (row[:, None] != row)) @ pure)
    return found


def spread_values(
    operator: csr_array, train: Nodes, values: Scores, weights: Scores, restart: float, steps: int
) -> Matrix:
    """Return the mean (N',) of the values (n,) that reach a node; 0 where none does."""
    start = np.zeros((operator.shape[0], 2), dtype=np.float32)
    start[train] = np.column_stack([weights * values, weights])
    total, mass = pagerank(operator, start, restart, steps).T
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 1e-30)


def values_left_out(
    operator: csr_array, train: Nodes, values: Scores, weights: Scores, restart: float, steps: int
) -> Scores:
    """Return the same for labelled nodes without their own value: (n,)."""
    influence = influences(operator, train, restart, steps)
    np.fill_diagonal(influence, 0.0)
    mass = influence @ weights
    found = influence @ (weights * values)
    return np.divide(found, mass, out=np.zeros_like(mass), where=mass > 1e-30)


def influences(operator: csr_array, train: Nodes, restart: float, steps: int) -> Scores:
    """Return how much of what each labelled node spreads reaches each other: (n, n)."""
    count = len(train)
    found = np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        some = np.arange(first, min(first + _COLUMNS, count))
        start = np.zeros((operator.shape[0], len(some)), dtype=np.float32)
        start[train[some], some - first] = 1.0
        found[:, some] = pagerank(operator, start, restart, steps)[train]
    return found


def _shares(mass: NDArray[np.floating]) -> NDArray[np.floating]:
    total = mass.sum(axis=1, keepdims=True)
    uniform = np.full_like(mass, 1.0 / mass.shape[1])
    return np.divide(mass, total, out=uniform, where=total > 1e-30) - 1.0 / mass.shape[1]


# --- views ----------------------------------------------------------------------------------------

CLASS_SHARES, MEAN, FOREST = "class shares", "mean", "forest"
_PENALTIES = (1.0, 10.0)  # lab/choose/auto_weights.py
_PENALTIES_OF_TABLES = (0.1, 1.0, 10.0)  # lab/experiments/small_tables.toml, seeds from 1000 on
_PENALTIES_OF_NUMBERS = (0.1, 1.0, 10.0, 100.0)  # decades: numbers differ more in their noise
_PRIOR_LABELS = 2.0  # that the variance of the targets counts for in the variance of errors
# lab/choose/auto_temperatures.py
_USUAL_SHARPNESS = 1.3
# Deviations of its logarithm: a view may know next to nothing, but is seldom much sharper.
_DEVIATION_BELOW, _DEVIATION_ABOVE = 2.0, 0.5
_BOUNDS = (-4.0, 3.0)

Floats = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class ViewModel:
    """The model of one view; it is linear, a forest, or, with neither, spreads what is known."""

    name: str
    coefficients: Floats | None = None  # (d, C)
    intercept: Floats | None = None  # (C,)
    forest: Forest | None = None
    sharpness: float = 1.0  # of classes: what scores are multiplied with before the softmax
    deviation: float = 1.0  # of numbers: standard deviation of the errors

    def scores(self, views: Views, labels: TrainingLabels) -> Matrix:
        """Return the scores (N', C) of the classes at all nodes of some views."""
        if self.name == CLASS_SHARES:
            logs = np.log(_class_shares(labels.class_counts)).astype(np.float32)
            return np.broadcast_to(logs, (views.n_nodes, labels.classes))
        if self.name in SPREADING:
            operator, pure = views.operator(self.name), weighted_labels(labels)
            return spread_labels(operator, labels.nodes, pure, *SPREADING[self.name])
        return self._of_table(views.table(self.name))

    def values(
        self, views: Views, nodes: NDArray[np.int64], targets: Floats, weights: Floats
    ) -> Floats:
        """Return the numbers (N',) at all nodes of some views, given the known ones (n,)."""
        if self.name == MEAN:
            return np.zeros(views.n_nodes)
        if self.name in SPREADING:
            given = (views.operator(self.name), nodes, targets, weights)
            return spread_values(*given, *SPREADING[self.name]).astype(np.float64)
        return self._of_table(views.table(self.name))[:, 0].astype(np.float64)

    def _of_table(self, table: Any) -> Matrix:
        if self.forest is not None:
            return self.forest.scores(table)
        assert self.coefficients is not None
        assert self.intercept is not None
        return linear_scores(table, self.coefficients, self.intercept)

    def probabilities(self, scores: NDArray[Any]) -> Floats:
        """Return the probabilities (..., C) of scores (..., C)."""
        found: Floats = softmax(np.float64(self.sharpness) * scores, axis=-1)
        return found

    def _check_saved(self) -> None:
        if self.coefficients is None or self.intercept is None:
            return
        if self.coefficients.ndim != 2 or self.intercept.shape != self.coefficients.shape[1:]:
            raise InputError("coefficients and intercept of a linear model do not fit.")


class FittedView(NamedTuple):
    """A view's model with what it says: of classes, or with one dimension less of numbers."""

    model: ViewModel
    left_out: Floats  # (repeats, m, C), scores of tested nodes by models without their labels
    densities: Floats  # (m,), log density of each tested label
    scores: NDArray[Any]  # (N, C)

    @property
    def name(self) -> str:
        """Name of the view."""
        return self.model.name

    @property
    def probabilities(self) -> Floats:
        """Class probabilities of the nodes of the fit, shape (N, C)."""
        return self.model.probabilities(self.scores)


# --- classes --------------------------------------------------------------------------------------


def fit_view(name: str, views: Views, labels: TrainingLabels) -> FittedView:
    """Fit the classifier of a view: ridge regression on a table, or spreading of labels."""
    if name not in SPREADING:
        return _fit_table(name, views, labels)
    model = ViewModel(name)
    pure, scores = weighted_labels(labels), model.scores(views, labels)
    given = (views.operator(name), labels.nodes, pure, labels.folds)
    return _fitted(model, spread_left_out(*given, *SPREADING[name]), scores, labels)


def _fit_table(name: str, views: Views, labels: TrainingLabels) -> FittedView:
    """Fit ridge regression with the penalty under which left-out labels fare best."""
    table, wanted = views.table(name), one_hot(labels.labels, labels.classes)
    found = []
    for penalty in _PENALTIES_OF_TABLES if views.of_table else _PENALTIES:
        given = (table[labels.nodes], wanted, labels.folds, penalty, labels.weights)
        coefficients, intercept, left_out = fit_ridge(*given)
        scores = linear_scores(table, coefficients, intercept)
        model = ViewModel(name, coefficients, intercept)
        found.append(_fitted(model, left_out, scores, labels))
    return max(found, key=lambda one: float(labels.tested_weights @ one.densities))


def fit_forest(views: Views, labels: TrainingLabels) -> FittedView:
    """Fit a random forest on the features; only the first repeat of the folds is left out."""
    table = views.table(FOREST)
    given = (table[labels.nodes], labels.labels, labels.classes)
    folds = folds_of_classes(labels.folds[0])
    left_out = forest_left_out(*given, folds, labels.seed, labels.weights)[None]
    forest = grow_forest(*given, labels.seed, labels.weights)
    model = ViewModel(FOREST, forest=forest)
    return _fitted(model, left_out, forest.scores(table), labels)


def fit_class_shares(views: Views, labels: TrainingLabels) -> FittedView:
    """Return what is known without looking at a node: how frequent the classes are."""
    counts, classes = labels.class_counts, labels.classes
    left_out = np.zeros((*labels.folds.shape, classes))
    for found, row in zip(left_out, labels.folds, strict=True):
        for fold in range(row.max() + 1):
            out = row == fold
            rest = counts - np.bincount(labels.labels[out], labels.counts[out], classes)
            found[out] = np.log(_class_shares(rest))
    model = ViewModel(CLASS_SHARES)
    scores = model.scores(views, labels)
    tested = labels.of_tested(left_out, scores)
    own = tested[:, np.arange(tested.shape[1]), labels.tested_labels]
    return FittedView(model, tested, own.mean(axis=0), scores)


def _fitted(
    model: ViewModel, left_out: Floats, scores: Matrix, labels: TrainingLabels
) -> FittedView:
    """Return a view with its sharpness; its scores are of training nodes and of all nodes."""
    tested = labels.of_tested(left_out, scores)
    sharpness, densities = fit_sharpness(tested, labels)
    return FittedView(replace(model, sharpness=sharpness), tested, densities, scores)


def fit_sharpness(scores: Floats, labels: TrainingLabels) -> tuple[float, Floats]:
    """Return the sharpness of scores (repeats, m, C) of tested nodes, and log densities (m,)."""
    own, weights = labels.tested_labels, labels.tested_weights
    size = float(np.sqrt(np.mean(scores**2))) if len(own) else 0.0
    usual = _USUAL_SHARPNESS / max(size, 1e-3)
    if not len(own):
        return usual, np.zeros(0)

    def densities(step: float) -> Floats:
        logs = log_softmax(usual * np.exp(step) * scores, axis=-1)
        found: Floats = logs[:, np.arange(len(own)), own].mean(axis=0)
        return found

    def cost(step: float) -> float:
        deviation = _DEVIATION_ABOVE if step > 0.0 else _DEVIATION_BELOW
        return float(-(weights * densities(step)).sum() + 0.5 * (step / deviation) ** 2)

    step = float(minimize_scalar(cost, bounds=_BOUNDS, method="bounded").x)
    return usual * float(np.exp(step)), densities(step)


def weighted_labels(labels: TrainingLabels) -> Floats:
    """Return the weight of each label in the column of its class: (n, C)."""
    pure: Floats = np.eye(labels.classes)[labels.labels] * labels.counts[:, None]
    return pure


def _class_shares(counts: Floats) -> Floats:
    return (counts + 1.0) / (counts + 1.0).sum()


# --- numbers --------------------------------------------------------------------------------------


def mean_of_values(nodes: int, targets: Floats, weights: Floats) -> FittedView:
    """Return what is known without looking at a node: the mean of the others."""
    rest = weights.sum() - weights
    left_out = (weights @ targets - weights * targets) / rest
    return _fitted_values(ViewModel(MEAN), left_out, np.zeros(nodes), targets, weights)


def fit_values(
    name: str, views: Views, nodes: NDArray[np.int64], targets: Floats, weights: Floats
) -> FittedView:
    """Fit a view to numbers (n,) by ridge regression or by spreading, each left out in turn."""
    model = ViewModel(name)
    if name in SPREADING:
        given = (views.operator(name), nodes, targets, weights)
        left_out = values_left_out(*given, *SPREADING[name])
    else:
        rows, each = views.table(name)[nodes], np.arange(len(nodes))[None]
        fits = [
            fit_ridge(rows, targets[:, None], each, penalty, weights)
            for penalty in _PENALTIES_OF_NUMBERS
        ]
        errors = [float(weights @ (targets - out[0, :, 0]) ** 2) for _, _, out in fits]
        coefficients, intercept, found = fits[int(np.argmin(errors))]
        model, left_out = ViewModel(name, coefficients, intercept), found[0, :, 0]
    everyone = model.values(views, nodes, targets, weights)
    return _fitted_values(model, left_out, everyone, targets, weights)


def fit_forest_of_values(
    views: Views, nodes: NDArray[np.int64], targets: Floats, weights: Floats, seed: int
) -> FittedView:
    """Fit a random forest on the features to numbers (n,)."""
    table = views.table(FOREST)
    given = (table[nodes], targets, 0)
    folds = folds_of_numbers(len(nodes), seed)
    counts = None if np.ptp(weights) == 0.0 else weights
    left_out = forest_left_out(*given, folds, seed, counts)[:, 0]
    forest = grow_forest(*given, seed, counts)
    everyone = forest.scores(table)[:, 0].astype(np.float64)
    return _fitted_values(ViewModel(FOREST, forest=forest), left_out, everyone, targets, weights)


def _fitted_values(
    model: ViewModel, left_out: Floats, everyone: Floats, targets: Floats, weights: Floats
) -> FittedView:
    """Return a view with the deviation of its errors, drawn a little towards the targets'."""
    total = float(weights @ (targets - left_out) ** 2) + _PRIOR_LABELS
    deviation = math.sqrt(total / (weights.sum() + _PRIOR_LABELS))
    densities = np.asarray(norm.logpdf(targets, left_out, deviation))
    return FittedView(replace(model, deviation=deviation), left_out, densities, everyone)
