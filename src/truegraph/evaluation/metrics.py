"""How good predicted classes and class probabilities are.

scikit-learn is imported where it is used: it takes a second, and pages of stored results do not
need it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.errors import InputError


def accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of nodes whose predicted class is right.

    Parameters
    ----------
    labels, predicted : array-like of int, shape (n_nodes,)
        True and predicted classes.
    """
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(*_classes(labels, predicted)))


def macro_f1(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the F1 score of each class, averaged over the classes that occur.

    A class occurs if it is a true or a predicted one; a class that is never right scores 0.

    Parameters
    ----------
    labels, predicted : array-like of int, shape (n_nodes,)
        True and predicted classes.
    """
    from sklearn.metrics import f1_score

    scores = f1_score(*_classes(labels, predicted), average="macro", zero_division=0)
    return float(scores)


def negative_log_likelihood(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean of -log(probability of the true class), natural logarithm.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities; a true class of probability zero counts as the smallest
        positive number of the probabilities' precision.
    """
    labels, probabilities = checked_probabilities(labels, probabilities)
    tiny = np.finfo(probabilities.dtype).tiny
    of_truth = probabilities[np.arange(len(labels)), labels]
    return float(-np.mean(np.log(np.maximum(of_truth, tiny), dtype=np.float64)))


def brier_score(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean squared distance of the probabilities from the one-hot truth, 0 to 2.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.
    """
    labels, probabilities = checked_probabilities(labels, probabilities)
    error = probabilities.astype(np.float64)
    error[np.arange(len(labels)), labels] -= 1
    return float(np.mean(np.sum(error**2, axis=1)))


def error_detection_auroc(uncertainty: ArrayLike, correct: ArrayLike) -> float:
    """Return how well uncertainty tells wrong predictions from right ones.

    It is the probability that a wrong prediction is more uncertain than a right one, ties counting
    half: the area under the ROC curve with the wrong predictions as positives.

    Parameters
    ----------
    uncertainty : array-like of float, shape (n_nodes,)
        For instance predictive entropy.
    correct : array-like of bool, shape (n_nodes,)
        Whether each prediction is right.

    Returns
    -------
    auroc : float
        NaN when all predictions are right or all are wrong.
    """
    from sklearn.metrics import roc_auc_score

    values, correct = _same_length(
        gate.numbers("uncertainty", uncertainty), gate.whole_numbers("correct", correct)
    )
    wrong = ~correct.astype(bool)
    if wrong.all() or not wrong.any():
        return float("nan")
    return float(roc_auc_score(wrong, values))


def checked_probabilities(
    labels: ArrayLike, probabilities: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
    """Return labels and probabilities as arrays, or raise an InputError if they do not fit."""
    truth = gate.whole_numbers("labels", labels)
    values = gate.real_numbers("probabilities", probabilities)
    if values.dtype.kind != "f":
        values = gate.as_floats("probabilities", values)
    if values.ndim != 2 or truth.shape != values.shape[:1] or len(truth) == 0:
        raise InputError(
            f"labels has shape {truth.shape} and probabilities {values.shape}; "
            "give one label and one row of class probabilities per node."
        )
    if truth.min() < 0 or truth.max() >= values.shape[1]:
        raise InputError(
            f"labels lie between {truth.min()} and {truth.max()}, but probabilities has columns "
            f"0 to {values.shape[1] - 1}; leave unlabelled nodes out."
        )
    if not np.allclose(values.sum(axis=1), 1, atol=1e-3) or values.min() < 0:
        raise InputError("probabilities must not be negative, and each row must sum to 1.")
    return truth, values


def _classes(labels: ArrayLike, predicted: ArrayLike) -> tuple[NDArray, NDArray]:
    return _same_length(
        gate.whole_numbers("labels", labels), gate.whole_numbers("predicted", predicted)
    )


def _same_length(first: ArrayLike, second: ArrayLike) -> tuple[NDArray, NDArray]:
    one, two = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != two.shape or len(one) == 0:
        raise InputError(
            f"two lists of equal length with at least one entry are needed; "
            f"the shapes are {one.shape} and {two.shape}."
        )
    return one, two
