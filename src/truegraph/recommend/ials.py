"""iALS: matrix factorisation of implicit feedback by alternating least squares.

Hu, Koren and Volinsky (2008), as in the package implicit: every pair counts, taken ones with
the confidence 1 + a,

    sum_ui c_ui (p_ui - x_u . y_i)^2 + penalty (sum_u |x_u|^2 + sum_i |y_i|^2).

Users, and then items, are solved for exactly, each by a small Cholesky factorisation. Only the
items' vectors are kept: a user's follow from their history, so that new users are like all others.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.recommend.models import Floats, HistoryModel, Options, Parts, cosines, product
from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts
from truegraph.runtime.threads import thread_count
from truegraph.saving import savable

_CHUNKS = 256  # of rows, at least; each has working memory of its own
_ROWS_AT_ONCE = 512  # so many are solved for in a moment


@savable
class IALS(HistoryModel):
    """Alternating least squares: vectors (n_items, width), ``sweeps`` over users and items."""

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

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

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
