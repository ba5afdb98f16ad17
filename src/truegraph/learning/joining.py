"""Pairs of near nodes that join the components of a large graph.

Comparing all nodes of a component with all others would take longer than learning the graph. Here a
sample of its nodes looks for the nearest node outside; from the best partners the search goes back
to the nearest nodes inside, and so on until no pair gets nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.progress import Progress
from truegraph.runtime.threads import one_blas_thread

Numbers = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

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
