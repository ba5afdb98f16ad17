"""Where items and users without a history lie: the most probable graph of the features.

A new item gets the mean score of the items that its edges lead to, a new user the mean history of
the users that hers lead to, by weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.settings import Settings
from truegraph.recommend.features import Features
from truegraph.saving import savable

_DEGREE = 20.0  # of the graph; lab/choose/graph_ease.py
_AT_ONCE = 512  # rows of similarities in memory


@savable
@dataclass(frozen=True, eq=False)
class Placement:
    """Features, and the edges of those without a history to those with one.

    Attributes
    ----------
    features : Features
        Of all n items (or users).
    cold : ndarray of int64, shape (m,)
        Numbers of those without a history.
    weights : csr_array of float32, shape (m, n)
        Rows sum to 1; empty for those without features.
    graph : LearnedGraph or None
        Of all; None where nothing is to be placed.
    """

    features: Features
    cold: NDArray[np.int64]
    weights: csr_array
    graph: LearnedGraph | None

    def _check_saved(self) -> None:
        n = len(self.features)
        if self.weights.shape != (len(self.cold), n):
            raise InputError(f"the weights of a placement have shape {self.weights.shape}")
        if len(self.cold) and not 0 <= self.cold.min() <= self.cold.max() < n:
            raise InputError(f"a placement is of {n}")


def place(features: Features, has_history: NDArray[np.bool_]) -> Placement:
    """Learn the graph of features, and keep the edges from those without a history (n,)."""
    n, described = len(has_history), features.described
    cold = np.flatnonzero(~has_history)
    inside = np.flatnonzero(described)
    if not (~has_history & described).any() or np.count_nonzero(has_history & described) < 2:
        nothing: Any = csr_array((len(cold), n), dtype=np.float32)
        return Placement(features, cold, nothing, None)
    degree = min(_DEGREE, 0.5 * (len(inside) - 1))
    graph = learn(features.distance(inside), Settings(degree=degree))
    ends = graph.adjacency.tocoo()
    whole = csr_array((ends.data, (inside[ends.row], inside[ends.col])), shape=(n, n))
    edges = csr_array(whole[cold].multiply(has_history[None]))
    edges.eliminate_zeros()
    lonely = np.flatnonzero((np.diff(edges.indptr) == 0) & described[cold])
    edges = csr_array(edges + _nearest(features, cold, lonely, has_history))
    sums = np.asarray(edges.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return Placement(
        features, cold, csr_array(diags_array(scale) @ edges).astype(np.float32), graph
    )


def _nearest(
    features: Features,
    cold: NDArray[np.int64],
    lonely: NDArray[np.int64],
    has_history: NDArray[np.bool_],
) -> csr_array:
    """Return the nearest with a history, for rows (m, n) whose edges all lead to other new ones."""
    rows, columns, values = [], [], []
    count = min(int(_DEGREE), int(np.count_nonzero(has_history)))
    for start in range(0, len(lonely), _AT_ONCE):
        part = lonely[start : start + _AT_ONCE]
        near = features.similarity(cold[part]) * has_history
        best = np.argsort(-near, axis=1, kind="stable")[:, :count]
        rows.append(np.repeat(part, count))
        columns.append(best.ravel())
        values.append(np.take_along_axis(near, best, axis=1).ravel())
    if not rows:
        return csr_array((len(cold), len(has_history)))
    ends = (np.concatenate(rows), np.concatenate(columns))
    found = csr_array((np.concatenate(values), ends), shape=(len(cold), len(has_history)))
    found.eliminate_zeros()
    return found
