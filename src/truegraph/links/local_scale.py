"""How near two nodes are for their surroundings: a distance against what is usual at its ends.

    score_ij = (s_i + s_j) / 2 - factor * |z_i - z_j|^2

With the multipliers of a learned graph as s this is the slack of a pair, the weight of a learned
edge and below zero elsewhere; with the mean squared distance to the nearest neighbours it is the
control, which needs no learned graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.data.link_splits import Pairs
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.settings import Settings
from truegraph.saving import savable

SCALES = ("slack", "neighbours", "off")
DEGREE = 10  # edges, or neighbours, per node; lab/choose/link_scale.py
_EXACT_NODES = 20_000  # as of the graph learner


@savable
@dataclass(frozen=True, eq=False)
class LocalScale:
    """Points with what distance is usual around each.

    Attributes
    ----------
    points : ndarray of float64, shape (N, d)
    usual : ndarray of float64, shape (N,)
        s of the module's formula.
    factor : float
    near : ndarray of int64, shape (n, 2)
        Pairs of near points, i < j, which the search met on its way.
    graph : LearnedGraph or None
        Where the scale comes from, if that is a learned graph.
    """

    points: NDArray[np.float64]
    usual: NDArray[np.float64]
    factor: float
    near: Pairs
    graph: LearnedGraph | None = None

    def scores(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2), (n,)."""
        low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
        distance = EmbeddingDistance(self.points)._between(low, high)
        return 0.5 * (self.usual[low] + self.usual[high]) - self.factor * distance


def learned_scale(points: NDArray[np.float64]) -> LocalScale:
    """Return the scale of the graph that is learned from points (N, d)."""
    degree = min(float(DEGREE), (len(points) - 1) / 2.0)
    learned = learn(EmbeddingDistance(points), Settings(degree=degree))
    certificate = learned.certificate
    upper = learned.candidates.tocoo()
    is_upper = upper.row < upper.col
    near = np.column_stack([upper.row[is_upper], upper.col[is_upper]]).astype(np.int64)
    usual = certificate.scale * learned.multipliers
    return LocalScale(points, usual, certificate.scale * certificate.theta, near, learned)


def neighbour_scale(points: NDArray[np.float64]) -> LocalScale:
    """Return the scale of the nearest neighbours of points (N, d)."""
    count = min(DEGREE, len(points) - 1)
    engine = "exact" if len(points) <= _EXACT_NODES else "ivf"
    lists, _ = all_neighbours(points, points, count, engine=engine, same=True)
    rows = np.repeat(np.arange(len(points)), count)
    columns = lists.ravel().astype(np.int64)
    found = columns >= 0
    rows, columns = rows[found], columns[found]
    distance = EmbeddingDistance(points)._between(rows, columns)
    total = np.bincount(rows, weights=distance, minlength=len(points))
    usual = total / np.maximum(np.bincount(rows, minlength=len(points)), 1)
    near = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
    return LocalScale(points, usual, 1.0, near)
