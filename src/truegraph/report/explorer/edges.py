"""The edges to draw: learned and observed ones, how sure each is, and what its ends share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph.learning import LearnedGraph

LEARNED, OBSERVED = 1, 2
NOTHING_SHARED = 65535
_SHARED = 3  # features that are named
_ROWS_AT_ONCE = 4_000
_LEVEL = 0.9  # of the posterior's intervals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def gather_edges(
    graph: LearnedGraph, observed: csr_array | None, nodes: Integers, most: int
) -> pd.DataFrame:
    """Return the edges among some nodes (n_shown,), rising; at most so many, the heaviest.

    Source and target are places in `nodes`; kind is `LEARNED`, `OBSERVED` or their sum.
    """
    size = graph.n_nodes
    learned = _keys(graph.adjacency, nodes, size)
    seen = np.empty(0, dtype=np.int64) if observed is None else _keys(observed, nodes, size)
    keys = np.union1d(learned, seen)
    weight = np.nan_to_num(_looked_up(graph.adjacency, keys, size))
    if keys.size > most:
        kept = np.sort(np.argsort(-weight, kind="stable")[:most])
        keys, weight = keys[kept], weight[kept]
    place = np.full(size, -1, dtype=np.int64)
    place[nodes] = np.arange(nodes.size)
    found = pd.DataFrame(
        {
            "source": place[keys // size],
            "target": place[keys % size],
            "weight": weight,
            "kind": LEARNED * np.isin(keys, learned) + OBSERVED * np.isin(keys, seen),
            "distance": _looked_up(graph.candidates, keys, size),
        }
    )
    known = dict.fromkeys(("probability", "lower", "upper"), np.full(keys.size, np.nan))
    if graph.candidates.nnz:
        posterior = graph.posterior()
        matrices = (posterior.inclusion(), *posterior.interval(_LEVEL))
        known = {n: _looked_up(m, keys, size) for n, m in zip(known, matrices, strict=True)}
    return found.assign(**known)


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
    stored = pd.Series(matrix.data, index=rows * size + matrix.indices)
    return stored.reindex(keys).to_numpy(np.float64)


def shared_features(features: Any, source: Integers, target: Integers) -> NDArray[np.uint16]:
    """Return columns (n_pairs, 3) in which both nodes of a pair are alike and unlike the others.

    They are ranked by the product of both standardised values; sparse ones are not centred.
    """
    values: Any = features
    is_sparse = issparse(features)
    spread = np.sqrt(values.multiply(values).mean(axis=0)) if is_sparse else values.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    best: Any = _best_sparse if is_sparse else _best_dense
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
