"""The edges to draw: learned and observed ones, how sure each is, and what its ends share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph.learning import LearnedGraph

LEARNED, OBSERVED = 1, 2
NOTHING_SHARED = 65535
_SHARED = 3  # features that are named
_ROWS_AT_ONCE = 4_000
_LEVEL = 0.9

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs i < j that are an edge of the learned or of the observed graph, (n_edges,) each.

    Attributes
    ----------
    source, target : ndarray of int64
    weight : ndarray of float64
        Of the learned graph; 0 for an edge that is only observed.
    kind : ndarray of uint8
        `LEARNED`, `OBSERVED`, or their sum.
    probability, lower, upper, distance : ndarray of float64
        Of the posterior, a 90 % interval, and of the points; NaN where they are not known.
    """

    source: Integers
    target: Integers
    weight: Floats
    kind: NDArray[np.uint8]
    probability: Floats
    lower: Floats
    upper: Floats
    distance: Floats

    def __len__(self) -> int:
        return len(self.source)


def gather_edges(
    graph: LearnedGraph, observed: csr_array | None, nodes: Integers, most: int
) -> Edges:
    """Return the edges among some nodes, numbered by their place in `nodes`.

    Parameters
    ----------
    graph : LearnedGraph
    observed : csr_array of shape (n_nodes, n_nodes), or None
    nodes : ndarray of int64, shape (n_shown,)
        Rising.
    most : int
        Keep at most this many: those of the largest weights.
    """
    size = graph.n_nodes
    learned = _keys(graph.adjacency, nodes, size)
    seen = np.empty(0, dtype=np.int64) if observed is None else _keys(observed, nodes, size)
    keys = np.union1d(learned, seen)
    weight = np.nan_to_num(_looked_up(graph.adjacency, keys, size))
    if keys.size > most:
        kept = np.sort(np.argsort(-weight, kind="stable")[:most])
        keys, weight = keys[kept], weight[kept]
    kind = LEARNED * np.isin(keys, learned) + OBSERVED * np.isin(keys, seen)
    probability = lower = upper = np.full(keys.size, np.nan)
    if graph.candidates.nnz:
        posterior = graph.posterior()
        probability = _looked_up(posterior.inclusion(), keys, size)
        lower, upper = (_looked_up(end, keys, size) for end in posterior.interval(_LEVEL))
    place = np.full(size, -1, dtype=np.int64)
    place[nodes] = np.arange(nodes.size)
    return Edges(
        source=place[keys // size],
        target=place[keys % size],
        weight=weight,
        kind=kind.astype(np.uint8),
        probability=probability,
        lower=lower,
        upper=upper,
        distance=_looked_up(graph.candidates, keys, size),
    )


def _keys(matrix: csr_array, nodes: Integers, size: int) -> Integers:
    """Return i * size + j of the entries i < j among some nodes, rising."""
    shown = np.zeros(size, dtype=bool)
    shown[nodes] = True
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(matrix.indptr))
    columns = matrix.indices.astype(np.int64)
    kept = (rows < columns) & shown[rows] & shown[columns] & (matrix.data != 0.0)
    return np.sort(rows[kept] * size + columns[kept])


def _looked_up(matrix: csr_array, keys: Integers, size: int) -> Floats:
    """Return the stored entries at i * size + j, zeros included; NaN where none is stored."""
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(matrix.indptr))
    stored = rows * size + matrix.indices
    place = np.minimum(np.searchsorted(stored, keys), max(stored.size - 1, 0))
    found = np.full(keys.size, np.nan)
    if stored.size:
        hit = stored[place] == keys
        found[hit] = matrix.data[place[hit]]
    return found


def shared_features(features: Any, source: Integers, target: Integers) -> NDArray[np.uint16]:
    """Return for each pair the few columns in which its nodes are most alike and unlike others.

    By the product of both values, measured from the mean of the column (from zero, if features
    are sparse) in units of its spread: high where both have what few others have.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_nodes, n_features)
    source, target : ndarray of int64, shape (n_pairs,)

    Returns
    -------
    ndarray of uint16, shape (n_pairs, 3)
        Columns, the most telling first; `NOTHING_SHARED` where there are no more.
    """
    is_sparse = issparse(features)
    values: Any = features
    spread = np.sqrt(values.multiply(values).mean(axis=0)) if is_sparse else values.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    best: Callable[..., NDArray[np.uint16]] = _best_sparse if is_sparse else _best_dense
    standard = csr_array(values / unit) if is_sparse else (values - values.mean(axis=0)) / unit
    found = np.full((source.size, _SHARED), NOTHING_SHARED, dtype=np.uint16)
    for start in range(0, source.size, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = best(standard, source[part], target[part])
    return found


def _best_sparse(standard: csr_array, source: Integers, target: Integers) -> NDArray[np.uint16]:
    product = csr_array(standard[source].multiply(standard[target]))
    rows = np.repeat(np.arange(source.size), np.diff(product.indptr))
    order = np.lexsort((product.indices, -product.data, rows))
    rank = np.arange(order.size) - product.indptr[rows]
    first = (rank < _SHARED) & (product.data[order] > 0.0)
    found = np.full((source.size, _SHARED), NOTHING_SHARED, dtype=np.uint16)
    found[rows[first], rank[first]] = product.indices[order[first]]
    return found


def _best_dense(standard: Floats, source: Integers, target: Integers) -> NDArray[np.uint16]:
    product = standard[source] * standard[target]
    order = np.argsort(-product, axis=1, kind="stable")[:, :_SHARED]
    found = np.full((source.size, _SHARED), NOTHING_SHARED, dtype=np.uint16)
    values = np.take_along_axis(product, order, axis=1)
    found[:, : order.shape[1]] = np.where(values > 0.0, order, NOTHING_SHARED)
    return found
