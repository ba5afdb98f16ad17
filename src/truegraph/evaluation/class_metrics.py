"""Metrics of predicted classes and of their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_BINS = 15  # of a reliability curve, as in Guo et al.


def class_metrics(
    labels: ArrayLike, probabilities: ArrayLike, uncertainty: ArrayLike | None = None
) -> dict[str, float]:
    """Return every metric of predicted classes.

    The expected calibration error is that of Guo, Pleiss, Sun and Weinberger, "On calibration of
    modern neural networks", ICML 2017.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.
    uncertainty : array-like of float, shape (n_nodes,), optional
        Should be higher for wrong predictions; by default the entropy of the probabilities.

    Returns
    -------
    metrics : dict of str to float
        The keys of `METRICS`. Those of error detection are the probability that a wrong prediction
        is more uncertain than a right one, NaN when all are right or all wrong.
    """
    from sklearn.metrics import f1_score  # takes a second

    truth, chances = _checked(labels, probabilities)
    predicted = chances.argmax(axis=1)
    right = predicted == truth
    if uncertainty is None:
        shares = np.maximum(chances.astype(np.float64), 1e-300)
        uncertainty = -(shares * np.log(shares)).sum(axis=1)
    doubt = gate.numbers("uncertainty", uncertainty, length=len(truth))
    return {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
        **calibration_metrics(truth, chances),
        "error_detection_auroc": detection_auroc(doubt, ~right),
        "confidence_detection_auroc": detection_auroc(1.0 - chances.max(axis=1), ~right),
    }


def set_metrics(labels: ArrayLike, members: ArrayLike) -> tuple[float, float]:
    """Return the share of prediction sets that hold the true class, and their mean size.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
    members : array-like of bool, shape (n_nodes, n_classes)
        Whether each class belongs to the set of each node.
    """
    inside = gate.table("members", members).astype(bool)
    truth = gate.indices("labels", labels, inside.shape[1], what="class")
    if len(truth) != len(inside):
        raise InputError(
            f"labels has {len(truth)} entries and members {len(inside)}; give one each per node."
        )
    return float(inside[np.arange(len(truth)), truth].mean()), float(inside.sum(axis=1).mean())


def reliability_curve(labels: ArrayLike, probabilities: ArrayLike) -> pd.DataFrame:
    """Compare the confidence of predictions with their accuracy, in 15 bins of equal width.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.

    Returns
    -------
    DataFrame
        A row per bin: mean confidence, accuracy (both NaN in an empty bin) and count. A confidence
        on a border belongs to the bin below it.
    """
    return _curve(*_checked(labels, probabilities))


def _curve(truth: NDArray, chances: NDArray) -> pd.DataFrame:
    import pandas as pd

    confidence = chances.max(axis=1).astype(np.float64)
    right = chances.argmax(axis=1) == truth
    edges = np.linspace(0, 1, _BINS + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, _BINS - 1)
    count, sums, hits = (
        np.bincount(place, weights=weights, minlength=_BINS)
        for weights in (None, confidence, right)
    )
    with np.errstate(invalid="ignore"):
        return pd.DataFrame({"confidence": sums / count, "accuracy": hits / count, "count": count})


def calibration_error(curve: pd.DataFrame) -> float:
    """Return the distance of confidence from accuracy, weighted by the counts of the bins."""
    gap = (curve["confidence"] - curve["accuracy"]).abs()
    return float((gap * curve["count"]).sum() / curve["count"].sum())


def calibration_metrics(truth: NDArray, chances: NDArray) -> dict[str, float]:
    """Return NLL, Brier score (0 to 2) and calibration error of probabilities (n, c)."""
    of_truth = np.maximum(chances[np.arange(len(truth)), truth], np.finfo(chances.dtype).tiny)
    error = chances.astype(np.float64)
    error[np.arange(len(truth)), truth] -= 1
    return {
        "negative_log_likelihood": float(-np.mean(np.log(of_truth, dtype=np.float64))),
        "brier_score": float(np.mean(np.sum(error**2, axis=1))),
        "expected_calibration_error": calibration_error(_curve(truth, chances)),
    }


def detection_auroc(score: NDArray, positive: NDArray) -> float:
    """Return the area under the ROC curve; NaN without positives, or with nothing else."""
    from sklearn.metrics import roc_auc_score

    if positive.all() or not positive.any():
        return float("nan")
    return float(roc_auc_score(positive, score))


def _checked(
    labels: ArrayLike, probabilities: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
    """Return labels (n,) and probabilities (n, c), or raise an InputError if they do not fit."""
    truth = gate.whole_numbers("labels", labels)
    values = gate.array("probabilities", probabilities, (None, None))
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if len(truth) != len(values) or len(truth) == 0:
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
