"""Walks in a graph: scores of pairs, and which pairs without a link are worth scoring.

Pairs are grouped by the end with more walks of two steps; these are spread over the nodes once, and
every partner collects what arrives. All pairs of one end together cost no more than one pass over
the links, and nothing of size nodes x nodes is held.

Candidates are a node's partners at two steps (three in a bipartite graph, whose links cross from
one side to the other) where random walks arrive most often. Walks do not go on from hubs, whose
links say little: a pair that only a hub joins is found by its vectors or not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs
from truegraph.learning.search.cells import offer, sort_list
from truegraph.links.problem import bipartite_sides, crosses
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
_PARTS = 4  # parts per thread, at least; each holds four numbers per node
_SOURCES_AT_ONCE = 2048  # so many are walked from in a moment
HUB = 1000  # links of a node that walks do not go on from: they say little, and are many
MOST_NEIGHBOURS = 128  # looked at per node, evenly spaced where there are more: bounds the work
_MOST_PAIRS = 10_000_000  # kept in all, unless that leaves a node fewer than
_FEWEST = 20  # from here on a million nodes take no longer
_MOST = 1000
_MOST_LOOKS = 150_000_000  # neighbours of all pairs, to which similarities compare ends
_CHUNKS = 64  # parts that threads take, at least; each holds one number per node
_NODES_AT_ONCE = 1024  # so many are walked from in a moment
RESTART = 0.15  # of personalised PageRank, as in the first paper on it


#: A graph (N, N); square roots of its weights in units of their mean, and what steps weigh, one for
#: each stored entry; how many walks of two steps start at each node (N,).
Walks = tuple[csr_array, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def walk_graph(graph: csr_array, *, normalised: bool = True) -> Walks:
    """Prepare a graph for the walks of many pairs: powers of D^-1/2 A D^-1/2, or of A."""
    mean = graph.data.mean() if graph.nnz else 1.0
    steps = _normalised(graph) if normalised else graph.data
    return graph, np.sqrt(graph.data / mean), steps, two_step_walks(graph)


def walk_scores(walks: Walks, pairs: Pairs) -> NDArray[np.float64]:
    """Return the walk scores of pairs, one column per name of `WALKS`, (n, 8).

    Columns are log(1 + x) of degrees and shared neighbours, log(1e-5 + (D^-1/2 A D^-1/2)^k) for
    k = 2, 3, 4. In a weighted graph a common neighbour counts with the geometric mean of its two
    links' weights, in units of the mean weight.
    """
    raw = raw_walks(walks, pairs)
    degree = np.sort(np.log1p(np.diff(walks[0].indptr)[pairs]), axis=1)
    return np.column_stack([degree, np.log1p(raw[:, :3]), np.log(raw[:, 3:] + _LEAST)])


def raw_from_scores(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return degrees (n, 2) and `raw_walks` (n, 6), of which walk scores are logarithms."""
    raw = np.column_stack([np.expm1(scores[:, 2:5]), np.exp(scores[:, 5:8]) - _LEAST])
    return np.expm1(scores[:, :2]), np.maximum(raw, 0.0)


def raw_walks(walks: Walks, pairs: Pairs) -> NDArray[np.float64]:
    """Return shared neighbours, plain and weighed, and walks of 2, 3 and 4 steps, (n, 6)."""
    graph, weights, steps, cost = walks
    order, sources, begins, partners = _grouped(cost, pairs)
    found = np.zeros((len(pairs), 6))
    if len(sources):
        stored = (graph.indptr, graph.indices, weights, steps)
        given = (stored, (sources, begins, partners), found)
        least = thread_count()
        chunks = min(max(_PARTS * least, len(sources) // _SOURCES_AT_ONCE), len(sources))
        in_parts(chunks, lambda first, last: _collect(first, last, chunks, *given), least=least)
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
def _spread(node: int, graph: Any, arrived: Any, sign: float) -> None:
    """Add the walks of two steps from a node to `arrived` (N,); a sign of 0 clears them."""
    indptr, indices, _, steps = graph
    for e in range(indptr[node], indptr[node + 1]):
        middle = indices[e]
        for f in range(indptr[middle], indptr[middle + 1]):
            end = indices[f]
            arrived[end] = sign * (arrived[end] + steps[e] * steps[f])


@compiled
def _pair(
    partner: int, graph: Any, own: Any, arrived: Any, third: Any, known: Any, source: int, out: Any
) -> None:
    """Fill the scores (6,) of one pair; `own` (N,) holds the root weights of the node's links.

    `third` (N,) keeps the walks of three steps of a source, where `known` (N,) has its number:
    so all pairs of one source together cost no more than one pass over the links.
    """
    indptr, indices, weights, steps = graph
    for e in range(indptr[partner], indptr[partner + 1]):
        middle = indices[e]
        if own[middle] > 0.0:
            degree = indptr[middle + 1] - indptr[middle]
            weight = own[middle] * weights[e]
            out[0] += weight
            out[1] += weight / np.log(max(degree, 2))
            out[2] += weight / degree
        out[4] += steps[e] * arrived[middle]
        if known[middle] != source:
            total = 0.0
            for f in range(indptr[middle], indptr[middle + 1]):
                total += steps[f] * arrived[indices[f]]
            third[middle], known[middle] = total, source
        out[5] += steps[e] * third[middle]
    out[3] = arrived[partner]


@compiled(parallel=True)
def _collect(first: int, last: int, chunks: int, graph: Any, grouped: Any, out: Any) -> None:
    """Fill the raw scores (n, 6) of pairs that are grouped by source, for some of the chunks."""
    indptr, indices, weights, _ = graph
    sources, begins, partners = grouped
    nodes = indptr.size - 1
    for chunk in prange(first, last):
        own, arrived, third = np.zeros(nodes), np.zeros(nodes), np.empty(nodes)
        known = np.full(nodes, -1)
        for s in range(chunk * sources.size // chunks, (chunk + 1) * sources.size // chunks):
            node = sources[s]
            for e in range(indptr[node], indptr[node + 1]):
                own[indices[e]] = weights[e]
            _spread(node, graph, arrived, 1.0)
            for p in range(begins[s], begins[s + 1]):
                _pair(partners[p], graph, own, arrived, third, known, s, out[p])
            _spread(node, graph, arrived, 0.0)
            for e in range(indptr[node], indptr[node + 1]):
                own[indices[e]] = 0.0


def candidates_of(
    graph: csr_array, known: csr_array, near: Pairs | None = None
) -> tuple[Pairs, str]:
    """Return pairs worth scoring, i < j, ordered and not linked, and what they are, for the user.

    The walks of `graph` count; no link of `known` is wanted; `near` (n, 2) have similar vectors.
    """
    sides = bipartite_sides(graph)
    steps = 2 if sides is None else 3
    per_node = partners_per_node(graph)
    walked = walked_pairs(graph, steps, per_node)
    parts = [walked] if near is None else [walked, np.sort(near, axis=1)]
    pairs = _unlinked(np.concatenate(parts), known)
    if sides is not None:
        pairs = pairs[crosses(sides, pairs)]
    searched = f"{len(pairs):,} pairs: up to {per_node:,} per node at {steps} steps"
    if near is not None:
        searched += ", and nearest neighbours by their vectors"
    if int(np.diff(graph.indptr).max(initial=0)) > HUB:
        searched += f"; walks do not go on from nodes with more than {HUB:,} links"
    return pairs, searched


def partners_per_node(graph: csr_array) -> int:
    """Return how many partners of each node are kept: fewer the more neighbours each has."""
    nodes, degree = graph.shape[0], np.diff(graph.indptr).astype(np.int64)
    # Partners are met in proportion to their links.
    looks = 2.0 * float(degree @ np.minimum(degree, MOST_NEIGHBOURS)) / max(graph.nnz, 1)
    pairs = min(_MOST_PAIRS, _MOST_LOOKS / max(looks, 1.0))
    return int(np.clip(pairs // nodes, _FEWEST, min(_MOST, max(nodes - 1, 1))))


def _unlinked(pairs: Pairs, known: csr_array) -> Pairs:
    """Return pairs i < j once each, ordered, without those that are linked."""
    nodes = known.shape[0]
    # Sorting is several times as fast as np.unique, which hashes.
    numbers = np.sort(pairs[:, 0] * nodes + pairs[:, 1])
    numbers = numbers[np.diff(numbers, prepend=-1) > 0]
    rows = np.repeat(np.arange(nodes, dtype=np.int64), np.diff(known.indptr))
    taken = rows * nodes + known.indices
    place = np.minimum(np.searchsorted(taken, numbers), max(len(taken) - 1, 0))
    if len(taken):
        numbers = numbers[taken[place] != numbers]
    return np.column_stack(np.divmod(numbers, nodes))


def walked_pairs(graph: csr_array, steps: int, per_node: int) -> Pairs:
    """Return the best partners of every node at two or three steps, i < j, (n, 2)."""
    nodes = graph.shape[0]
    worst = np.full((nodes, per_node), np.inf, dtype=np.float32)
    ids = np.full((nodes, per_node), nodes, dtype=np.int32)
    chunks, least = min(max(_CHUNKS, nodes // _NODES_AT_ONCE), nodes), thread_count()
    given = (chunks, (graph.indptr, graph.indices), steps, HUB, worst, ids)
    in_parts(chunks, lambda first, last: _best_walked(first, last, *given), least=least)
    rows, places = np.nonzero(ids < nodes)  # N stands for none
    return np.sort(np.column_stack([rows, ids[rows, places]]).astype(np.int64), axis=1)


@compiled
def _step(graph: Any, shares: Any, at: Any, count: int, arrived: Any, ends: Any, hub: int) -> int:
    """Move the walks at some nodes on by a step and clear them; return how many ends there are.

    `shares` (N,) says how many are at each of the first `count` nodes of `at`; they go to
    `arrived` (N,), and the nodes where they arrive to `ends`.
    """
    indptr, indices = graph
    found = 0
    for k in range(count):
        node = at[k]
        degree = indptr[node + 1] - indptr[node]
        share = shares[node] / max(degree, 1)
        shares[node] = 0.0
        if degree <= hub:
            for e in range(indptr[node], indptr[node + 1]):
                end = indices[e]
                if arrived[end] == 0.0:
                    ends[found] = end
                    found += 1
                arrived[end] += share
    return found


@compiled
def _keep_best(
    node: int, graph: Any, arrived: Any, ends: Any, count: int, worst: Any, ids: Any
) -> None:
    """Offer the ends of walks to the list of a node (per_node,), and clear them."""
    indptr, indices = graph
    arrived[node] = 0.0
    for e in range(indptr[node], indptr[node + 1]):
        arrived[indices[e]] = 0.0
    for k in range(count):
        end = ends[k]
        value = np.float32(-arrived[end])
        arrived[end] = 0.0
        is_better = value < worst[0] or (value == worst[0] and end < ids[0])
        if value < 0.0 and is_better:
            offer(worst, ids, float(value), end)
    sort_list(worst, ids)


@compiled(parallel=True)
def _best_walked(
    first: int, last: int, chunks: int, graph: Any, steps: int, hub: int, worst: Any, ids: Any
) -> None:
    """Fill (worst, ids) of shape (N, per_node) with the best partners of the chunks' nodes."""
    nodes = graph[0].size - 1
    for chunk in prange(first, last):
        shares, arrived = np.zeros(nodes), np.zeros(nodes)
        at, ends = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
        for node in range(chunk * nodes // chunks, (chunk + 1) * nodes // chunks):
            shares[node], at[0], count = 1.0, node, 1
            for step in range(steps):
                limit = nodes if step == 0 else hub
                count = _step(graph, shares, at, count, arrived, ends, limit)
                shares, arrived = arrived, shares
                at, ends = ends, at
            _keep_best(node, graph, shares, at, count, worst[node], ids[node])
