"""The metrics of a trial of node classification, and how each metric is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.evaluation.calibration import expected_calibration_error
from truegraph.evaluation.metrics import (
    accuracy,
    brier_score,
    checked_probabilities,
    error_detection_auroc,
    macro_f1,
    negative_log_likelihood,
)


@dataclass(frozen=True)
class Metric:
    """How a metric is shown.

    Attributes
    ----------
    heading : str
    better : str
        "higher", "lower", or "neither" for plain counts.
    percent : bool
        Whether it is a share, shown in per cent.
    digits : int
        Digits after the point.
    """

    heading: str
    better: str
    percent: bool = False
    digits: int = 3

    def shown(self, value: float) -> str:
        """Return a value as text, a share in per cent but without the sign."""
        return f"{100 * value if self.percent else value:.{self.digits}f}"

    def signed(self, difference: float) -> str:
        """Return a difference as text, with its sign."""
        points = round(100 * difference if self.percent else difference, self.digits)
        return f"{points + 0.0:+.{self.digits}f}"  # + 0.0 turns -0.0 into 0.0


METRICS = {
    "accuracy": Metric("accuracy %", "higher", percent=True, digits=1),
    "macro_f1": Metric("macro-F1 %", "higher", percent=True, digits=1),
    "negative_log_likelihood": Metric("NLL", "lower"),
    "brier_score": Metric("Brier", "lower"),
    "expected_calibration_error": Metric("ECE %", "lower", percent=True, digits=1),
    "error_detection_auroc": Metric("error AUROC", "higher"),
    "confidence_detection_auroc": Metric("error AUROC, 1 - max", "higher"),
}

COVERAGES = (0.8, 0.9, 0.95)  # that prediction sets are asked for in a trial
SET_METRICS = {
    name: metric
    for percent in (round(100 * coverage) for coverage in COVERAGES)
    for name, metric in (
        (f"coverage_{percent}", Metric(f"coverage % at {percent}", "neither", True, 1)),
        (f"set_size_{percent}", Metric(f"set size at {percent}", "lower", digits=2)),
    )
}


def score_trial(
    labels: NDArray[np.integer],
    probabilities: NDArray[np.floating],
    uncertainty: NDArray[np.floating],
) -> dict[str, float]:
    """Return every metric of one trial.

    Parameters
    ----------
    labels : ndarray of int, shape (n_nodes,)
        True classes of the test nodes.
    probabilities : ndarray of float, shape (n_nodes, n_classes)
        Predicted class probabilities of the test nodes.
    uncertainty : ndarray of float, shape (n_nodes,)
        Predictive entropy of the test nodes, which should tell wrong predictions from right ones.

    Returns
    -------
    metrics : dict of str to float
        The keys of `METRICS`.
    """
    labels, probabilities = checked_probabilities(labels, probabilities)
    predicted = probabilities.argmax(axis=1)
    return {
        "accuracy": accuracy(labels, predicted),
        "macro_f1": macro_f1(labels, predicted),
        "negative_log_likelihood": negative_log_likelihood(labels, probabilities),
        "brier_score": brier_score(labels, probabilities),
        "expected_calibration_error": expected_calibration_error(labels, probabilities),
        "error_detection_auroc": error_detection_auroc(uncertainty, predicted == labels),
        "confidence_detection_auroc": error_detection_auroc(
            1.0 - probabilities.max(axis=1), predicted == labels
        ),
    }


def score_sets(labels: NDArray[np.integer], members: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the share of the sets that hold the true class, and the mean size of all sets.

    Parameters
    ----------
    labels : ndarray of int, shape (n_nodes,)
    members : ndarray of bool, shape (n_nodes, n_classes)
        Whether each class belongs to the set of each node.
    """
    held = members[np.arange(len(labels)), labels]
    return float(held.mean()), float(members.sum(axis=1).mean())
