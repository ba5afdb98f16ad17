"""Distances between nodes: what the graph learner needs to know about the data.

A distance gives exact values for given pairs, and search vectors with which its nearest
neighbours are plain Euclidean nearest neighbours::

    D_ij = |query_i - base_j|^2 + (something that depends on i only)

so that any Euclidean index can find the candidate pairs, also of the paper's combined distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from numba import njit, prange
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, eye_array, hstack, issparse

from truegraph.data.graphs import as_adjacency
from truegraph.errors import InputError
from truegraph.learning.neighbours import Points

Floats = NDArray[np.float64]

_EXACT_MAXIMUM = 30_000  # nodes up to which all pairs are visited for a maximum
_SWEEPS = 10
_compiled = njit(parallel=True, cache=True, nogil=True)


@_compiled
def _pairs_dense(points: Any, rows: Any, columns: Any, out: Any) -> None:
    for e in prange(rows.size):
        total = 0.0
        for d in range(points.shape[1]):
            difference = points[rows[e], d] - points[columns[e], d]
            total += difference * difference
        out[e] = total


@_compiled
def _pairs_sparse(
    indptr: Any, indices: Any, data: Any, norms: Any, rows: Any, columns: Any, out: Any
) -> None:
    for e in prange(rows.size):
        a, a_end = indptr[rows[e]], indptr[rows[e] + 1]
        b, b_end = indptr[columns[e]], indptr[columns[e] + 1]
        total = 0.0
        while a < a_end and b < b_end:
            if indices[a] == indices[b]:
                total += data[a] * data[b]
            step_a = indices[a] <= indices[b]
            b += indices[b] <= indices[a]
            a += step_a
        out[e] = max(0.0, norms[rows[e]] + norms[columns[e]] - 2.0 * total)


@_compiled
def _pairs_product(points: Any, rows: Any, columns: Any, out: Any) -> None:
    for e in prange(rows.size):
        total = 0.0
        for d in range(points.shape[1]):
            total += points[rows[e], d] * points[columns[e], d]
        out[e] = total


class Distance(ABC):
    """A symmetric distance >= 0 between n nodes."""

    #: Whether `largest` visited all pairs (False: a farthest-point estimate).
    largest_is_exact: bool = True

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
    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the exact distances of the pairs (rows[e], columns[e]), shape (pairs,)."""

    def largest(self) -> float:
        """Return the largest distance between two different nodes.

        All pairs are visited, in blocks, up to 30,000 nodes; beyond that it is the best of a few
        farthest-point sweeps, a lower bound, and `largest_is_exact` turns False.
        """
        nodes = self.n_nodes
        if nodes > _EXACT_MAXIMUM:
            self.largest_is_exact = False
            return self._farthest_point_estimate()
        everyone = np.arange(nodes)
        return max(
            float(self.pair_values(np.full(nodes - 1 - i, i), everyone[i + 1 :]).max())
            for i in range(nodes - 1)
        )

    def _farthest_point_estimate(self) -> float:
        everyone = np.arange(self.n_nodes)
        node, best = 0, 0.0
        for _ in range(_SWEEPS):
            values = self.pair_values(np.full(self.n_nodes, node), everyone)
            values[node] = -1.0
            following = int(values.argmax())
            if values[following] <= best:
                break
            node, best = following, float(values[following])
        return best


class EmbeddingDistance(Distance):
    """Squared Euclidean distance between the rows of an embedding (the paper's D1).

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (n_nodes, dimension)
    """

    def __init__(self, points: ArrayLike | csr_array) -> None:
        self._points = _points(points)
        self._norms = _squared_norms(self._points)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self._points.shape[0])

    @property
    def queries(self) -> Points:
        """The points themselves."""
        return self._points

    @property
    def base(self) -> Points:
        """The points themselves."""
        return self._points

    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return |x_i - x_j|^2."""
        return _squared_distances(self._points, self._norms, rows, columns)


class CosineDistance(Distance):
    """One minus the cosine of the angle between two rows.

    A row of zeros has no direction: it is at distance 1 from every other row and 0 from its like.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (n_nodes, dimension)
    """

    def __init__(self, points: ArrayLike | csr_array) -> None:
        self._unit = _unit_rows(_points(points))
        self._norms = _squared_norms(self._unit)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self._unit.shape[0])

    @property
    def queries(self) -> Points:
        """Rows of length one."""
        return self._unit

    @property
    def base(self) -> Points:
        """Rows of length one."""
        return self._unit

    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return 1 - cos(x_i, x_j), as half the squared distance of the unit rows."""
        return 0.5 * _squared_distances(self._unit, self._norms, rows, columns)


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

    def __init__(self, labels: ArrayLike, graph: Any) -> None:
        adjacency = as_adjacency(graph)
        probabilities = _one_hot(np.asarray(labels), adjacency.shape[0])
        neighbourhood = (adjacency != 0).astype(np.float64) + eye_array(adjacency.shape[0])
        sizes = np.asarray(neighbourhood.sum(axis=1)).ravel()
        self.shares = np.asarray(diags_array(1.0 / sizes) @ (neighbourhood @ probabilities))

    @classmethod
    def from_shares(cls, shares: ArrayLike) -> LabelDisagreement:
        """Build it from the neighbourhood averages p (n_nodes, n_classes) themselves."""
        made = cls.__new__(cls)
        made.shares = np.ascontiguousarray(shares, dtype=np.float64)
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
        """(p_j, sqrt(1 - |p_j|^2)) / sqrt 2."""
        rest = np.sqrt(np.maximum(0.0, 1.0 - (self.shares**2).sum(axis=1)))
        return np.column_stack([self.shares, rest]) / np.sqrt(2.0)

    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return 1 - p_i . p_j."""
        out = np.empty(len(rows))
        _pairs_product(self.shares, np.asarray(rows), np.asarray(columns), out)
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
                "both distances must be between the same nodes"
            )
        self.first, self.second = first, second
        self.weight_rule = "given"
        if weight is None:
            largest = second.largest()
            weight = first.largest() / largest if largest > 0.0 else 0.0
            exact = first.largest_is_exact and second.largest_is_exact
            self.weight_rule = "exact" if exact else "estimate"
        if not (np.isfinite(weight) and weight >= 0.0):
            raise InputError(f"weight must be a finite number >= 0, not {weight!r}")
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

    def pair_values(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return first_ij + weight * second_ij."""
        first = self.first.pair_values(rows, columns)
        return first + self.weight * self.second.pair_values(rows, columns)


def _points(points: ArrayLike | csr_array) -> Points:
    if issparse(points):
        matrix = csr_array(points, dtype=np.float64)
        matrix.sum_duplicates()
        return matrix
    return np.ascontiguousarray(points, dtype=np.float64)


def _squared_norms(points: Points) -> Floats:
    if isinstance(points, csr_array):
        return np.asarray(points.multiply(points).sum(axis=1), dtype=np.float64).ravel()
    return cast(Floats, (points**2).sum(axis=1))


def _squared_distances(
    points: Points, norms: Floats, rows: NDArray[Any], columns: NDArray[Any]
) -> Floats:
    rows, columns = np.asarray(rows), np.asarray(columns)
    out = np.empty(rows.size)
    if isinstance(points, csr_array):
        _pairs_sparse(points.indptr, points.indices, points.data, norms, rows, columns, out)
    else:
        _pairs_dense(points, rows, columns, out)
    return out


def _unit_rows(points: Points) -> Points:
    """Scale rows to length one; rows of zeros point along an extra axis of their own."""
    norms = np.sqrt(_squared_norms(points))
    empty = norms == 0.0
    scale = 1.0 / np.where(empty, 1.0, norms)
    if isinstance(points, csr_array):
        unit = csr_array(diags_array(scale) @ points)
        extra = csr_array(empty[:, None].astype(np.float64))
        return csr_array(hstack([unit, extra])) if empty.any() else unit
    dense = points * scale[:, None]
    return np.column_stack([dense, empty]) if empty.any() else dense


def _one_hot(labels: NDArray[Any], nodes: int) -> Floats:
    if labels.shape[:1] != (nodes,) or labels.ndim > 2:
        raise InputError(
            f"labels has shape {labels.shape}, but the graph has {nodes} nodes; "
            "give one class number, or one row of class probabilities, per node"
        )
    if labels.ndim == 2:
        return labels.astype(np.float64)
    classes, numbers = np.unique(labels, return_inverse=True)
    return cast(Floats, np.eye(classes.size)[numbers])


def _side_by_side(first: Points, second: Points, weight: float) -> Points:
    scaled = second * np.sqrt(weight)
    if isinstance(first, csr_array) or isinstance(scaled, csr_array):
        return csr_array(hstack([csr_array(first), csr_array(scaled)]))
    return np.column_stack([first, scaled])
