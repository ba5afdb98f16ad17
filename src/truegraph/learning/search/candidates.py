"""Candidate pairs: the pairs of nodes among which the learner looks for edges.

Every node lists its nearest neighbours; the union of the lists, in both directions, is the
candidate graph, a symmetric CSR matrix whose stored entries (zeros included) are distances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.inputs import require_candidates
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.masks import masked_pattern
from truegraph.learning.search.neighbours import all_neighbours

_PAIR_BLOCK = 1 << 20
#: Up to so many nodes "auto" searches exactly (benchmarks/graph_learning.py).
LARGEST_EXACT = 20_000
_compiled = njit(parallel=True, cache=True, nogil=True)


@dataclass
class NeighbourLists:
    """Each node's list of nearest neighbours.

    Attributes
    ----------
    start : ndarray of shape (n_nodes + 1,)
        Node i's list is ids[start[i]:start[i + 1]].
    ids : ndarray of int32
    complete : ndarray of bool and shape (n_nodes,)
        Whether a list holds every node that it may hold.
    engine : str
        What found them: "exact", "ivf" or "hnsw".
    recall : float
        Share of the true neighbours found, measured on a sample (1 for "exact").
    """

    start: NDArray[np.int64]
    ids: NDArray[np.int32]
    complete: NDArray[np.bool_]
    engine: str
    recall: float

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of neighbours in each list."""
        return np.diff(self.start)


def choose_engine(wanted: str, n_nodes: int) -> str:
    """Turn "auto" into the engine for that many nodes."""
    if wanted != "auto":
        return wanted
    return "exact" if n_nodes <= LARGEST_EXACT else "ivf"


def nearest_lists(distance: Distance, k: int, *, engine: str, **how: Any) -> NeighbourLists:
    """List every node's k nearest others; `how` is passed on to `all_neighbours`."""
    nodes = distance.n_nodes
    k = min(k, nodes - 1)
    queries, base = distance.queries, distance.base
    found, recall = all_neighbours(queries, base, k, engine=engine, same=True, **how)
    return _from_table(found, k == nodes - 1, engine, recall)


def bipartite_lists(
    distance: Distance, n_users: int, k: int, *, engine: str, **how: Any
) -> NeighbourLists:
    """List every user's k nearest items and every item's k nearest users.

    Nodes 0 .. n_users - 1 are users, the others are items.
    """
    users, items = slice(0, n_users), slice(n_users, distance.n_nodes)
    sides = []
    for asking, answering in ((users, items), (items, users)):
        others = answering.stop - answering.start
        count = min(k, others)
        queries, base = distance.queries[asking], distance.base[answering]
        found, recall = all_neighbours(queries, base, count, engine=engine, **how)
        found = np.where(found >= 0, found + np.int32(answering.start), found)
        sides.append(_from_table(found, count == others, engine, recall))
    first, second = sides
    return NeighbourLists(
        start=np.concatenate([first.start, first.start[-1] + second.start[1:]]),
        ids=np.concatenate([first.ids, second.ids]),
        complete=np.concatenate([first.complete, second.complete]),
        engine=engine,
        recall=min(first.recall, second.recall),
    )


def _from_table(
    found: NDArray[np.int32], complete: bool, engine: str, recall: float
) -> NeighbourLists:
    """Pack a table (n, k) in which -1 marks a neighbour that was not found."""
    present = found >= 0
    start = np.zeros(found.shape[0] + 1, dtype=np.int64)
    np.cumsum(present.sum(axis=1), out=start[1:])
    ids = found.ravel() if present.all() else found[present]
    return NeighbourLists(start, ids, np.full(found.shape[0], complete), engine, recall)


def missing_pairs(
    distance: Distance,
    candidates: csr_array,
    multipliers: NDArray[np.float64],
    theta: float,
    nodes: NDArray[np.int64],
    n_users: int | None,
) -> csr_array:
    """Return the pairs at the given nodes that are no candidates but would carry weight.

    These are the pairs with (lam_i + lam_j) / 2 > theta z_ij: the ones that keep the solution
    from being optimal among all pairs. Memory is linear in the nodes and in the pairs returned.
    """
    rows, columns = [nodes[:0]], [nodes[:0]]
    for i in nodes:
        others = _partners(i, candidates.shape[0], n_users)
        values = distance.values_from(int(i), others)
        found = others[0.5 * (multipliers[i] + multipliers[others]) > theta * values]
        known = candidates.indices[candidates.indptr[i] : candidates.indptr[i + 1]]
        found = found[~np.isin(found, known) & (found != i)]
        rows.append(np.full(found.size, i))
        columns.append(found)
    row, column = np.concatenate(rows), np.concatenate(columns)
    pairs = csr_array((np.ones(row.size, dtype=np.bool_), (row, column)), shape=candidates.shape)
    return csr_array(pairs.maximum(csr_array(pairs.T)))


def _partners(node: int, nodes: int, n_users: int | None) -> NDArray[np.int64]:
    """Return the nodes that may share an edge with node."""
    if n_users is None:
        return np.arange(nodes)
    return np.arange(n_users, nodes) if node < n_users else np.arange(n_users)


def unproved_nodes(
    lists: NeighbourLists, distance: Distance, theta: float, multipliers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the nodes at which a pair outside the lists could carry weight; none is a proof.

    A pair outside the exact lists of both its ends has theta z >= max(r_i, r_j), where r is theta
    times the farthest listed distance. If lam_i <= r_i for every node, then no such pair has
    (lam_i + lam_j) / 2 > theta z, and the solution is optimal among all pairs.
    """
    if lists.engine != "exact":
        return np.arange(distance.n_nodes)
    last = lists.ids[lists.start[1:] - 1]
    radius = theta * distance.pair_values(np.arange(last.size), last)
    return np.flatnonzero((multipliers > radius) & ~lists.complete)


def candidate_graph(
    lists: NeighbourLists,
    distance: Distance,
    fixed: csr_array | None = None,
    forbidden: csr_array | None = None,
) -> csr_array:
    """Return the union of the lists, plus fixed, minus forbidden pairs, with exact distances."""
    indptr, indices = _union(lists.start, lists.ids)
    if fixed is not None or forbidden is not None:
        ones = np.ones(indices.size, dtype=np.bool_)
        nodes = indptr.size - 1
        pattern = csr_array((ones, indices, indptr), shape=(nodes, nodes))
        pattern = masked_pattern(pattern, fixed, forbidden)
        indptr, indices = pattern.indptr, pattern.indices
    values = np.empty(indices.size)
    nodes = indptr.size - 1
    for first in range(0, indices.size, _PAIR_BLOCK):
        last = min(indices.size, first + _PAIR_BLOCK)
        rows = np.searchsorted(indptr, np.arange(first, last), side="right") - 1
        values[first:last] = distance.pair_values(rows, indices[first:last])
    graph = csr_array((values, indices, indptr), shape=(nodes, nodes))
    graph.has_sorted_indices = True
    require_candidates(graph)
    return graph


def mutual_lists(lists: NeighbourLists) -> NeighbourLists:
    """Keep what both nodes list; a node that no other lists back keeps its nearest."""
    ids = lists.ids.copy()
    _sort_rows(lists.start, ids)
    one_sided = np.empty(ids.size, dtype=np.bool_)
    _mark_one_sided(lists.start, ids, one_sided)
    lengths = np.add.reduceat(~one_sided, lists.start[:-1])
    lonely = np.flatnonzero(lengths == 0)
    rows = np.concatenate([np.repeat(np.arange(lengths.size), lengths), lonely])
    kept = np.concatenate([ids[~one_sided], lists.ids[lists.start[lonely]]])
    order = np.argsort(rows, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))])
    return replace(lists, start=start, ids=kept[order])


def _union(
    start: NDArray[np.int64], ids: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the CSR structure (indptr, indices) that holds every listed pair both ways."""
    ids = ids.copy()
    _sort_rows(start, ids)
    one_sided = np.empty(ids.size, dtype=np.bool_)
    _mark_one_sided(start, ids, one_sided)
    reverse_start, reverse = _reverse_lists(start, ids, one_sided)
    indptr = start + reverse_start
    indices = np.empty(indptr[-1], dtype=np.int32)
    _merge(start, ids, reverse_start, reverse, indptr, indices)
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return indptr, indices


@_compiled
def _sort_rows(start: Any, ids: Any) -> None:
    for i in prange(start.size - 1):
        ids[start[i] : start[i + 1]].sort()


@_compiled
def _mark_one_sided(start: Any, ids: Any, one_sided: Any) -> None:
    """Mark the entries i -> j for which j does not list i."""
    for i in prange(start.size - 1):
        for e in range(start[i], start[i + 1]):
            j = ids[e]
            at = start[j] + np.searchsorted(ids[start[j] : start[j + 1]], i)
            one_sided[e] = at == start[j + 1] or ids[at] != i


@njit(cache=True, nogil=True)
def _reverse_lists(start: Any, ids: Any, one_sided: Any) -> Any:
    """Collect, for each node, the nodes that list it without being listed (ascending)."""
    nodes = start.size - 1
    reverse_start = np.zeros(nodes + 1, dtype=np.int64)
    for e in range(ids.size):
        if one_sided[e]:
            reverse_start[ids[e] + 1] += 1
    reverse_start = np.cumsum(reverse_start)
    reverse = np.empty(reverse_start[-1], dtype=np.int32)
    position = reverse_start[:-1].copy()
    for i in range(nodes):
        for e in range(start[i], start[i + 1]):
            if one_sided[e]:
                reverse[position[ids[e]]] = i
                position[ids[e]] += 1
    return reverse_start, reverse


@_compiled
def _merge(
    start: Any, ids: Any, reverse_start: Any, reverse: Any, indptr: Any, indices: Any
) -> None:
    """Merge each node's own and reverse list, both ascending and disjoint."""
    for i in prange(start.size - 1):
        a, b = start[i], reverse_start[i]
        for e in range(indptr[i], indptr[i + 1]):
            if b == reverse_start[i + 1] or (a < start[i + 1] and ids[a] < reverse[b]):
                indices[e] = ids[a]
                a += 1
            else:
                indices[e] = reverse[b]
                b += 1
