"""Scores of pairs from walks in a graph: degrees, shared neighbours, walks of two to four steps.

Pairs are grouped by one end, the one with more walks of two steps; these are spread over the nodes
once, and every partner collects what arrives. A pair then costs no more than the walks of two
steps from its other end, all pairs of one end together no more than one pass over the links, and
nothing of size nodes x nodes is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count

WALKS = (
    "smaller degree",
    "larger degree",
    "common neighbours",
    "Adamic-Adar",
    "resource allocation",
    "walks of 2 steps",
    "walks of 3 steps",
    "walks of 4 steps",
)
_LEAST = 1e-5  # added to shares of walks before logarithms
_CHUNKS = 4  # parts per thread, at least; each holds four numbers per node
_SOURCES_AT_ONCE = 2048  # so many are walked from in a moment


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """A graph, prepared for the walks of many pairs.

    Attributes
    ----------
    graph : csr_array of float64, shape (N, N)
        Symmetric with positive weights.
    weights : ndarray of float64, shape (n_stored,)
        Square roots of the weights in units of their mean.
    steps : ndarray of float64, shape (n_stored,)
        What a step of a walk weighs.
    cost : ndarray of int64, shape (N,)
        How many walks of two steps start at each node.
    """

    graph: csr_array
    weights: NDArray[np.float64]
    steps: NDArray[np.float64]
    cost: NDArray[np.int64]


def walk_graph(graph: csr_array, *, normalised: bool = True) -> WalkGraph:
    """Prepare a graph (N, N) for its walks.

    Parameters
    ----------
    graph : csr_array of float64, shape (N, N)
        Symmetric with positive weights.
    normalised : bool, default=True
        Whether walks are powers of D^-1/2 A D^-1/2; otherwise of A.
    """
    mean = graph.data.mean() if graph.nnz else 1.0
    steps = _normalised(graph) if normalised else graph.data
    return WalkGraph(graph, np.sqrt(graph.data / mean), steps, two_step_walks(graph))


def walk_scores(walks: WalkGraph, pairs: Pairs) -> NDArray[np.float64]:
    """Return the walk scores of pairs, one column per name of `WALKS`.

    Columns are log(1 + x) of the two degrees, of the number of common neighbours, of Adamic-Adar
    and of resource allocation (each common neighbour weighs 1 / log or 1 / its degree), and
    log(1e-5 + (D^-1/2 A D^-1/2)^k) for k = 2, 3, 4. In a weighted graph a common neighbour counts
    with the geometric mean of its two links' weights, in units of the mean weight.

    Parameters
    ----------
    walks : WalkGraph
        Normalised.
    pairs : ndarray of int64, shape (n, 2)

    Returns
    -------
    scores : ndarray of float64, shape (n, 8)
    """
    raw = raw_walks(walks, pairs)
    degree = np.sort(np.log1p(np.diff(walks.graph.indptr)[pairs]), axis=1)
    return np.column_stack([degree, np.log1p(raw[:, :3]), np.log(raw[:, 3:] + _LEAST)])


def raw_from_scores(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what walk scores are logarithms of: degrees (n, 2), and what `raw_walks` gives (n, 6).

    Parameters
    ----------
    scores : ndarray of float64, shape (n, 8 or more)
        Walk scores in the first columns.
    """
    raw = np.column_stack([np.expm1(scores[:, 2:5]), np.exp(scores[:, 5:8]) - _LEAST])
    return np.expm1(scores[:, :2]), np.maximum(raw, 0.0)


def raw_walks(walks: WalkGraph, pairs: Pairs) -> NDArray[np.float64]:
    """Return common neighbours, Adamic-Adar, resource allocation and walks of 2, 3, 4 steps.

    Parameters
    ----------
    walks : WalkGraph
    pairs : ndarray of int64, shape (n, 2)

    Returns
    -------
    scores : ndarray of float64, shape (n, 6)
    """
    order, sources, begins, partners = _grouped(walks.cost, pairs)
    found = np.zeros((len(pairs), 6))
    if len(sources):
        given = (
            walks.graph.indptr,
            walks.graph.indices,
            walks.weights,
            walks.steps,
            sources,
            begins,
            partners,
            found,
        )
        wanted = max(_CHUNKS * thread_count(), len(sources) // _SOURCES_AT_ONCE)
        chunks = min(wanted, len(sources))
        in_parts(
            chunks,
            lambda first, last: _collect(first, last, chunks, *given),
            least=thread_count(),
        )
    out = np.empty_like(found)
    out[order] = found
    return out


def _normalised(graph: csr_array) -> NDArray[np.float64]:
    """Return the stored entries of D^-1/2 A D^-1/2, (n_stored,)."""
    strength = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    root = 1.0 / np.sqrt(np.maximum(strength, np.finfo(np.float64).tiny))
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return np.asarray(graph.data * root[rows] * root[graph.indices])


def two_step_walks(graph: csr_array) -> NDArray[np.int64]:
    """Return how many walks of two steps start at each node, (N,)."""
    degree = np.diff(graph.indptr).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(degree[graph.indices])])
    return np.asarray(ends[graph.indptr[1:]] - ends[graph.indptr[:-1]])


def _grouped(
    cost: NDArray[np.int64], pairs: Pairs
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Order pairs by the end that more walks start from; return order, sources, begins, partners.

    Which end is the source does not depend on a pair's direction, so neither do the bits.
    """
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    is_low = cost[low] >= cost[high]
    source, partner = np.where(is_low, low, high), np.where(is_low, high, low)
    order = np.lexsort((partner, source))
    sources, begins = np.unique(source[order], return_index=True)
    return order, sources, np.append(begins, len(pairs)), partner[order]


@compiled
def _spread(node: int, indptr: Any, indices: Any, steps: Any, arrived: Any, sign: float) -> None:
    """Add the walks of two steps from a node to `arrived` (N,); a sign of 0 clears them."""
    for e in range(indptr[node], indptr[node + 1]):
        middle = indices[e]
        for f in range(indptr[middle], indptr[middle + 1]):
            end = indices[f]
            arrived[end] = sign * (arrived[end] + steps[e] * steps[f])


@compiled
def _pair(
    partner: int,
    indptr: Any,
    indices: Any,
    weights: Any,
    steps: Any,
    own: Any,
    arrived: Any,
    third: Any,
    known_for: Any,
    source: int,
    out: Any,
) -> None:
    """Fill the scores (6,) of one pair; `own` (N,) holds the root weights of the node's links.

    `third` (N,) keeps the walks of three steps of a source, where `known_for` (N,) has its number:
    so all pairs of one source together cost no more than one pass over the links.
    """
    for e in range(indptr[partner], indptr[partner + 1]):
        middle = indices[e]
        if own[middle] > 0.0:
            degree = indptr[middle + 1] - indptr[middle]
            weight = own[middle] * weights[e]
            out[0] += weight
            out[1] += weight / np.log(max(degree, 2))
            out[2] += weight / degree
        out[4] += steps[e] * arrived[middle]
        if known_for[middle] != source:
            total = 0.0
            for f in range(indptr[middle], indptr[middle + 1]):
                total += steps[f] * arrived[indices[f]]
            third[middle], known_for[middle] = total, source
        out[5] += steps[e] * third[middle]
    out[3] = arrived[partner]


@compiled(parallel=True)
def _collect(
    first_chunk: int,
    last_chunk: int,
    chunks: int,
    indptr: Any,
    indices: Any,
    weights: Any,
    steps: Any,
    sources: Any,
    begins: Any,
    partners: Any,
    out: Any,
) -> None:
    """Fill the raw scores (n, 6) of pairs that are grouped by source, for some of the chunks."""
    nodes = indptr.size - 1
    for chunk in prange(first_chunk, last_chunk):
        own, arrived, third = np.zeros(nodes), np.zeros(nodes), np.empty(nodes)
        known_for = np.full(nodes, -1)
        for s in range(chunk * sources.size // chunks, (chunk + 1) * sources.size // chunks):
            node = sources[s]
            for e in range(indptr[node], indptr[node + 1]):
                own[indices[e]] = weights[e]
            _spread(node, indptr, indices, steps, arrived, 1.0)
            for p in range(begins[s], begins[s + 1]):
                partner, row = partners[p], out[p]
                _pair(
                    partner, indptr, indices, weights, steps, own, arrived, third, known_for, s, row
                )
            _spread(node, indptr, indices, steps, arrived, 0.0)
            for e in range(indptr[node], indptr[node + 1]):
                own[indices[e]] = 0.0
