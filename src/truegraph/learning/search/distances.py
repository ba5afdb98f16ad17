"""Distances between nodes: what the graph learner needs to know about the data.

A distance gives exact values for given pairs, and search vectors with which its nearest
neighbours are plain Euclidean nearest neighbours::

    D_ij = |query_i - base_j|^2 + (something that depends on i only)

so that any Euclidean index can find the candidate pairs, also of the paper's combined distance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array, hstack

from truegraph import gate
from truegraph.data.adjacency import as_adjacency
from truegraph.errors import InputError
from truegraph.learning.inputs import check_points, check_two_nodes
from truegraph.learning.search.points import (
    Points,
    as_nodes,
    check_squares,
    checked_ends,
    checked_points,
    squared_distances,
    unit_rows,
)
from truegraph.runtime.compiled import compiled
from truegraph.runtime.threads import thread_limit

Floats = NDArray[np.float64]

_EXACT_MAXIMUM = 30_000  # nodes up to which all pairs are visited for a maximum
_SWEEPS = 10
_SHORT_ROW = 50_000
_SUM_ACCURACY = 1e-3  # probabilities may come from float32, or be rounded for storage
_compiled = compiled(parallel=True)


@_compiled
def _pairs_product(points: Any, rows: Any, columns: Any, out: Any) -> None:
    for e in prange(rows.size):
        total = 0.0
        for d in range(points.shape[1]):
            total += points[rows[e], d] * points[columns[e], d]
        out[e] = total


class Distance(ABC):
    """A symmetric distance >= 0 between n nodes."""

    #: Whether `largest` is proved to be so (False: a farthest-point estimate).
    largest_is_exact: bool = True
    #: No two nodes can be farther apart; `largest` need not look further once two are so far.
    upper_bound: float = math.inf

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes."""

    @property
    @abstractmethod
    def queries(self) -> Points:
        """Search vectors of the asking nodes, shape (n_nodes, dimension)."""

    @property
    @abstractmethod
    def base(self) -> Points:
        """Search vectors of the answering nodes, shape (n_nodes, dimension)."""

    @abstractmethod
    def _between(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the exact distances (pairs,) of pairs of nodes that are known to be valid."""

    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the exact distances of the pairs (rows[e], columns[e]), shape (pairs,)."""
        return self._between(*checked_ends(rows, columns, self.n_nodes))

    def permuted(self, order: NDArray[Any]) -> Distance:
        """Return the same distance with node order[i] as node i."""
        return _PermutedDistance(self, order)

    def values_from(self, node: int, others: NDArray[Any]) -> Floats:
        """Return the exact distances from one node to others, shape (others,)."""
        nodes = gate.indices("node", [node], self.n_nodes)
        return self._from(int(nodes[0]), gate.indices("others", others, self.n_nodes))

    def _from(self, node: int, others: NDArray[Any]) -> Floats:
        """Return the distances (others,) from a node to others that are known to be valid."""
        # Thousands of such calls in a row are common: do not wake threads for a short row.
        with thread_limit(1 if others.size < _SHORT_ROW else None):
            return self._between(np.full(others.size, node), others)

    def largest(self) -> float:
        """Return the largest distance between two different nodes.

        All pairs are visited, in blocks, up to 30,000 nodes; beyond that it is the best of a few
        farthest-point sweeps, a lower bound, and `largest_is_exact` turns False. Where
        `upper_bound` is reached, the search ends and the value is exact.
        """
        nodes = self.n_nodes
        check_two_nodes(nodes)
        if nodes > _EXACT_MAXIMUM:
            estimate = self._farthest_point_estimate()
            self.largest_is_exact = estimate >= self.upper_bound
            return estimate
        everyone, found = np.arange(nodes), 0.0
        for node in range(nodes - 1):
            found = max(found, float(self._from(node, everyone[node + 1 :]).max()))
            if found >= self.upper_bound:
                break
        return found

    def _farthest_point_estimate(self) -> float:
        everyone = np.arange(self.n_nodes)
        node, best = 0, 0.0
        for _ in range(_SWEEPS):
            values = self._from(node, everyone)
            values[node] = -1.0
            following = int(values.argmax())
            if values[following] <= best:
                break
            node, best = following, float(values[following])
        return best


class _PermutedDistance(Distance):
    """Any distance with node order[i] as node i."""

    def __init__(self, distance: Distance, order: NDArray[Any]) -> None:
        self._distance = distance
        self._order = gate.indices("order", order, distance.n_nodes)

    @property
    def n_nodes(self) -> int:
        return self._distance.n_nodes

    @property
    def queries(self) -> Points:
        return self._distance.queries[self._order]

    @property
    def base(self) -> Points:
        return self._distance.base[self._order]

    def _between(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        return self._distance._between(self._order[rows], self._order[columns])


class _PointDistance(Distance):
    """Squared Euclidean distance of vectors, one per node."""

    _points: Points

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self._points.shape[0])

    @property
    def queries(self) -> Points:
        """The points; for the cosine rows of length sqrt(1/2), of squared distance 1 - cos."""
        return self._points

    @property
    def base(self) -> Points:
        """As `queries`."""
        return self._points

    def permuted(self, order: NDArray[Any]) -> Distance:
        """Return the same distance with node order[i] as node i."""
        made = copy(self)
        made._points = self._points[gate.indices("order", order, self.n_nodes)]
        return made

    def _between(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        return squared_distances(self._points, rows, columns)


class EmbeddingDistance(_PointDistance):
    """Squared Euclidean distance between the rows of an embedding (the paper's D1).

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (n_nodes, dimension)
    name : str, default="points"
        What messages call them.
    """

    def __init__(self, points: ArrayLike | csr_array, *, name: str = "points") -> None:
        self._points = checked_points(points, name)
        self._largest: float | None = None
        check_squares(self._points)

    def largest(self) -> float:
        """Return the largest distance between two different nodes; it is searched for once."""
        if self._largest is None:
            self._largest = super().largest()
        return self._largest


class CosineDistance(_PointDistance):
    """One minus the cosine of the angle between two rows.

    A row of zeros has no direction: it is at distance 1 from every other row and 0 from its like.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (n_nodes, dimension)
    name : str, default="points"
        What messages call them.
    """

    def __init__(self, points: ArrayLike | csr_array, *, name: str = "points") -> None:
        self._points = unit_rows(checked_points(points, name))
        self._points *= np.sqrt(0.5)


def distance_of(points: ArrayLike | csr_array, metric: str, name: str = "points") -> Distance:
    """Return the "sqeuclidean" or "cosine" distance of points (n_nodes, n_features)."""
    kind = CosineDistance if metric == "cosine" else EmbeddingDistance
    return kind(points, name=name)


class LabelDisagreement(Distance):
    """The paper's D2: how often the labels around two nodes differ (its equation for D2).

    D2_ij is the share of the pairs (k, l), k in N_i and l in N_j, whose labels differ, where N_i
    is node i with its neighbours in the observed graph. With p_i the mean one-hot label over N_i
    it is 1 - p_i . p_j.

    Parameters
    ----------
    labels : array-like of shape (n_nodes,) or (n_nodes, n_classes)
        Predicted class numbers, or class probabilities.
    graph : sparse matrix, NetworkX graph or PyG Data
        The observed graph; its weights are not used.
    """

    upper_bound = 1.0  # met by any two nodes whose neighbourhoods have no class in common

    def __init__(self, labels: ArrayLike, graph: Any) -> None:
        adjacency = as_adjacency(graph)
        numbers = gate.real_numbers("labels", labels)
        probabilities = _class_probabilities(numbers, adjacency.shape[0])
        adjacency.data[:] = 1.0
        neighbourhood = csr_array(adjacency + eye_array(adjacency.shape[0]))
        sizes = np.diff(neighbourhood.indptr)
        self.shares = (neighbourhood @ probabilities) / sizes[:, None]

    @classmethod
    def from_shares(cls, shares: ArrayLike) -> LabelDisagreement:
        """Build it from the neighbourhood averages p (n_nodes, n_classes) themselves."""
        made = cls.__new__(cls)
        made.shares = _checked_probabilities("shares", shares)
        return made

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.shares.shape[0])

    @property
    def queries(self) -> Points:
        """(p_i, 0) / sqrt 2."""
        return np.column_stack([self.shares, np.zeros(self.n_nodes)]) / np.sqrt(2.0)

    @property
    def base(self) -> Points:
        """(p_j, sqrt(1 - p_j'p_j)) / sqrt 2."""
        rest = np.sqrt(np.maximum(0.0, 1.0 - (self.shares**2).sum(axis=1)))
        return np.column_stack([self.shares, rest]) / np.sqrt(2.0)

    def permuted(self, order: NDArray[Any]) -> LabelDisagreement:
        """Return the same distance with node order[i] as node i."""
        made = copy(self)
        made.shares = self.shares[gate.indices("order", order, self.n_nodes)]
        return made

    def _between(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return 1 - p_i . p_j."""
        out = np.empty(len(rows))
        _pairs_product(self.shares, *as_nodes(rows, columns), out)
        return np.maximum(0.0, 1.0 - out)


class SumDistance(Distance):
    """first + weight * second.

    Parameters
    ----------
    first, second : Distance
    weight : float, optional
        The paper's delta. Default: the paper's rule, max(first) / max(second), which puts both on
        one scale; `weight_rule` says how it was found: "given", "exact" or "estimate".
    """

    def __init__(self, first: Distance, second: Distance, weight: float | None = None) -> None:
        if first.n_nodes != second.n_nodes:
            raise InputError(
                f"first has {first.n_nodes} nodes and second has {second.n_nodes}; "
                "both distances must be between the same nodes."
            )
        self.first, self.second = first, second
        self.weight_rule = "given"
        if weight is None:
            largest = second.largest()
            weight = first.largest() / largest if largest > 0.0 else 0.0
            exact = first.largest_is_exact and second.largest_is_exact
            self.weight_rule = "exact" if exact else "estimate"
        if not (np.isfinite(weight) and weight >= 0.0):
            raise InputError(f"weight={weight!r} must be a finite number >= 0.")
        self.weight = float(weight)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.first.n_nodes

    @property
    def queries(self) -> Points:
        """Both distances' vectors side by side, the second's times sqrt(weight)."""
        return _side_by_side(self.first.queries, self.second.queries, self.weight)

    @property
    def base(self) -> Points:
        """Both distances' vectors side by side, the second's times sqrt(weight)."""
        return _side_by_side(self.first.base, self.second.base, self.weight)

    def permuted(self, order: NDArray[Any]) -> SumDistance:
        """Return the same distance with node order[i] as node i."""
        made = copy(self)
        made.first, made.second = self.first.permuted(order), self.second.permuted(order)
        return made

    def _between(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return first_ij + weight * second_ij."""
        first = self.first._between(rows, columns)
        return first + self.weight * self.second._between(rows, columns)


def _class_probabilities(labels: NDArray[Any], nodes: int) -> Floats:
    """Return class numbers one-hot encoded, and checked probabilities as they are."""
    if labels.shape[:1] != (nodes,) or labels.ndim > 2:
        raise InputError(
            f"labels has shape {labels.shape}, but the graph has {nodes} nodes; "
            "give one class number, or one row of class probabilities, per node."
        )
    if labels.ndim == 2:
        return _checked_probabilities("labels", labels)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InputError(
            f"labels contains NaN at node {int(np.isnan(labels).argmax())}; "
            "give every node a predicted class."
        )
    classes, numbers = np.unique(labels, return_inverse=True)
    return np.eye(classes.size)[numbers]


def _checked_probabilities(name: str, values: ArrayLike) -> Floats:
    """Return class probabilities (n_nodes, n_classes) as float64 after checking their rows."""
    values = np.ascontiguousarray(gate.as_floats(name, values))
    check_points(name, values)
    sums, lowest = values.sum(axis=1), values.min(axis=1)
    bad = (lowest < 0.0) | (np.abs(sums - 1.0) > _SUM_ACCURACY)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{name} must hold probabilities, but row {row} has the sum {sums[row]:g} and the "
            f"smallest entry {lowest[row]:g}; make every row >= 0 with sum 1."
        )
    return values


def _side_by_side(first: Points, second: Points, weight: float) -> Points:
    scaled = second * np.sqrt(weight)
    if isinstance(first, csr_array) or isinstance(scaled, csr_array):
        return csr_array(hstack([csr_array(first), csr_array(scaled)]))
    return np.column_stack([first, scaled])
