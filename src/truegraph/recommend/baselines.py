"""Known models: popularity, item neighbours, graph filters, alternating least squares.

The filters GF-CF (Shen et al., CIKM 2021) and Turbo-CF (Park et al., SIGIR 2024) smooth a history
over a fixed graph of items; nothing is trained.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.errors import InputError
from truegraph.recommend.ease import leading_item_vectors, normalised
from truegraph.recommend.models import (
    Floats,
    HistoryModel,
    LinearModel,
    Options,
    Parts,
    as_dense,
    cosines,
    product,
    rank_items,
)
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count
from truegraph.saving import savable

_BLOCK = 1024  # items whose cosines with all others are in memory
_WHOLE_ROWS = 4_000  # up to so many items every entry of a filter's item graph is kept
_LONGEST_LIST = 500  # beyond, each item keeps so many
_CHUNKS = 256  # of rows, at least; each has working memory of its own
_ROWS_AT_ONCE = 512  # so many are solved for in a moment


@savable
class Popularity(HistoryModel):
    """The items with most interactions, the same for everyone."""

    name: ClassVar[str] = "popularity"
    _by_item: ClassVar[str] = "counts"

    def __init__(self, counts: Floats) -> None:
        self.options, self.counts = {}, counts

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Count the interactions of every item."""
        return cls(np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float32))

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return the counts, one row per user."""
        return np.tile(self.counts, (history.shape[0], 1))

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Raise: popularity does not use histories."""
        raise InputError("model='popularity' ignores what a user took; use another model.")

    def similarity(self, item: int) -> Floats:
        """Raise: popularity has no notion of similarity."""
        raise InputError("model='popularity' knows nothing of similar items; use another model.")


@savable
class ItemKNN(LinearModel):
    """Item-based nearest neighbours (Sarwar et al., WWW 2001) by the cosine of the columns.

    The ``neighbours`` nearest of each item count.
    """

    name: ClassVar[str] = "item-knn"
    DEFAULTS: ClassVar[Options] = {"neighbours": 100}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbours": (20, 50, 100, 200)}

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Keep the cosine of each item (column) with its nearest items (rows)."""
        columns = csr_array(matrix.T.astype(np.float64))
        lengths = np.sqrt(np.maximum(np.diff(columns.indptr), 1))
        unit = csr_array(diags_array(1.0 / lengths) @ columns)
        turned = csr_array(unit.T)
        kept: list[tuple[NDArray, NDArray, NDArray]] = []
        for start in range(0, unit.shape[0], _BLOCK):
            products = (unit[start : start + _BLOCK] @ turned).tocoo()
            item, other, value = products.row + start, products.col, products.data.round(9)
            is_near = (item != other) & (value > 0.0)
            item, other, value = item[is_near], other[is_near], value[is_near]
            order = np.lexsort((other, -value, item))
            item, other, value = item[order], other[order], value[order]
            place = np.arange(len(item)) - np.searchsorted(item, item)  # in the item's own list
            is_kept = place < options["neighbours"]
            kept.append((other[is_kept], item[is_kept], value[is_kept]))
        source, target, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        shape = (matrix.shape[1], matrix.shape[1])
        return cls(options, csr_array((values.astype(np.float32), (source, target)), shape=shape))


@savable
class GFCF(HistoryModel):
    """GF-CF (Shen et al., CIKM 2021): the filter R'R, and an ideal low-pass filter.

    The low-pass filter has the ``rank`` leading vectors and counts ``blend`` times.

    Attributes
    ----------
    operator : csr_array of float32, shape (n_users, n_items)
        R = D_U^-1/2 X D_I^-1/2.
    vectors : ndarray of float32, shape (n_items, rank)
        Its leading right singular vectors.
    scale : ndarray of float32, shape (n_items,)
        Roots of the numbers of the items' interactions.
    """

    name: ClassVar[str] = "gf-cf"
    DEFAULTS: ClassVar[Options] = {"rank": 128, "blend": 0.3}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "rank": (32, 64, 128, 256),
        "blend": (0.0, 0.1, 0.3, 1.0),
    }
    _by_item: ClassVar[str] = "scale"
    _unsaved = ("_turned",)

    def __init__(
        self, options: Options, operator: csr_array, vectors: Floats, scale: Floats
    ) -> None:
        self.options, self.operator = options, operator
        self.vectors, self.scale = vectors, scale
        self._after_load()

    def _after_load(self) -> None:
        self._turned = csr_array(self.operator.T)

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Normalise the interactions and find their leading vectors."""
        vectors, _ = leading_item_vectors(matrix, options["rank"], seed)
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        scale = np.sqrt(np.maximum(counts, 1)).astype(np.float32)
        operator = normalised(matrix).astype(np.float32)
        return cls(options, operator, vectors.astype(np.float32), scale)

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return h R'R + blend h D^-1/2 V V' D^1/2."""
        linear = as_dense(csr_array(history @ self._turned) @ self.operator)
        inner = as_dense(history @ (self.vectors / self.scale[:, None]))
        ideal = product(inner, self.vectors.T) * self.scale
        return linear + np.float32(self.options["blend"]) * ideal


@savable
class TurboCF(LinearModel):
    """Turbo-CF (Park et al., SIGIR 2024): a polynomial of P = R'R, R = D_U^-a X D_I^(a - 1).

    Its weights are raised to a ``power``, ``user_share`` is a, and the ``order`` of the polynomial
    is 1 (P) or 2 (2 P - P^2).
    """

    name: ClassVar[str] = "turbo-cf"
    DEFAULTS: ClassVar[Options] = {"power": 1.0, "user_share": 0.5, "order": 1}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "power": (0.4, 0.7, 1.0, 1.3),
        "user_share": (0.3, 0.5, 0.7),
        "order": (1, 2),
    }
    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {"order": (1, 2)}

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Make the item graph; beyond 4,000 items each keeps its 500 largest weights."""
        users = np.maximum(np.diff(matrix.indptr), 1).astype(np.float64)
        items = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1)
        share = options["user_share"]
        left, right = diags_array(users**-share), diags_array(items ** (share - 1.0))
        operator = csr_array(left @ matrix.astype(np.float64) @ right)
        graph = _item_products(operator)
        graph.data **= options["power"]
        return cls(options, graph.astype(np.float32))

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return the filtered histories."""
        once = csr_array(history @ self.weights)
        if self.options["order"] == 1:
            return as_dense(once)
        return 2.0 * as_dense(once) - as_dense(once @ self.weights)


def _item_products(operator: csr_array) -> csr_array:
    """Return R'R, of which every item (column) keeps the largest entries if there are many."""
    n_items = int(operator.shape[1])
    turned = csr_array(operator.T)
    if n_items <= _WHOLE_ROWS:
        return csr_array(turned @ operator)
    nothing: Any = csr_array((n_items, n_items))  # is masked
    items, values = rank_items(
        lambda rows: as_dense(turned[rows] @ operator), nothing, _LONGEST_LIST
    )
    row, place = np.nonzero((items >= 0) & (values > 0.0))
    ends = (items[row, place], row)
    return csr_array((values[row, place].astype(np.float64), ends), shape=(n_items, n_items))


@savable
class IALS(HistoryModel):
    """iALS (Hu, Koren and Volinsky, ICDM 2008): factorisation by alternating least squares.

    Every pair counts, taken ones with the ``confidence`` 1 + a, as in the package implicit:

        sum_ui c_ui (p_ui - x_u . y_i)^2 + penalty (sum_u |x_u|^2 + sum_i |y_i|^2).

    In ``sweeps`` over users and items each vector of the ``width`` is solved for exactly. Only the
    items' vectors are kept: a user's follow from their history, as those of new users do.
    """

    name: ClassVar[str] = "ials"
    DEFAULTS: ClassVar[Options] = {
        "width": 64,
        "penalty": 10.0,
        "confidence": 4.0,
        "sweeps": 10,
    }
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (3.0, 10.0, 30.0),
        "confidence": (1.0, 4.0, 15.0),
    }

    _by_item: ClassVar[str] = "items"

    def __init__(self, options: Options, items: Floats) -> None:
        self.options, self.items = options, items

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Solve for users and items in turns."""
        rng, width = np.random.default_rng(seed), options["width"]
        start = rng.normal(scale=1.0 / np.sqrt(width), size=(matrix.shape[1], width))
        items = start.astype(np.float32)
        turned = csr_array(matrix.T)
        for _ in range(options["sweeps"]):
            users = solve_rows(matrix, items, options["penalty"], options["confidence"])
            items = solve_rows(turned, users, options["penalty"], options["confidence"])
        return cls(options, items)

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return dot products of the vectors that histories lead to, and those of the items."""
        found = solve_rows(history, self.items, self.options["penalty"], self.options["confidence"])
        return product(found, self.items.T)

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return y_i . A^-1 y_j (1 + a) for each j of a history; they sum to the score."""
        own = self.items[history].astype(np.float64)
        confidence = float(self.options["confidence"])
        system = _gram(self.items) + confidence * own.T @ own
        system[np.diag_indices_from(system)] += self.options["penalty"]
        direct = (1.0 + confidence) * own @ np.linalg.solve(system, self.items[item])
        return direct, np.zeros(len(history))

    def similarity(self, item: int) -> Floats:
        """Return cosines of the items' vectors with one, (n_items,)."""
        return cosines(self.items, item)


def solve_rows(matrix: csr_array, fixed: Floats, penalty: float, confidence: float) -> Floats:
    """Return the best vectors (m, width) of the rows of a matrix, given those of its columns."""
    found = np.zeros((matrix.shape[0], fixed.shape[1]), dtype=np.float32)
    starts, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    weights = np.array([penalty, confidence], dtype=np.float32)
    gram = _gram(fixed).astype(np.float32)
    given = (starts, columns, fixed, gram, weights)
    chunks = max(_CHUNKS, matrix.shape[0] // _ROWS_AT_ONCE)
    in_parts(
        chunks,
        lambda first, last: _solve(first, last, chunks, given, found),
        least=thread_count(),
    )
    return found


def _gram(vectors: Floats) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    return product(exact.T, exact)


@compiled(parallel=True)
def _solve(first_chunk: int, last_chunk: int, chunks: int, given: Any, found: np.ndarray) -> None:
    starts, columns, fixed, gram, weights = given
    rows, width = found.shape
    penalty, confidence = weights[0], weights[1]
    for chunk in prange(first_chunk, last_chunk):
        system, right = np.empty((width, width), np.float32), np.empty(width, np.float32)
        for row in range(chunk * rows // chunks, (chunk + 1) * rows // chunks):
            if starts[row] == starts[row + 1]:
                continue  # nothing is known: the zero vector
            system[:] = gram
            right[:] = 0.0
            for one in range(width):
                system[one, one] += penalty
            for place in range(starts[row], starts[row + 1]):
                vector = fixed[columns[place]]
                for one in range(width):
                    weighted = confidence * vector[one]
                    right[one] += vector[one] + weighted
                    for other in range(one + 1):
                        system[one, other] += weighted * vector[other]
            _cholesky_solve(system, right)
            found[row] = right


@compiled
def _cholesky_solve(system: np.ndarray, right: np.ndarray) -> None:
    """Solve in place; only the lower triangle of the system is read."""
    size = right.size
    for column in range(size):
        root = np.sqrt(system[column, column])
        for row in range(column, size):
            system[row, column] /= root
        for row in range(column + 1, size):
            factor = system[row, column]
            for other in range(column + 1, row + 1):
                system[row, other] -= factor * system[other, column]
    for row in range(size):
        for column in range(row):
            right[row] -= system[row, column] * right[column]
        right[row] /= system[row, row]
    for row in range(size - 1, -1, -1):
        for column in range(row + 1, size):
            right[row] -= system[column, row] * right[column]
        right[row] /= system[row, row]
