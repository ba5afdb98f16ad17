"""Labelled nodes with predictions that were made without their own labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LeftOutLabels:
    """Labelled nodes of one trial, predicted without their own labels.

    Attributes
    ----------
    nodes : ndarray of int64, shape (m,)
    labels : ndarray of int64, shape (m,)
        Their classes.
    probabilities : ndarray of float64, shape (m, C)
        Class probabilities by classifiers that have not seen these labels.
    weights : ndarray of float64, shape (m,), or None
        How much each label counts; None if all count alike.
    """

    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None

    @property
    def counts(self) -> NDArray[np.float64]:
        """How much each label counts, 1 on average: (m,)."""
        if self.weights is None or not len(self.nodes):
            return np.ones(len(self.nodes))
        return self.weights / max(self.weights.mean(), 1e-30)


def joined(first: LeftOutLabels, second: LeftOutLabels) -> LeftOutLabels:
    """Return the nodes of both."""
    return LeftOutLabels(
        np.concatenate([first.nodes, second.nodes]),
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.probabilities, second.probabilities]),
        np.concatenate([first.counts, second.counts]),
    )


def nobody(classes: int) -> LeftOutLabels:
    """Return no labelled nodes at all."""
    none = np.empty(0, dtype=np.int64)
    return LeftOutLabels(none, none, np.empty((0, classes)))
