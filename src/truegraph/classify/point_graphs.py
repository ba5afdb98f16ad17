"""What the true graph may be: the observed one, or one learned from features, and walks on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, diags_array
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from truegraph.classify.feature_space import Matrix, unit_rows
from truegraph.classify.inputs import NEIGHBOURS, distance_graph
from truegraph.data.operators import normalised_adjacency, without_diagonal
from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.settings import Settings
from truegraph.saving import savable

RESTART, STEPS = 0.1, 10
_LEARNED_DIMENSION = 64
_MANY_NODES = 50_000
_FEW_DIMENSIONS = 16  # the search among many nodes costs ever more with the dimension
_EDGES = 600_000.0
_LEAST_DEGREE = 10.0
_JOINED = 10  # fitted nodes that a new one is joined to
_STRUCTURE = 128


@savable
@dataclass(frozen=True, eq=False)
class PointGraph:
    """A graph learned from points, which new points can join.

    Attributes
    ----------
    adjacency : csr_array of shape (N, N)
    learned : LearnedGraph or None
        None for the graph of nearest neighbours.
    axes : ndarray of float64, shape (d, k)
        From coordinates to the points that distances are measured between.
    has_directions : bool
        Whether points have length one.
    """

    adjacency: csr_array
    learned: LearnedGraph | None
    axes: NDArray[np.float64]
    has_directions: bool

    def _check_saved(self) -> None:
        if self.adjacency.shape[0] != self.adjacency.shape[1] or self.axes.ndim != 2:
            raise InputError("a learned graph and its axes do not fit.")

    def joined(self, coordinates: Matrix) -> csr_array:
        """Return the graph with the rows after the fitted ones joined to their nearest fitted.

        New rows learn from fitted ones, not the other way round, so that each is predicted alike in
        any company.
        """
        graph = self.adjacency
        fitted, total = graph.shape[0], len(coordinates)
        if total == fitted:
            return graph
        points = _points(coordinates, self.axes, self.has_directions)
        distance, k = EmbeddingDistance(points), min(_JOINED, fitted)
        found, _ = all_neighbours(distance.queries[fitted:], distance.base[:fitted], k)
        weight = graph.data.mean() if graph.nnz else 1.0
        rows = fitted + np.repeat(np.arange(total - fitted), found.shape[1])
        added = csr_array((np.full(len(rows), weight), (rows, found.ravel())), shape=(total, total))
        old = csr_array(block_diag([graph, csr_array((total - fitted, total - fitted))]))
        return csr_array(old + added)


def learn_from(
    coordinates: Matrix, degree: float | None, has_directions: bool
) -> PointGraph | None:
    """Learn a graph from coordinates (N, d); None where most nodes have a twin.

    Without a degree it is the graph of the 10 nearest neighbours.

    Nodes with equal features are at distance zero from each other in any number, and which of them
    are neighbours would be chance.
    """
    nodes = len(coordinates)
    if coordinates.shape[1] == 0 or nodes < 3 or _twins(coordinates) > 0.5:
        return None
    dimension = _LEARNED_DIMENSION if nodes <= _MANY_NODES else _FEW_DIMENSIONS
    axes = leading_axes(coordinates, dimension)
    points = _points(coordinates, axes, has_directions)
    distance = EmbeddingDistance(points)
    if degree is None:
        return PointGraph(distance_graph(distance, NEIGHBOURS), None, axes, has_directions)
    learned = learn(distance, Settings(degree=allowed_degree(degree, nodes)))
    return PointGraph(learned.adjacency, learned, axes, has_directions)


def _twins(coordinates: Matrix) -> float:
    """Return the share of the rows that are equal to an earlier one."""
    direction = np.random.default_rng(0).normal(size=coordinates.shape[1])
    with threadpool_limits(1):
        places = coordinates.astype(np.float64) @ direction
    return 1.0 - len(np.unique(np.round(places, 9))) / len(places)


def allowed_degree(degree: float, nodes: int) -> float:
    """Return the edges per node to ask for: fewer on few nodes, and on many."""
    most = max(_LEAST_DEGREE, min(nodes / 20.0, _EDGES / nodes))
    return float(min(degree, most, nodes - 1.0))


def leading_axes(coordinates: Matrix, dimension: int) -> NDArray[np.float64]:
    """Return the leading right singular vectors of coordinates (N, d), shape (d, at most k)."""
    with threadpool_limits(1):
        table = coordinates.astype(np.float64)
        _, vectors = np.linalg.eigh(table.T @ table)
    return np.ascontiguousarray(vectors[:, ::-1][:, :dimension])


def _points(
    coordinates: Matrix, axes: NDArray[np.float64], has_directions: bool
) -> NDArray[np.float64]:
    with threadpool_limits(1):
        points = coordinates.astype(np.float64) @ axes
    return unit_rows(points) if has_directions else points


def walk_operator(graph: csr_array) -> csr_array:
    """Return the normalised adjacency with self-loops in float32."""
    return csr_array(normalised_adjacency(graph).astype(np.float32))


def row_operator(graph: csr_array) -> csr_array:
    """Return the mean over neighbours, D^-1 A without self-loops, in float32."""
    links = without_diagonal(graph)
    degree = np.asarray(links.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0.0)
    return csr_array((diags_array(inverse) @ links).astype(np.float32))


def pagerank(
    operator: csr_array, start: Matrix, restart: float = RESTART, steps: int = STEPS
) -> Matrix:
    """Return `steps` steps of personalised PageRank of each column of `start`."""
    found = start
    keep, back = np.float32(1.0 - restart), np.float32(restart) * start
    for _ in range(steps):
        found = keep * (operator @ found) + back
    return found


def structure_axes(graph: csr_array) -> NDArray[np.float32]:
    """Return the leading right singular vectors (N, k) of the rows of the adjacency matrix."""
    rows = structure_rows(graph)
    wanted = min(_STRUCTURE, max(1, 30_000_000 // rows.shape[0]), rows.shape[0])
    with threadpool_limits(1):
        _, _, right = randomized_svd(rows, wanted, n_iter=4, random_state=0)
    return np.ascontiguousarray(right.T, dtype=np.float32)


def structure_rows(graph: csr_array, columns: int | None = None) -> csr_array:
    """Return the rows of the adjacency matrix at length one, the first `columns` of each."""
    links = csr_array(without_diagonal(graph)[:, :columns])
    length = np.sqrt(np.asarray(links.multiply(links).sum(axis=1)).ravel())
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    return csr_array((diags_array(inverse) @ links).astype(np.float32))
