"""Warnings about predicted classes that look bad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.classify.averaging import kind_of

_NEARLY_ALL = 0.95
_FEWER_LABELS = 0.8  # a class with more of the labels may well be nearly everywhere
_FEWEST_NODES = 20
_NO_SHARE = 0.005


def class_advice(
    probabilities: NDArray[Any], labels: NDArray[np.int64], classes: NDArray[Any]
) -> list[str]:
    """Return advice about predictions, in full sentences."""
    unknown = labels < 0
    if np.count_nonzero(unknown) < _FEWEST_NODES:
        return []
    predicted = np.bincount(probabilities[unknown].argmax(axis=1), minlength=len(classes))
    most = int(predicted.argmax())
    share = predicted[most] / predicted.sum()
    among_labels = np.mean(labels[~unknown] == most)
    if share < _NEARLY_ALL or among_labels > _FEWER_LABELS:
        return []
    return [
        f"{100 * share:.0f} % of the nodes without a label are predicted to be of class "
        f"{classes[most]}, which has {100 * among_labels:.0f} % of the labels: the features or the "
        "graph may be unrelated to the classes. Scale the features, give more labels, or look "
        "at the probabilities."
    ]


def share_advice(view_weights: Mapping[str, float]) -> list[str]:
    """Return what is to be said where a graph was learned, but the answer has none of it."""
    learned = sum(
        weight for name, weight in view_weights.items() if kind_of(name) in ("learned", "both")
    )
    if learned >= _NO_SHARE:
        return []
    return [
        "left-out labels are better predicted without a learned graph: its share of the result is "
        "0 %. Scale the features or give others, or give more labels."
    ]
