"""What labelled nodes that a classifier did not see say about it: its temperature, its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from truegraph.tasks.classify.recipes.ensemble import tempered

FOLDS = 3
_PRIOR_DEVIATION = 0.5  # of log temperature around 0: few nodes cannot move it far
_LARGEST = 2.5  # of |log temperature|

Nodes = NDArray[np.int64]


def balanced_folds(labels: NDArray[np.int64], nodes: Nodes, seed: int) -> list[Nodes]:
    """Deal labelled nodes into at most `FOLDS` parts, class by class.

    Every class keeps at least one node outside every part; a class with a single node is never
    left out. Empty parts are not returned.
    """
    generator = np.random.default_rng([seed, FOLDS])
    parts: list[list[int]] = [[] for _ in range(FOLDS)]
    for label in np.unique(labels[nodes]):
        members = generator.permutation(nodes[labels[nodes] == label])
        if len(members) == 1:
            continue
        for place, node in enumerate(members):
            parts[place % min(FOLDS, len(members))].append(int(node))
    return [np.sort(np.array(part, dtype=np.int64)) for part in parts if part]


def fitted_temperature(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Return the temperature of least mean negative log-likelihood, with a prior around one.

    Parameters
    ----------
    probabilities : ndarray of shape (n, C)
        Predictions of nodes that were left out of training.
    labels : ndarray of shape (n,)
        Their classes.
    """
    if len(labels) == 0:
        return 1.0
    nodes = np.arange(len(labels))

    def cost(log_temperature: float) -> float:
        chance = tempered(probabilities, float(np.exp(log_temperature)))[nodes, labels]
        missed = -np.log(np.maximum(chance, 1e-12)).sum()
        return float(missed + 0.5 * (log_temperature / _PRIOR_DEVIATION) ** 2)

    found = minimize_scalar(cost, bounds=(-_LARGEST, _LARGEST), method="bounded")
    return float(np.exp(found.x))


def all_wrong(count: int) -> str:
    """Return the warning for left-out labels that are all predicted wrongly."""
    return (
        f"all {count} labelled nodes that were left out in turn were predicted wrongly: the labels "
        "do not follow from the features and the graph. Check that labels and rows belong together"
    )


def standard_errors(differences: NDArray[np.float64]) -> float:
    """Return how many standard errors the mean of differences (m,) lies from zero."""
    if len(differences) < 2:
        return 0.0
    error = differences.std() / np.sqrt(len(differences))
    return float(differences.mean() / max(error, 1e-9))
