"""From an adjacency matrix and raw features to what the models multiply with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, eye_array

from truegraph.errors import InputError


def normalise_features(features: Any, by: str = "sum") -> csr_array:
    """Divide every row by its sum of absolute values, or by its Euclidean length."""
    rows = csr_array(features, dtype=np.float64)
    if by == "sum":
        size = np.asarray(abs(rows).sum(axis=1)).ravel()
    elif by == "length":
        size = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    else:
        raise InputError(f'by={by!r} must be "sum" or "length".')
    return csr_array(diags_array(_inverse(size)) @ rows).astype(np.float32)


def normalised_adjacency(adjacency: Any, self_loops: bool = True) -> csr_array:
    """Return D^(-1/2) (A + I) D^(-1/2), D being the degrees of the matrix in the middle."""
    middle = without_diagonal(adjacency)
    if self_loops:
        middle = csr_array(middle + eye_array(middle.shape[0], format="csr"))
    root = np.sqrt(_inverse(np.asarray(middle.sum(axis=1)).ravel()))
    return csr_array(diags_array(root) @ middle @ diags_array(root))


def without_diagonal(adjacency: Any) -> csr_array:
    """Return the adjacency matrix in float64 without self-loops and stored zeros."""
    matrix = coo_array(adjacency, dtype=np.float64)
    keep = (matrix.row != matrix.col) & (matrix.data != 0.0)
    parts = (matrix.data[keep], (matrix.row[keep], matrix.col[keep]))
    return csr_array(parts, shape=matrix.shape)


def _inverse(values: np.ndarray) -> np.ndarray:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
