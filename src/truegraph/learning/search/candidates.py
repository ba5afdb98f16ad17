"""Candidate pairs: the pairs of nodes among which the learner looks for edges.

Every node lists its nearest neighbours; the union of the lists, in both directions, is the
candidate graph, a symmetric CSR matrix whose stored entries (zeros included) are distances, which
can be made relative to how near a node's neighbours are (Zelnik-Manor and Perona, 2004).

What an approximate search missed is measured on a sample: the recall below which one node in 20
lies, and the objective. A missing pair with (lam_i + lam_j) / 2 > theta z would lower the bound
by that slack squared; the sum over the sample, scaled to all nodes, estimates what was lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph.learning.inputs import require_candidates
from truegraph.learning.search.approximate import recalls
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import RECALL_SAMPLE, ExactSearch, all_neighbours
from truegraph.learning.search.pairs import masked_pattern
from truegraph.learning.search.sketch import true_neighbours
from truegraph.runtime.compiled import compiled

LOW_SHARE = 0.05  # of the sampled nodes have a recall below the low quantile


def low_quantile(shares: NDArray[np.float64]) -> float:
    """Return the recall below which one in twenty nodes lies."""
    return float(np.quantile(shares, LOW_SHARE, method="lower"))


def completeness(
    lists: NeighbourLists,
    distance: Distance,
    candidates: csr_array,
    multipliers: NDArray[np.float64],
    theta: float,
    scales: NDArray[np.float64] | None = None,
    known: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
) -> tuple[float, float]:
    """Return the low quantile of the recall, and the estimate of what the objective lost."""
    nodes = candidates.shape[0]
    if known is None:
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(nodes, size=min(nodes, RECALL_SAMPLE), replace=False))
        k, queries = int(lists.lengths[sample].max()), distance.queries[sample]
        if lists.engine == "sketch":
            known = sample, true_neighbours(queries, distance.base, sample, k)
        else:
            known = sample, ExactSearch(distance.base).query(queries, sample, k)
    sample, truth = known
    k = truth.shape[1]
    shares = recalls(_table(lists, sample, k), truth)
    rows = np.repeat(sample, k)
    columns = truth.ravel().astype(np.int64)
    rows_of = zip(candidates.indptr[rows], candidates.indptr[rows + 1], columns, strict=True)
    new = np.array([c not in candidates.indices[a:b] for a, b, c in rows_of], dtype=np.bool_)
    rows, columns = rows[new], columns[new]
    values = distance._between(rows, columns)
    if scales is not None:
        values = values / (scales[rows] * scales[columns])
    slack = 0.5 * (multipliers[rows] + multipliers[columns]) - theta * values
    # A pair may be missing from the list of either end: half of it is found from each.
    missed = 0.5 * float(np.sum(np.maximum(0.0, slack) ** 2)) * nodes / sample.size
    return low_quantile(shares), missed


def _table(lists: NeighbourLists, sample: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """Return the lists of some nodes as a table (sample, k), with -1 where there is nothing."""
    out = np.full((sample.size, k), -1, dtype=np.int32)
    for row, node in enumerate(sample):
        own = lists.ids[lists.start[node] : lists.start[node + 1]][:k]
        out[row, : own.size] = own
    return out


_PAIR_BLOCK = 1 << 20
#: Up to so many nodes "auto" searches exactly (benchmarks/graph_learning.py).
LARGEST_EXACT = 20_000
#: From so many columns on a sketch of them pays (benchmarks/many_columns.py).
MANY_COLUMNS = 128
_compiled = compiled(parallel=True)


@dataclass
class NeighbourLists:
    """Each node's list of nearest neighbours."""

    start: NDArray[np.int64]  # node i's list is ids[start[i] : start[i + 1]]
    ids: NDArray[np.int32]
    complete: NDArray[np.bool_]  # whether a list holds every node that it may hold
    engine: str
    recall: float  # measured on a sample

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of neighbours in each list."""
        return np.diff(self.start)


def choose_engine(wanted: str, n_nodes: int, distance: Distance | None = None) -> str:
    """Turn "auto" into the engine for that many nodes of a distance, of few columns if None.

    The search in cells would make sparse rows of many columns dense: they take a sketch.
    """
    if wanted == "auto" and n_nodes <= LARGEST_EXACT:
        return "exact"
    if wanted in ("exact", "sketch"):
        return wanted
    base = None if distance is None else distance.base
    is_wide = base is not None and base.shape[1] >= MANY_COLUMNS
    return "sketch" if is_wide and (wanted == "auto" or issparse(base)) else "ivf"


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
        values = distance._from(int(i), others)
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
    radius = theta * distance._between(np.arange(last.size), last)
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
        columns = indices[first:last]
        kept = columns > rows if lists.engine == "sketch" else np.ones(columns.size, np.bool_)
        values[first:last][kept] = distance._between(rows[kept], columns[kept])
    if lists.engine == "sketch":
        _mirror(indptr, indices, values)
    graph = csr_array((values, indices, indptr), shape=(nodes, nodes))
    graph.has_sorted_indices = True
    require_candidates(graph)
    return graph


def mutual_lists(lists: NeighbourLists) -> NeighbourLists:
    """Keep what both nodes list; a node that no other lists back keeps its nearest."""
    listed, back = _both_ways(lists.start, lists.ids)
    mutual = csr_array(listed.multiply(back))
    lengths = np.diff(mutual.indptr)
    lonely = np.flatnonzero(lengths == 0)
    rows = np.concatenate([np.repeat(np.arange(lengths.size), lengths), lonely])
    kept = np.concatenate([mutual.indices, lists.ids[lists.start[lonely]]]).astype(np.int32)
    order = np.argsort(rows, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))])
    return replace(lists, start=start, ids=kept[order])


def local_scales(candidates: csr_array, neighbour: int) -> NDArray[np.float64]:
    """Return the root of each node's distance to a near neighbour.

    For squared distances that is the distance itself. Where copies of a node make it zero, the
    nearest other candidate counts, and if there is none the median of the others.
    """
    chosen = np.empty(candidates.shape[0])
    _ranked(candidates.indptr, candidates.data, neighbour, chosen)
    known = np.isfinite(chosen)
    typical = float(np.median(chosen[known])) if known.any() else 1.0
    return np.sqrt(np.where(known, chosen, typical))


def scaled(candidates: csr_array, scales: NDArray[np.float64]) -> csr_array:
    """Return the candidates with each distance divided by the scales of both ends."""
    rows = np.repeat(np.arange(scales.size), np.diff(candidates.indptr))
    with np.errstate(over="ignore"):
        values = candidates.data / (scales[rows] * scales[candidates.indices])
    values = np.minimum(values, np.finfo(np.float64).max)
    parts = (values, candidates.indices, candidates.indptr)
    found = csr_array(parts, shape=candidates.shape)
    found.has_sorted_indices = True
    return found


@_compiled
def _ranked(indptr: Any, distances: Any, rank: int, out: Any) -> None:
    """Write each row's distance of a rank; the first positive one if that is zero, else inf."""
    for i in prange(out.size):
        row = np.sort(distances[indptr[i] : indptr[i + 1]])
        at = min(rank, row.size) - 1
        while at < row.size and row[at] <= 0.0:
            at += 1
        out[i] = row[at] if at < row.size else np.inf


def _both_ways(start: NDArray[np.int64], ids: NDArray[np.int32]) -> tuple[csr_array, csr_array]:
    """Return ones (N, N) where a node lists another, and the transpose, both with sorted rows."""
    kind = np.int32 if 2 * ids.size <= np.iinfo(np.int32).max else np.int64  # of the union, too
    parts: tuple[Any, ...] = (np.ones(ids.size, np.int8), ids.astype(kind), start.astype(kind))
    back = csr_array(csr_array(parts, shape=(start.size - 1, start.size - 1)).T)
    return csr_array(back.T), back  # a transpose has sorted rows


def _union(
    start: NDArray[np.int64], ids: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the CSR structure (indptr, indices) that holds every listed pair both ways."""
    listed, back = _both_ways(start, ids)
    either = csr_array(listed + back)
    return either.indptr, either.indices.astype(np.int32, copy=False)


@_compiled
def _mirror(indptr: Any, indices: Any, values: Any) -> None:
    """Give the entries below the diagonal the values of those above it."""
    for i in prange(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j < i:
                row = indices[indptr[j] : indptr[j + 1]]
                values[e] = values[indptr[j] + np.searchsorted(row, i)]
