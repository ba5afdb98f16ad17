"""Pairs of near nodes that join the components of a large graph.

Comparing all nodes of a component with all others would take longer than learning the graph. Here a
sample of its nodes looks for the nearest node outside; from the best partners the search goes back
to the nearest nodes inside, and so on until no pair gets nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from truegraph.learning.search.distances import Distance

Numbers = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

_SAMPLE = 16  # nodes of a component to begin with
_KEPT = 4  # partners outside to go back from
_BLOCK = 20_000_000  # distances held at a time


def near_pairs(
    distance: Distance, component: Numbers, rng: np.random.Generator
) -> set[tuple[int, int]]:
    """Return a pair of near nodes for each component but the largest, one inside and one outside.

    Parameters
    ----------
    distance : Distance
    component : ndarray of int, shape (n_nodes,)
        Number of each node's component.
    rng : Generator

    Returns
    -------
    set of (int, int)
        The smaller number first.
    """
    search = _Outside(distance, component)
    largest = int(np.bincount(component).argmax())
    pairs = set()
    with threadpool_limits(1, user_api="blas"):  # the last bits of products depend on it
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
        values = search.distance.pair_values(nodes, partners)
        at = int(values.argmin())
        if values[at] >= best:
            return pair
        best, pair = float(values[at]), (int(nodes[at]), int(partners[at]))
        order = np.argsort(values, kind="stable")
        kept = np.unique(partners[order[:_KEPT]])
        back = [search.distance.values_from(int(node), members).argmin() for node in kept]
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
        rows = max(1, _BLOCK // self._norms.size)
        found = np.empty(nodes.size, dtype=np.int64)
        for start in range(0, nodes.size, rows):
            part = nodes[start : start + rows]
            products = self.distance.queries[part] @ self._base.T
            # The norm of the query is the same for all, and does not change which is nearest.
            values = self._norms - 2.0 * _dense(products)
            values[:, inside] = np.inf
            found[start : start + rows] = values.argmin(axis=1)
        return found


def _dense(matrix: Any) -> NDArray[Any]:
    found: NDArray[Any] = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return found


def _squared_norms(points: Any) -> Floats:
    squares = points * points  # entry by entry, of sparse arrays, too
    return np.asarray(squares.sum(axis=1), dtype=np.float64)
