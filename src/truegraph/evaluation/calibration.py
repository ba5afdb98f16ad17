"""Calibration: whether predictions made with probability 0.8 are right eight times in ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph.errors import InputError
from truegraph.evaluation.metrics import checked_probabilities


@dataclass(frozen=True)
class ReliabilityCurve:
    """Confidence against accuracy in bins of equal width.

    Attributes
    ----------
    edges : ndarray of float, shape (n_bins + 1,)
        Borders of the bins, 0 to 1.
    confidence, accuracy : ndarray of float, shape (n_bins,)
        Mean confidence and share of right predictions in each bin; NaN in an empty one.
    count : ndarray of int, shape (n_bins,)
        Predictions in each bin.
    """

    edges: NDArray[np.float64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def calibration_error(self) -> float:
        """Mean distance of confidence from accuracy over bins, weighted by their counts."""
        gap = np.nan_to_num(np.abs(self.confidence - self.accuracy))
        return float(np.sum(gap * self.count) / self.count.sum())


def reliability_curve(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15
) -> ReliabilityCurve:
    """Sort the predictions into bins by the probability of the predicted class.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.
    n_bins : int, default=15
        Number of bins of equal width; a confidence on a border belongs to the bin below it.

    Returns
    -------
    curve : ReliabilityCurve
    """
    if n_bins < 1:
        raise InputError(f"n_bins={n_bins} must be at least 1.")
    truth, values = checked_probabilities(labels, probabilities)
    confidence = values.max(axis=1).astype(np.float64)
    right = values.argmax(axis=1) == truth
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, n_bins - 1)
    count = np.bincount(place, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        return ReliabilityCurve(
            edges=edges,
            confidence=np.bincount(place, weights=confidence, minlength=n_bins) / count,
            accuracy=np.bincount(place, weights=right, minlength=n_bins) / count,
            count=count,
        )


def expected_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15
) -> float:
    """Return the mean distance of confidence from accuracy over bins, weighted by their counts.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        True classes.
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.
    n_bins : int, default=15
        Number of bins of equal width.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.
    """
    return reliability_curve(labels, probabilities, n_bins=n_bins).calibration_error


def calibration_floor(probabilities: ArrayLike, *, n_bins: int = 15) -> float:
    """Return the calibration error to be expected if all probabilities were right.

    In a bin of m predictions that are right with probabilities c the share of right ones has the
    variance of mean c (1 - c) divided by m, and a normal variable deviates by sqrt(2 / pi) of its
    standard deviation on average. So a finite sample has a calibration error in any case.

    Parameters
    ----------
    probabilities : array-like of float, shape (n_nodes, n_classes)
        Predicted class probabilities.
    n_bins : int, default=15
        Number of bins of equal width.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    checked_probabilities(values.argmax(axis=1), values)
    confidence = values.max(axis=1)
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, n_bins - 1)
    variance = np.bincount(place, weights=confidence * (1.0 - confidence), minlength=n_bins)
    return float(np.sqrt(2.0 / np.pi) * np.sqrt(variance).sum() / len(values))
