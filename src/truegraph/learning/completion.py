"""Edges beyond the optimum: a smallest number of edges for every node, and one component.

The most probable graph may have nodes with a single edge and several components. Clusterers and
layouts often want more. What is added are the best pairs by the model: those whose slack
(l_i + l_j) / 2 - theta z is nearest to having an edge. Each gets the weight of the weakest edge at
its two ends.

In a large graph a sample of a component's nodes looks for the nearest node outside; from the best
partners the search goes back to the nearest nodes inside, until no pair gets nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from truegraph.errors import InputError
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.progress import Progress
from truegraph.runtime.threads import one_blas_thread

_SAMPLE = 16  # nodes of a component to begin with
_KEPT = 4  # partners outside to go back from
_BLOCK = 20_000_000  # distances held at a time


def joining_pairs(
    distance: Distance,
    scales: Floats | None,
    is_exact: bool,
    rng: np.random.Generator,
    progress: Progress,
    component: Numbers,
) -> tuple[Numbers, Numbers, Floats]:
    """Return the nearest pair of each component but the largest with the others, and its value."""
    if not is_exact:
        pairs = near_pairs(distance, component, rng)
    else:
        largest = int(np.bincount(component).argmax())
        pairs = {
            _nearest_pair(distance, component == other, progress)
            for other in range(int(component.max()) + 1)
            if other != largest
        }
    rows, columns = np.array(sorted(pairs)).T
    values = distance._between(rows, columns)
    return rows, columns, values if scales is None else values / (scales[rows] * scales[columns])


def _nearest_pair(
    distance: Distance, inside: NDArray[np.bool_], progress: Progress
) -> tuple[int, int]:
    """Return the nearest pair of a node inside and one outside, the smaller number first."""
    nodes, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    queries, base = distance.queries[nodes], distance.base[others]
    found, _ = all_neighbours(queries, base, 1, progress=progress)
    partners = others[found[:, 0]]
    at = int(distance._between(nodes, partners).argmin())
    first, second = sorted((int(nodes[at]), int(partners[at])))
    return first, second


def near_pairs(
    distance: Distance, component: Numbers, rng: np.random.Generator
) -> set[tuple[int, int]]:
    """Return a pair of near nodes, inside and outside, for each component but the largest."""
    search = _Outside(distance, component)
    largest = int(np.bincount(component).argmax())
    pairs = set()
    with one_blas_thread():
        for number in range(int(component.max()) + 1):
            if number != largest:
                members = np.flatnonzero(component == number)
                first, second = sorted(_near_pair(search, members, rng))
                pairs.add((first, second))
    return pairs


def _near_pair(
    search: _Outside, members: NDArray[np.int64], rng: np.random.Generator
) -> tuple[int, int]:
    nodes = rng.choice(members, size=min(members.size, _SAMPLE), replace=False)
    best, pair = np.inf, (-1, -1)
    while True:
        partners = search.nearest(nodes)
        values = search.distance._between(nodes, partners)
        at = int(values.argmin())
        if values[at] >= best:
            return pair
        best, pair = float(values[at]), (int(nodes[at]), int(partners[at]))
        order = np.argsort(values, kind="stable")
        kept = np.unique(partners[order[:_KEPT]])
        back = [search.distance._from(int(node), members).argmin() for node in kept]
        nodes = np.unique(members[back])


class _Outside:
    """The search for the nearest node of any other component."""

    def __init__(self, distance: Distance, component: Numbers) -> None:
        self.distance = distance
        self._component = component
        self._base = distance.base
        self._norms = _squared_norms(self._base)

    def nearest(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nearest node outside for each of the nodes of one component."""
        inside = self._component == self._component[nodes[0]]
        queries, count = self.distance.queries, self._norms.size
        rows, columns = max(1, _BLOCK // count), max(1, 4 * _BLOCK // self._base.shape[1])
        found = np.empty(nodes.size, dtype=np.int64)
        for start in range(0, nodes.size, rows):
            part = nodes[start : start + rows]
            values = np.empty((part.size, count))
            for first in range(0, count, columns):
                span = slice(first, first + columns)
                products = _wide(queries[part]) @ _wide(self._base[span]).T
                # The norm of the query is the same for all: it does not change which is nearest.
                values[:, span] = self._norms[span] - 2.0 * _dense(products)
            values[:, inside] = np.inf
            found[start : start + rows] = values.argmin(axis=1)
        return found


def _dense(matrix: Any) -> NDArray[Any]:
    found: NDArray[Any] = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return found


def _wide(points: Any) -> Any:
    """Return dense points as float64; sparse ones are."""
    return points.astype(np.float64, copy=False)


def _squared_norms(points: Any) -> Floats:
    out = np.empty(points.shape[0])
    rows = max(1, 4 * _BLOCK // points.shape[1])
    for first in range(0, len(out), rows):
        part = _wide(points[first : first + rows])
        # entry by entry, of sparse arrays, too
        out[first : first + rows] = np.asarray((part * part).sum(axis=1)).ravel()
    return out


Floats = NDArray[np.float64]
Numbers = NDArray[np.integer[Any]]

#: Given the component of every node, returns pairs (rows, columns) that join components, and their
#: distances.
NearestPairs = Callable[[Numbers], tuple[Numbers, Numbers, Floats]]


#: Candidate pairs (n_nodes, n_nodes), their weights, and how many edges were added.
Completed = tuple[csr_array, Floats, int]


class Completion:
    """A graph to which edges are added."""

    def __init__(
        self, candidates: csr_array, weights: Floats, multipliers: Floats, theta: float
    ) -> None:
        self._candidates = candidates
        self._weights = weights.copy()
        self._rows = np.repeat(np.arange(candidates.shape[0]), np.diff(candidates.indptr))
        columns = candidates.indices
        ends = 0.5 * (multipliers[self._rows] + multipliers[columns])
        self._slack: Floats = ends - theta * candidates.data
        self._weakest = np.full(candidates.shape[0], np.inf)
        kept = weights > 0.0
        np.minimum.at(self._weakest, self._rows[kept], weights[kept])
        self._before = int(kept.sum())

    def raise_degrees(self, least: int) -> None:
        """Give every node at least `least` edges, the best that it has."""
        offered = np.diff(self._candidates.indptr)
        if offered.min() < least:
            raise InputError(
                f"min_degree={least} cannot be met: node {int(offered.argmin())} has "
                f"{int(offered.min())} candidate pairs; lower min_degree, or offer more pairs."
            )
        lacking = least - np.bincount(
            self._rows[self._weights > 0.0], minlength=self._candidates.shape[0]
        )
        offered = np.flatnonzero((self._weights == 0.0) & (lacking[self._rows] > 0))
        order = offered[np.lexsort((-self._slack[offered], self._rows[offered]))]
        rows = self._rows[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        rank = np.arange(rows.size) - np.repeat(starts, np.diff(starts, append=rows.size))
        self._add(order[rank < lacking[rows]])

    def connect(self, nearest: NearestPairs | None) -> Completed:
        """Join all components: by candidate pairs while there are any, then by nearest pairs."""
        extra: list[tuple[Numbers, Numbers, Floats]] = []
        count, component = connected_components(self._graph(), directed=False)
        if count > 1:
            self._add(self._bridges(count, component))
        joined = self._graph()
        while True:
            count, component = connected_components(joined, directed=False)
            if count == 1:
                return self.result(extra)
            if nearest is None:
                raise InputError(
                    f"connected=True cannot be met: the candidate pairs leave {count} components; "
                    "offer more pairs, with a larger candidate_ratio or in X, or leave out "
                    "connected."
                )
            rows, columns, distances = nearest(component)
            extra.append((rows, columns, distances))
            links = csr_array((np.ones(rows.size), (rows, columns)), shape=joined.shape)
            joined = csr_array(joined + links)

    def _graph(self) -> csr_array:
        parts = (self._weights, self._candidates.indices, self._candidates.indptr)
        graph = csr_array(parts, shape=self._candidates.shape, copy=True)
        graph.eliminate_zeros()
        return graph

    def _bridges(self, count: int, component: Numbers) -> Numbers:
        """Return the stored entries that join components at the greatest total slack."""
        first, second = component[self._rows], component[self._candidates.indices]
        crossing = np.flatnonzero(first < second)
        keys = first[crossing].astype(np.int64) * count + second[crossing]
        order = np.lexsort((-self._slack[crossing], keys))
        best = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]  # of each two components
        entries = crossing[best]
        # Costs must be positive, for zeros are no edges; the tree depends on their order only.
        cost = 1.0 + np.argsort(np.argsort(-self._slack[entries], kind="stable"), kind="stable")
        between = csr_array((cost, (first[entries], second[entries])), shape=(count, count))
        tree = minimum_spanning_tree(between).tocoo()
        chosen: Numbers = entries[np.isin(keys[best], tree.row.astype(np.int64) * count + tree.col)]
        return chosen

    def _add(self, entries: Numbers) -> None:
        """Give weight to stored entries, in both directions."""
        n_nodes = self._candidates.shape[0]
        rows, columns = self._rows[entries], self._candidates.indices[entries]
        # Entries are sorted by row and column, so that keys are sorted, too.
        keys = self._rows * n_nodes + self._candidates.indices
        mirrored = np.searchsorted(keys, columns.astype(np.int64) * n_nodes + rows)
        weights = np.minimum(self._weakest[rows], self._weakest[columns])
        self._weights[entries] = self._weights[mirrored] = weights

    def result(self, extra: Sequence[tuple[Numbers, Numbers, Floats]] = ()) -> Completed:
        """Return the graph with what was added so far, and further pairs."""
        added = (int((self._weights > 0.0).sum()) - self._before) // 2
        if not extra:
            return self._candidates, self._weights, added
        rows, columns, distances = (np.concatenate(part) for part in zip(*extra, strict=True))
        weights = np.minimum(self._weakest[rows], self._weakest[columns])
        at, to = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        order = np.lexsort((to, at))
        n_nodes = self._candidates.shape[0]
        keys = self._rows * n_nodes + self._candidates.indices  # sorted, as the entries are
        place = np.searchsorted(keys, (at.astype(np.int64) * n_nodes + to)[order])

        def merged(own: Any, new: Any) -> Any:
            return np.insert(own, place, new[order])

        more = np.bincount(at, minlength=n_nodes)
        indptr = self._candidates.indptr.copy()
        indptr[1:] += np.cumsum(more).astype(indptr.dtype)
        values = merged(self._candidates.data, np.concatenate([distances, distances]))
        indices = merged(self._candidates.indices, to)
        candidates = csr_array((values, indices, indptr), shape=self._candidates.shape)
        all_weights = merged(self._weights, np.concatenate([weights, weights]))
        return candidates, all_weights, added + rows.size
