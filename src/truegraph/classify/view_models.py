"""The classifier of each view: its scores, its probabilities, its predictions of left-out labels.

Scores of a view are divided by their root mean square and multiplied by an inverse temperature,
the one of greatest likelihood of the left-out labels with a prior around a usual value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from truegraph.classify.closed_form import (
    Linear,
    fit_ridge,
    one_hot,
    spread_labels,
    spread_left_out,
)
from truegraph.classify.feature_space import Matrix
from truegraph.classify.forest import Forest, forest_left_out, grow_forest
from truegraph.classify.left_out import TrainingLabels
from truegraph.classify.views import SPREADING, Views
from truegraph.saving import savable

CLASS_SHARES, FOREST = "class shares", "forest"
_PENALTIES = (1.0, 10.0)
# lab/choose/auto_temperatures.py
_USUAL_SHARPNESS = 1.3
# Deviations of its logarithm: a view may know next to nothing, but is seldom much sharper.
_DEVIATION_BELOW, _DEVIATION_ABOVE = 2.0, 0.5
_BOUNDS = (-4.0, 3.0)

Densities = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class ViewModel:
    """The classifier of one view.

    Attributes
    ----------
    name : str
        Of the view, or "class shares".
    classifier : Linear, Forest or None
        None where labels are spread, and for the shares of the classes.
    sharpness : float
        What scores are multiplied with before the softmax.
    """

    name: str
    classifier: Linear | Forest | None
    sharpness: float

    def scores(self, views: Views, labels: TrainingLabels) -> Matrix:
        """Return the scores (N', C) of all nodes of some views, given the training labels."""
        if self.name == CLASS_SHARES:
            shares = _label_counts(labels)
            logs = np.log(shares / shares.sum()).astype(np.float32)
            return np.broadcast_to(logs, (views.n_nodes, labels.classes))
        if self.classifier is not None:
            return self.classifier.scores(views.table(self.name))
        given = (views.operator(self.name), labels.nodes, labels.labels, labels.classes)
        return spread_labels(*given, *SPREADING[self.name])

    def probabilities(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probabilities (..., C) of scores (..., C)."""
        found: NDArray[np.float64] = softmax(np.float64(self.sharpness) * scores, axis=-1)
        return found


class FittedView(NamedTuple):
    """A view's classifier, with what it says about the nodes of the fit.

    Attributes
    ----------
    model : ViewModel
    left_out : ndarray of shape (repeats, n, C)
        Scores of the training nodes by classifiers that have not seen the labels of their fold.
    densities : ndarray of shape (m,)
        Log density of each of the m labels that are left out at all.
    scores : ndarray of float32, shape (N, C)
    """

    model: ViewModel
    left_out: NDArray[np.float64]
    densities: Densities
    scores: Matrix

    @property
    def name(self) -> str:
        """Name of the view."""
        return self.model.name

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities of the nodes of the fit, shape (N, C)."""
        return self.model.probabilities(self.scores)


def fit_view(name: str, views: Views, labels: TrainingLabels) -> FittedView:
    """Fit the classifier of a view: ridge regression on a table, or spreading of labels."""
    if name not in SPREADING:
        return _fit_table(name, views.table(name), labels)
    operator = views.operator(name)
    given = (operator, labels.nodes, labels.labels, labels.classes)
    left_out = spread_left_out(*given, labels.folds, *SPREADING[name])
    sharpness, densities = fit_sharpness(left_out, labels)
    scores = spread_labels(*given, *SPREADING[name])
    return FittedView(ViewModel(name, None, sharpness), left_out, densities, scores)


def _fit_table(name: str, table: Any, labels: TrainingLabels) -> FittedView:
    """Fit ridge regression with the penalty under which left-out labels fare best."""
    rows, wanted = table[labels.nodes], one_hot(labels.labels, labels.classes)
    found = []
    for penalty in _PENALTIES:
        linear, left_out = fit_ridge(rows, wanted, labels.folds, penalty)
        sharpness, densities = fit_sharpness(left_out, labels)
        found.append((float(densities.sum()), linear, sharpness, left_out, densities))
    _, linear, sharpness, left_out, densities = max(found, key=lambda one: one[0])
    model = ViewModel(name, linear, sharpness)
    return FittedView(model, left_out, densities, linear.scores(table))


def fit_forest(views: Views, labels: TrainingLabels) -> FittedView:
    """Fit a random forest on the features; only the first repeat of the folds is left out."""
    table = views.table(FOREST)
    given = (table[labels.nodes], labels.labels, labels.classes)
    left_out = forest_left_out(*given, labels.folds[0], labels.seed)[None]
    sharpness, densities = fit_sharpness(left_out, labels)
    forest = grow_forest(*given, labels.seed)
    model = ViewModel(FOREST, forest, sharpness)
    return FittedView(model, left_out, densities, forest.scores(table))


def fit_class_shares(views: Views, labels: TrainingLabels) -> FittedView:
    """Return what is known without looking at a node: how frequent the classes are."""
    counts = _label_counts(labels)
    left_out = np.zeros((*labels.folds.shape, labels.classes))
    for found, row in zip(left_out, labels.folds, strict=True):
        for fold in range(row.max() + 1):
            out = row == fold
            rest = counts - np.bincount(labels.labels[out], minlength=labels.classes)
            found[out] = np.log(rest / rest.sum())
    own = left_out[:, np.arange(len(labels.labels)), labels.labels]
    densities = own[:, labels.folds[0] >= 0].mean(axis=0)
    model = ViewModel(CLASS_SHARES, None, 1.0)
    return FittedView(model, left_out, densities, model.scores(views, labels))


def fit_sharpness(left_out: NDArray[np.float64], labels: TrainingLabels) -> tuple[float, Densities]:
    """Return a view's sharpness and the mean log density of each left-out label.

    Parameters
    ----------
    left_out : ndarray of shape (repeats, n, C)
        Scores; as many repeats of the folds as were left out.
    labels : TrainingLabels

    Returns
    -------
    sharpness : float
    densities : ndarray of shape (m,)
        Of the m labels that are left out at all.
    """
    seen = labels.folds[0] >= 0
    scores = left_out[:, seen]
    size = float(np.sqrt(np.mean(scores**2))) if seen.any() else 0.0
    usual = _USUAL_SHARPNESS / max(size, 1e-3)
    if not seen.any():
        return usual, np.zeros(0)
    own = labels.labels[seen]

    def densities(step: float) -> Densities:
        logs = log_softmax(usual * np.exp(step) * scores, axis=-1)
        found: Densities = logs[:, np.arange(len(own)), own].mean(axis=0)
        return found

    def cost(step: float) -> float:
        deviation = _DEVIATION_ABOVE if step > 0.0 else _DEVIATION_BELOW
        return float(-densities(step).sum() + 0.5 * (step / deviation) ** 2)

    step = float(minimize_scalar(cost, bounds=_BOUNDS, method="bounded").x)
    return usual * float(np.exp(step)), densities(step)


def _label_counts(labels: TrainingLabels) -> NDArray[np.float64]:
    counts = np.bincount(labels.labels, minlength=labels.classes)
    return counts.astype(np.float64) + 1.0
