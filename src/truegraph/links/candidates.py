"""Which pairs without a link are worth scoring: those that few steps join.

A node's partners at two steps (three in a bipartite graph, whose links cross from one side to the
other) are ranked by the chance that a random walk arrives, and the best of them are kept. Walks do
not go on from hubs, whose links say little: a pair that only a hub joins is found by its vectors or
not at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from truegraph.data.link_splits import Pairs
from truegraph.learning.search.heaps import offer, sort_list
from truegraph.links.similarities import MOST_NEIGHBOURS
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count

HUB = 1000  # links of a node that walks do not go on from: they say little, and are many
_MOST_PAIRS = 10_000_000  # kept in all, unless that leaves a node fewer than
_FEWEST = 20  # from here on a million nodes take no longer
_MOST = 1000
_MOST_LOOKS = 150_000_000  # neighbours of all pairs, to which `similarity_scores` compares ends
_CHUNKS = 64  # parts that threads take, at least; each holds one number per node
_NODES_AT_ONCE = 1024  # so many are walked from in a moment
_ENOUGH_CYCLES = 20  # a graph with so many cycles, all even, is bipartite on purpose


class Candidates(NamedTuple):
    """Pairs (n, 2) to be scored, i < j, ordered and not linked; what they are, for the user."""

    pairs: Pairs
    searched: str


def candidates_of(graph: csr_array, known: csr_array, near: Pairs | None = None) -> Candidates:
    """Return the pairs without a link that are worth scoring.

    Parameters
    ----------
    graph : csr_array, shape (N, N)
        Whose walks count.
    known : csr_array, shape (N, N)
        All links, none of which is wanted.
    near : ndarray of int64, shape (n, 2), optional
        Pairs of nodes with similar vectors.
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
    return Candidates(pairs, searched)


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
    """Return the best partners of every node at two or three steps, i < j, (n, 2).

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    steps : {2, 3}
    per_node : int
    """
    nodes = graph.shape[0]
    worst = np.full((nodes, per_node), np.inf, dtype=np.float32)
    ids = np.full((nodes, per_node), nodes, dtype=np.int32)
    given = (graph.indptr, graph.indices, steps, HUB, worst, ids)
    chunks = min(max(_CHUNKS, nodes // _NODES_AT_ONCE), nodes)
    in_parts(
        chunks,
        lambda first, last: _best_walked(first, last, chunks, *given),
        least=thread_count(),
    )
    rows, places = np.nonzero(ids < nodes)  # N stands for none
    return np.sort(np.column_stack([rows, ids[rows, places]]).astype(np.int64), axis=1)


@compiled
def _step(
    indptr: Any, indices: Any, shares: Any, at: Any, count: int, arrived: Any, ends: Any, hub: int
) -> int:
    """Move the walks at some nodes on by a step and clear them; return how many ends there are.

    `shares` (N,) says how many are at each of the first `count` nodes of `at`; they go to
    `arrived` (N,), and the nodes where they arrive to `ends`.
    """
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
    node: int, indptr: Any, indices: Any, arrived: Any, ends: Any, count: int, worst: Any, ids: Any
) -> None:
    """Offer the ends of walks to the list of a node (per_node,), and clear them."""
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
    first_chunk: int,
    last_chunk: int,
    chunks: int,
    indptr: Any,
    indices: Any,
    steps: int,
    hub: int,
    worst: Any,
    ids: Any,
) -> None:
    """Fill (worst, ids) of shape (N, per_node) with the best partners of the chunks' nodes."""
    nodes = indptr.size - 1
    for chunk in prange(first_chunk, last_chunk):
        shares, arrived = np.zeros(nodes), np.zeros(nodes)
        at, ends = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
        for node in range(chunk * nodes // chunks, (chunk + 1) * nodes // chunks):
            shares[node], at[0], count = 1.0, node, 1
            for step in range(steps):
                limit = nodes if step == 0 else hub
                count = _step(indptr, indices, shares, at, count, arrived, ends, limit)
                shares, arrived = arrived, shares
                at, ends = ends, at
            _keep_best(node, indptr, indices, shares, at, count, worst[node], ids[node])


# --- bipartite graphs ---------------------------------------------------------------------------


def bipartite_sides(graph: csr_array) -> NDArray[np.int64] | None:
    """Return a number for each node's side of its component, (N,); None if there are no sides.

    Nodes 2 c and 2 c + 1 stand for the sides of component c. A graph counts as bipartite if all of
    its cycles are even and there are enough of them to rule out chance; a tree does not.
    """
    components, component = csgraph.connected_components(graph, directed=False)
    if graph.nnz // 2 - graph.shape[0] + components < _ENOUGH_CYCLES:
        return None
    colour = _two_colours(graph.indptr, graph.indices)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    if (colour[rows] == colour[graph.indices]).any():
        return None
    return 2 * component.astype(np.int64) + colour


@compiled
def _two_colours(indptr: Any, indices: Any) -> Any:
    """Colour nodes 0 and 1 by their distance from the first node of their component."""
    nodes = indptr.size - 1
    colour = np.full(nodes, -1, np.int64)
    queue = np.empty(nodes, np.int64)
    for start in range(nodes):
        if colour[start] >= 0:
            continue
        colour[start], queue[0], first, last = 0, start, 0, 1
        while first < last:
            node = queue[first]
            first += 1
            for e in range(indptr[node], indptr[node + 1]):
                if colour[indices[e]] < 0:
                    colour[indices[e]] = 1 - colour[node]
                    queue[last] = indices[e]
                    last += 1
    return colour


def crosses(sides: NDArray[np.int64], pairs: Pairs) -> NDArray[np.bool_]:
    """Return which pairs (n, 2) join the two sides of one component, (n,)."""
    return np.asarray(sides[pairs[:, 0]] ^ 1 == sides[pairs[:, 1]])
