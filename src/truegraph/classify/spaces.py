"""Coordinates of the nodes in the space of their features, graphs learned from them, and walks.

Words (mostly zero) are weighted by their rarity if they are counts, and rows get length one. Other
features are centred; columns whose scales differ by orders of magnitude are divided by their
deviations, others, such as pixels, by a common one. The leading singular vectors give the
coordinates.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, diags_array
from sklearn.utils.extmath import randomized_svd

from truegraph import gate
from truegraph.classify.inputs import NEIGHBOURS, distance_graph
from truegraph.data.operators import normalise_features, normalised_adjacency, without_diagonal
from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.settings import Settings
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

Matrix = NDArray[np.float32]
Rows = TypeVar("Rows", bound=NDArray[np.floating[Any]])

DIMENSION = 256  # of coordinates: of 5,000 words few others tell nodes apart
_SPARSE = 0.2  # density below which features are taken for words
_LARGEST_COUNT = 10.0  # mean of the numbers that are not zero
_FEW_FEATURES = 8  # so few have no direction to speak of: rows keep their lengths
_UNEVEN = 0.1  # share of the columns that carry the variance below which scales are mixed
_CATEGORIES = 0.1  # share of columns of 0 and 1 from which on features are a table of categories
_NUMBERS = 30_000_000  # that the coordinates of all nodes may have
_LEAST_DIMENSION = 16  # on however many nodes


@savable
class FeatureSpace:
    """How features (N, F) become coordinates (N, d): (x - shift) * scale @ components.

    The shift of words is zero. Rows get length one where features have directions; with
    `keeps_lengths` those that are mostly zero alone do. `FeatureSpace(None, F)` has no coordinates.
    Tables with categories keep lengths, and have scales under which a category counts as much as a
    number, however rare it is.
    """

    def __init__(
        self, raw: csr_array | None, width: int = 0, *, keeps_lengths: bool = False
    ) -> None:
        self.column_scale = np.zeros(0)  # of all columns of a table with categories
        if raw is None:
            self.shift, self.scale = np.zeros(width), np.zeros(width)
            self.has_directions, self.components = True, np.zeros((width, 0))
            return
        nodes, width = raw.shape
        if 1.0 * raw.nnz < _SPARSE * nodes * width:
            self.shift, self.scale = np.zeros(width), _rarity(raw)
            self.has_directions = True
        else:
            self.shift, self.scale = _standard(raw)
            self.column_scale = _column_scale(raw)
            varied = int((self.scale > 0.0).sum())
            keeps_lengths = keeps_lengths or self.is_table
            self.has_directions = not keeps_lengths and varied >= _FEW_FEATURES
        scaled = _scaled(raw, self.shift, self.scale)
        self.components = _components(scaled, self.has_directions)

    @property
    def dimension(self) -> int:
        """Number d of coordinates; 0 if all rows are equal."""
        return int(self.components.shape[1])

    @property
    def is_table(self) -> bool:
        """Whether some columns are categories and others are not."""
        return bool(len(self.column_scale))

    def columns(self, raw: csr_array) -> Any:
        """Return the features (M, F) themselves: rows of length one, or columns alike."""
        if not self.is_table:
            return normalise_features(raw, by="length")
        return ((raw.toarray() - self.shift) * self.column_scale).astype(np.float32)

    def coordinates(self, raw: csr_array) -> Matrix:
        """Return the coordinates (M, d) of nodes with features (M, F)."""
        with one_blas_thread():  # sums of several threads would come in another order
            found = np.asarray(_scaled(raw, self.shift, self.scale) @ self.components)
        if self.has_directions:
            found = unit_rows(found)
        return found.astype(np.float32)

    def _check_saved(self) -> None:
        width = len(gate.array("components", self.components, (None, None)))
        for name in ("shift", "scale"):
            gate.array(name, getattr(self, name), (width,))
        gate.array("column_scale", self.column_scale, (width if self.is_table else 0,))
        if not isinstance(self.has_directions, bool):
            raise InputError("a feature space does not say whether rows get length one.")


def _rarity(raw: csr_array) -> NDArray[np.float64]:
    """Return the inverse document frequency of counts, and ones for anything else."""
    if raw.nnz == 0 or raw.data.min() < 0.0 or np.any(raw.data != np.rint(raw.data)):
        return np.ones(raw.shape[1])
    if raw.data.mean() > _LARGEST_COUNT:
        return np.ones(raw.shape[1])
    used = np.bincount(raw.indices, minlength=raw.shape[1])
    return np.where(used > 0, np.log((1.0 + raw.shape[0]) / (1.0 + used)), 0.0)


def _standard(raw: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what to subtract from dense columns, and what to multiply them with."""
    table = raw.toarray()
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    varied = deviation > 1e-9 * np.maximum(1.0, np.abs(mean))
    own = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varied)
    variance = deviation[varied] ** 2
    if len(variance) < 2:
        return mean, own
    carrying = variance.sum() ** 2 / (variance**2).sum()
    if (carrying - 1.0) / (len(variance) - 1.0) < _UNEVEN:
        return mean, own
    return mean, np.where(varied, 1.0 / np.sqrt(variance.mean()), 0.0)


def _column_scale(raw: csr_array) -> NDArray[np.float64]:
    """Return what columns are multiplied with, empty unless some are categories, 0 or 1.

    Categories become standardised columns, and rows get length one on average.
    """
    table = raw.toarray()
    deviation = table.std(axis=0)
    varied = deviation > 0.0
    is_category = varied & np.isin(table, (0.0, 1.0)).all(axis=0)
    if not _CATEGORIES * varied.sum() <= is_category.sum() < varied.sum():
        return np.zeros(0)
    scale = np.where(varied, 1.0, 0.0)
    scale[is_category] /= deviation[is_category]
    found: NDArray[np.float64] = scale / np.linalg.norm(scale * deviation)
    return found


def _scaled(
    raw: csr_array, shift: NDArray[np.float64], scale: NDArray[np.float64]
) -> csr_array | NDArray[np.float64]:
    if not shift.any():
        return csr_array(raw @ diags_array(scale))
    table: NDArray[np.float64] = (raw.toarray() - shift) * scale
    return table


def _components(
    scaled: csr_array | NDArray[np.float64], has_directions: bool
) -> NDArray[np.float64]:
    nodes, width = scaled.shape
    wanted = min(DIMENSION, max(_LEAST_DIMENSION, _NUMBERS // nodes), nodes, width)
    rows: Any = scaled
    if has_directions:
        length = np.sqrt(np.asarray(_squares(scaled)).ravel())
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
        rows = diags_array(inverse) @ scaled
    with one_blas_thread():
        _, values, right = randomized_svd(rows, wanted, n_iter=4, random_state=0)
    kept = values > 1e-6 * max(float(values[:1].sum()), 1e-300)
    found: NDArray[np.float64] = np.ascontiguousarray(right[kept].T)
    if not has_directions and kept.any():  # rows keep their lengths, on average one
        found *= np.sqrt(nodes / (values**2).sum())
    return found


def _squares(rows: csr_array | NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows)
    found: NDArray[np.float64] = np.asarray(rows.multiply(rows).sum(axis=1))
    return found


def unit_rows(rows: Rows) -> Rows:
    """Return rows of length one; zero rows stay zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0.0)
    return found


# --- graphs of points, and walks on graphs --------------------------------------------------------

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
