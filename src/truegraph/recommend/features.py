"""Features of items and users: who is alike, and where those without a history lie.

A table has a column (or an index) with the ids, and further columns of any kind. A matrix has one
row per id: row r is that of id r where all ids are whole numbers below its length, else that of
the r-th id. Rows of further ids are new items or users. Similarity is the cosine of sparse rows,
columns weighted by how few have them, and falls with the squared distance of dense ones.

The most probable graph of the features joins the new to the known: a new item gets the mean score
of the items that its edges lead to, a new user the mean history of the users that hers lead to, by
weight.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from sklearn.preprocessing import normalize

from truegraph import gate
from truegraph.data.frames import as_pandas
from truegraph.data.vectorising import is_table
from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import CosineDistance, Distance, EmbeddingDistance
from truegraph.learning.settings import Settings
from truegraph.recommend.models import product
from truegraph.saving import savable

Floats = NDArray[np.float32]
Ids = tuple[Hashable, ...]

_LEAST_KNOWN = 0.5  # share of the ids of the interactions that the column of the ids holds
_LEAST_RARITY = 1e-3  # of a tag that all have
_SPREAD = 3.0  # mean squared distance: two rows by chance have a similarity of about 0.05
_DEGREE = 20.0  # of the graph; lab/choose/graph_ease.py
_AT_ONCE = 512  # rows of similarities in memory


@savable
@dataclass(frozen=True, eq=False)
class Features:
    """Points of items or users, and how alike they are.

    Attributes
    ----------
    what : {"items", "users"}
    points : ndarray or csr_array of float32, shape (n, d)
        Sparse rows have length 1, and their product is the similarity; that of dense ones is
        exp(-|x - y|^2).
    described : ndarray of bool, shape (n,)
        Who has features at all.
    scale : float
        What the points of a table are multiplied by.
    plan : ColumnPlan or None
        How a table became numbers.
    id_column : str or None
        Of a table; None: its index.
    """

    what: str
    points: Any
    described: NDArray[np.bool_]
    scale: float = 1.0
    plan: Any = None
    id_column: str | None = None

    def __len__(self) -> int:
        return len(self.described)

    def similarity(self, places: NDArray[np.int64]) -> Floats:
        """Return the similarity of some with all, (m, n), from 0 to 1."""
        part = self.points[places]
        if isinstance(self.points, csr_array):
            return np.asarray((part @ self.points.T).toarray(), dtype=np.float32)
        squares = np.einsum("ij,ij->i", self.points, self.points)
        distances = squares[places][:, None] + squares - 2.0 * product(part, self.points.T)
        found: Floats = np.exp(-np.maximum(distances, 0.0)).astype(np.float32)
        found *= self.described[places][:, None] & self.described
        return found

    def distance(self, places: NDArray[np.int64]) -> Distance:
        """Return the distance between some, from which a graph is learned."""
        points = self.points[places]
        if isinstance(points, csr_array):
            return CosineDistance(points)
        return EmbeddingDistance(points.astype(np.float64))

    def _check_saved(self) -> None:
        if self.points.ndim != 2 or self.points.shape[0] != len(self.described):
            raise InputError(f"the points of {self.what} have shape {self.points.shape}")

    def first(self, count: int) -> Features:
        """Return the features of the first ids only."""
        return replace(self, points=self.points[:count], described=self.described[:count])

    def with_more(self, given: Any, known: Ids) -> tuple[Features, Ids]:
        """Return the features with those of further ids, and the ids that are new."""
        if self.plan is None:
            raise InputError(
                f"{self.what} came as a matrix without ids: give a table, with a column of ids."
            )
        frame = as_pandas(given)
        if self.id_column is not None and self.id_column not in frame.columns:
            raise InputError(
                f"{self.what} has no column {self.id_column!r}, which holds the ids; it has "
                f"{', '.join(frame.columns)}."
            )
        column = frame.index if self.id_column is None else frame[self.id_column]
        ids = _distinct(column, self.what)
        here = set(known)
        rows = [row for row, one in enumerate(ids) if one not in here]
        more = (self.scale * self.plan.transform(frame.iloc[rows])).astype(np.float32)
        points = np.concatenate([self.points, more])
        described = np.concatenate([self.described, np.ones(len(rows), dtype=bool)])
        return replace(self, points=points, described=described), tuple(ids[row] for row in rows)


def read_features(given: Any, known: Ids, what: str) -> tuple[Features | None, Ids]:
    """Return the features of known ids and of new ones, which follow, and the new ids.

    `given` is a table, an array or a sparse matrix (n, d), `what` is "items" or "users".
    """
    if given is None:
        return None, ()
    if is_table(given):
        return _from_table(as_pandas(given), known, what)
    matrix = gate.table(what, given)
    order, new = _order_of_rows(matrix.shape[0], known, what)
    if isinstance(matrix, csr_array):
        holders = np.bincount(matrix.indices, minlength=matrix.shape[1])
        rarity = np.log(len(order) / np.maximum(holders, 1.0)) + _LEAST_RARITY
        weighted = csr_array(matrix @ diags_array(rarity))[order]
        points = csr_array(normalize(weighted)).astype(np.float32)
        return Features(what, points, np.diff(points.indptr) > 0), new
    scale = _scale(matrix)
    points = (scale * matrix[order]).astype(np.float32)
    return Features(what, points, np.ones(len(points), dtype=bool), scale), new


def _order_of_rows(count: int, known: Ids, what: str) -> tuple[NDArray[np.int64], Ids]:
    """Return the row of each known id and then of each new one, and the new ids."""
    are_numbers = all(isinstance(one, int) and 0 <= one < count for one in known)
    if are_numbers:
        new = tuple(sorted(set(range(count)) - set(known)))
        return np.array([*known, *new], dtype=np.int64), new
    if count != len(known):
        raise InputError(
            f"{what} has {count} rows for {len(known)} ids; give a table with a column of ids."
        )
    return np.arange(count), ()


def _from_table(frame: pd.DataFrame, known: Ids, what: str) -> tuple[Features, Ids]:
    from truegraph.data.column_plan import ColumnPlan

    id_column = _id_column(frame, known, what)
    ids = _distinct(frame.index if id_column is None else frame[id_column], what)
    rest = frame if id_column is None else frame.drop(columns=[id_column])
    if not len(rest.columns):
        raise InputError(f"{what} has no column beside the ids; add features.")
    plan = ColumnPlan(id_column=None).fit(rest)
    points = np.asarray(plan.transform(rest), dtype=np.float64)
    scale = _scale(points)
    place = {one: row for row, one in enumerate(ids)}
    here = set(known)
    new = tuple(one for one in ids if one not in here)
    order = np.array([place.get(one, -1) for one in (*known, *new)], dtype=np.int64)
    rows = (scale * points[order]).astype(np.float32)
    return Features(what, rows, order >= 0, scale, plan, id_column), new


def _id_column(frame: pd.DataFrame, known: Ids, what: str) -> str | None:
    """Return the column of a table that holds the most known ids; None stands for its index."""
    wanted = set(known)
    found: dict[Any, int] = {name: len(wanted & set(_plain(frame[name]))) for name in frame}
    found[None] = len(wanted.intersection(frame.index.tolist()))
    best = max(found, key=lambda name: found[name])
    if found[best] < _LEAST_KNOWN * len(wanted):
        raise InputError(
            f"no column of {what} holds the ids of the interactions, such as {known[0]!r}; the "
            f"best has {found[best]} of {len(wanted)}. Add a column of ids, of the same type."
        )
    return best


def _plain(values: Any) -> list[Hashable]:
    return [value for value in values.tolist() if isinstance(value, Hashable)]


def _distinct(values: Any, what: str) -> list[Hashable]:
    twice = values[values.duplicated()]
    if len(twice):
        raise InputError(f"{what} has {twice.tolist()[0]!r} in two rows; give each its own row.")
    return list(values.tolist())


def _scale(points: NDArray[np.float64]) -> float:
    """Return what makes the mean squared distance of two rows equal to `_SPREAD`."""
    spread = 2.0 * float(points.var(axis=0).sum())
    return float(np.sqrt(_SPREAD / spread)) if spread > 0.0 else 1.0


def place(
    features: Features | None, has_history: NDArray[np.bool_]
) -> tuple[csr_array, LearnedGraph | None]:
    """Join those without a history to those with one (n,), by the graph of all features.

    Returns weights (n, n): rows of those without a history sum to 1, or are empty where there are
    no features, all others are empty; and the graph, None where nothing is to be placed.
    """
    n = len(has_history)
    nothing: Any = csr_array((n, n), dtype=np.float32)
    if features is None:
        return nothing, None
    described = features.described
    inside, is_cold = np.flatnonzero(described), ~has_history & described
    if not is_cold.any() or np.count_nonzero(has_history & described) < 2:
        return nothing, None
    degree = min(_DEGREE, 0.5 * (len(inside) - 1))
    graph = learn(features.distance(inside), Settings(degree=degree))
    ends = graph.adjacency.tocoo()
    source, target = inside[ends.row], inside[ends.col]
    kept = is_cold[source] & has_history[target]
    edges = csr_array((ends.data[kept], (source[kept], target[kept])), shape=(n, n))
    lonely = np.flatnonzero(is_cold & (np.diff(edges.indptr) == 0))
    edges = csr_array(edges + _nearest(features, lonely, has_history))
    sums = np.asarray(edges.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return csr_array(diags_array(scale) @ edges).astype(np.float32), graph


def _nearest(
    features: Features, lonely: NDArray[np.int64], has_history: NDArray[np.bool_]
) -> csr_array:
    """Return the nearest with a history (n, n), for rows whose edges all lead to other new ones."""
    n = len(has_history)
    found = csr_array((n, n))
    count = min(int(_DEGREE), int(np.count_nonzero(has_history)))
    for start in range(0, len(lonely), _AT_ONCE):
        part = lonely[start : start + _AT_ONCE]
        near = features.similarity(part) * has_history
        best = np.argsort(-near, axis=1, kind="stable")[:, :count]
        values = np.take_along_axis(near, best, axis=1).ravel()
        found = found + csr_array((values, (part.repeat(count), best.ravel())), shape=(n, n))
    found.eliminate_zeros()
    return csr_array(found)
