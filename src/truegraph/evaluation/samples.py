"""The mean of sampled predictions, and their mean entropy.

The entropy of the mean minus the mean entropy is the mutual information between a node's class and
the weights: the part of the uncertainty that more data would remove.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def entropy(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the entropy in nats along the last axis, with 0 log 0 = 0."""
    p = np.asarray(probabilities, dtype=np.float64)
    found: NDArray[np.float64] = -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)
    return found


def mean_of_samples(
    samples: Iterable[NDArray[Any]],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean of the probabilities (..., C) of samples, and of their entropies (...)."""
    total: Any = 0.0
    entropies: Any = 0.0
    count = 0
    for sample in samples:
        total = total + sample.astype(np.float64)
        entropies = entropies + entropy(sample)
        count += 1
    return (total / count).astype(np.float32), np.asarray(entropies / count, dtype=np.float32)
