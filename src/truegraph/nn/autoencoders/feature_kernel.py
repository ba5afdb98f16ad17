"""The compiled part of the feature loss: logits of some rows become derivatives, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from truegraph.nn.autoencoders.reconstruction_kernel import (
    WIDTH,
    compiled,
    logistic,
    take_logarithms,
)


@compiled
def logits_to_slopes(
    x: Any, n_columns: int, indptr: Any, indices: Any, values: Any, pos_weight: float
) -> float:
    """Turn logits into the derivatives of pos_weight y softplus(-x) + (1 - y) softplus(x).

    Parameters
    ----------
    x : ndarray of float32, shape (rows, columns)
        Logits; at most 64 rows, and whole panels of columns of which the first `n_columns` count.
    indptr, indices, values : ndarray
        The targets y of these rows as CSR; ``indptr`` of shape (rows + 1,).

    Returns
    -------
    total : float
        Sum of the terms.
    """
    total = 0.0
    for row in range(x.shape[0]):
        for e in range(indptr[row], indptr[row + 1]):
            logit = np.float64(x[row, indices[e]])
            softplus = max(logit, 0.0) + np.log1p(np.exp(-abs(logit)))
            total += values[e] * ((pos_weight - 1.0) * softplus - pos_weight * logit)
    product = np.ones(WIDTH, np.float32)
    for first in range(0, x.shape[1], WIDTH):
        for row in range(x.shape[0]):
            total += logistic(x[row, first : first + WIDTH], product)
        total += take_logarithms(product, min(WIDTH, n_columns - first))
    for row in range(x.shape[0]):
        for e in range(indptr[row], indptr[row + 1]):
            sigmoid = np.float64(x[row, indices[e]])
            x[row, indices[e]] += values[e] * ((pos_weight - 1.0) * sigmoid - pos_weight)
    return total
