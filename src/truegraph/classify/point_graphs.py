"""What the true graph may be: the observed one, or one learned from features, and walks on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, diags_array
from sklearn.utils.extmath import randomized_svd

from truegraph import gate
from truegraph.classify.feature_space import Matrix, unit_rows
from truegraph.classify.inputs import NEIGHBOURS, distance_graph
from truegraph.data.operators import normalised_adjacency, without_diagonal
from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.settings import Settings
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

RESTART, STEPS = 0.1, 10  # of personalised PageRank, as usual in APPNP
_LEARNED_DIMENSION = 64  # lab/choose/auto_graphs.py
_MANY_NODES = 50_000
_FEW_DIMENSIONS = 16  # the search among many nodes costs ever more with the dimension
# More nodes than these allow 100 edges each get fewer, but not below.
EDGES, LEAST_DEGREE = 600_000.0, 10.0
_JOINED = 10  # fitted nodes that a new one is joined to, as many as nearest neighbours
_STRUCTURE = 128  # axes of which nodes are linked: half of those of the features


@savable
class PointGraph:
    """A graph learned from coordinates (N, d), which new points can join.

    Distances are measured between the points in its leading axes (d, k), of length one where they
    have directions. Without a degree it is the graph of the 10 nearest neighbours.
    """

    def __init__(self, coordinates: Matrix, degree: float | None, has_directions: bool) -> None:
        nodes = len(coordinates)
        dimension = _LEARNED_DIMENSION if nodes <= _MANY_NODES else _FEW_DIMENSIONS
        self.axes = leading_axes(coordinates, dimension)
        self.has_directions = has_directions
        self.learned: LearnedGraph | None = None
        distance = EmbeddingDistance(_points(coordinates, self.axes, has_directions))
        if degree is None:
            self.adjacency = distance_graph(distance, NEIGHBOURS)
        else:
            self.learned = learn(distance, Settings(degree=allowed_degree(degree, nodes)))
            self.adjacency = self.learned.adjacency

    def _check_saved(self) -> None:
        gate.array("axes", self.axes, (None, None))
        nodes = self.adjacency.shape[0]
        if self.adjacency.shape[1] != nodes or not isinstance(self.has_directions, bool):
            raise InputError("a learned graph and its axes do not fit.")
        if self.learned is not None and self.learned.n_nodes != nodes:
            raise InputError("a learned graph has other nodes than its matrix.")

    def joined(self, coordinates: Matrix) -> csr_array:
        """Return the graph with the rows after the fitted ones joined to their nearest fitted."""
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


def can_learn_from(coordinates: Matrix) -> bool:
    """Whether a graph can be learned from coordinates (N, d): not where most nodes have a twin.

    Nodes with equal features are at distance zero from each other in any number, and which of them
    are neighbours would be chance.
    """
    nodes, width = coordinates.shape
    return width > 0 and nodes >= 3 and _twins(coordinates) <= 0.5


def _twins(coordinates: Matrix) -> float:
    """Return the share of the rows that are equal to an earlier one."""
    direction = np.random.default_rng(0).normal(size=coordinates.shape[1])
    with one_blas_thread():
        places = coordinates.astype(np.float64) @ direction
    return 1.0 - len(np.unique(np.round(places, 9))) / len(places)


def allowed_degree(degree: float, nodes: int) -> float:
    """Return the edges per node to ask for: fewer on few nodes, and on many."""
    most = max(LEAST_DEGREE, min(nodes / 20.0, EDGES / nodes))
    return float(min(degree, most, nodes - 1.0))


def leading_axes(coordinates: Matrix, dimension: int) -> NDArray[np.float64]:
    """Return the leading right singular vectors of coordinates (N, d), shape (d, at most k)."""
    with one_blas_thread():
        table = coordinates.astype(np.float64)
        _, vectors = np.linalg.eigh(table.T @ table)
    return np.ascontiguousarray(vectors[:, ::-1][:, :dimension])


def _points(
    coordinates: Matrix, axes: NDArray[np.float64], has_directions: bool
) -> NDArray[np.float64]:
    with one_blas_thread():
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
    with one_blas_thread():
        _, _, right = randomized_svd(rows, wanted, n_iter=4, random_state=0)
    return np.ascontiguousarray(right.T, dtype=np.float32)


def structure_rows(graph: csr_array, columns: int | None = None) -> csr_array:
    """Return the rows of the adjacency matrix at length one, the first `columns` of each."""
    links = csr_array(without_diagonal(graph)[:, :columns])
    length = np.sqrt(np.asarray(links.multiply(links).sum(axis=1)).ravel())
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    return csr_array((diags_array(inverse) @ links).astype(np.float32))
