"""An embedding without training: the truncated SVD of features that were spread over the graph.

The features are averaged twice over neighbourhoods, M = A_n^2 X with A_n the normalised adjacency,
and the nodes get their coordinates in the leading right singular vectors of M, at unit length. M
itself is never formed: the vectors are found by block power iteration (Halko, Martinsson and
Tropp, 2011), whose products with A_n and X cost as much as these matrices have entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.errors import InputError
from truegraph.nn.graph_operators import normalise_features, normalised_adjacency

DIMENSION = 64
_STEPS = 2  # of averaging over neighbourhoods
_SPARE = 16  # columns that the iteration carries beside the wanted ones
_ITERATIONS = 4

Matrix = NDArray[np.float64]


def embed_svd(
    features: Any, graph: Any, *, dimension: int = DIMENSION, random_state: int = 0
) -> Matrix:
    """Embed the nodes of a graph.

    Parameters
    ----------
    features : array or sparse matrix of shape (N, F)
        Rows are brought to unit length here.
    graph : sparse matrix of shape (N, N)
    dimension : int
        Number of coordinates; fewer if there are fewer nodes or features.
    random_state : int
        Seed of the first block of the iteration.

    Returns
    -------
    ndarray of shape (N, min(dimension, N, F))
        Rows of unit length; zero where neither a node nor those around it have features.
    """
    if dimension < 1:
        raise InputError(f"dimension={dimension} must be at least 1.")
    spread = _Spread(normalise_features(features, by="length"), normalised_adjacency(graph))
    wanted = min(dimension, *spread.shape)
    with threadpool_limits(1):  # sums of several threads would come in another order
        coordinates = _leading(spread, wanted, np.random.default_rng(random_state))
    lengths = np.linalg.norm(coordinates, axis=1, keepdims=True)
    return np.divide(coordinates, lengths, out=np.zeros_like(coordinates), where=lengths > 0.0)


class _Spread:
    """M = A^2 X as an operator."""

    def __init__(self, features: csr_array, operator: csr_array) -> None:
        self._features = features.astype(np.float64)
        self._transposed = csr_array(self._features.T)
        self._operator = operator  # symmetric
        self.shape = self._features.shape

    def times(self, block: Matrix) -> Matrix:
        """Return M block, (N, columns)."""
        found = self._features @ block
        for _ in range(_STEPS):
            found = self._operator @ found
        return found

    def transposed_times(self, block: Matrix) -> Matrix:
        """Return M' block, (F, columns)."""
        found = block
        for _ in range(_STEPS):
            found = self._operator @ found
        return self._transposed @ found


def _leading(spread: _Spread, wanted: int, generator: np.random.Generator) -> Matrix:
    """Return the coordinates (N, wanted) of the rows of M in its leading right vectors."""
    columns = min(wanted + _SPARE, *spread.shape)
    right = generator.normal(size=(spread.shape[1], columns))
    for _ in range(_ITERATIONS):
        right = np.linalg.qr(spread.transposed_times(spread.times(right)))[0]
    left = spread.times(right)
    _, vectors = np.linalg.eigh(left.T @ left)
    found: Matrix = left @ vectors[:, : -wanted - 1 : -1]
    return found
