"""iALS: matrix factorisation of implicit feedback by alternating least squares.

Hu, Koren and Volinsky (2008), as in the package implicit: every pair counts, taken ones with
the confidence 1 + a,

    sum_ui c_ui (p_ui - x_u . y_i)^2 + penalty (sum_u |x_u|^2 + sum_i |y_i|^2).

Users, and then items, are solved for exactly, each by a small Cholesky factorisation. Only the
items' vectors are kept: a user's follow from their history, so that new users are like all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import Floats, HistoryModel, check_at_least
from truegraph.nn.recommenders.training import one_torch_thread
from truegraph.runtime.interrupts import in_parts

_CHUNKS = 256  # of rows, at least; each has working memory of its own
_ROWS_AT_ONCE = 512  # so many are solved for in a moment


@dataclass(frozen=True)
class IALSSettings:
    """Hyperparameters of iALS; None is chosen on validation interactions.

    Parameters
    ----------
    width : int
        Length of the vectors.
    penalty : float or None
        Of 3, 10 and 30 the best, or 10.
    confidence : float or None
        a; of 1, 4 and 15 the best, or 4.
    sweeps : int
        Times that users and items are solved for.
    """

    width: int = 64
    penalty: float | None = None
    confidence: float | None = None
    sweeps: int = 10

    def __post_init__(self) -> None:
        check_at_least(self, {"width": 1, "sweeps": 1, "confidence": 0.0})
        if self.penalty is not None and not 0.0 < self.penalty < np.inf:
            raise InputError(f"penalty={self.penalty!r} must be finite and above 0.")


class IALS(HistoryModel):
    """Alternating least squares.

    Parameters
    ----------
    settings : IALSSettings
    items : ndarray of float32, shape (n_items, width)
    """

    name: ClassVar[str] = "ials"
    settings_type: ClassVar[type[Any]] = IALSSettings
    usual: ClassVar[dict[str, Any]] = {"penalty": 10.0, "confidence": 4.0}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (3.0, 10.0, 30.0),
        "confidence": (1.0, 4.0, 15.0),
    }

    def __init__(self, settings: IALSSettings, items: Floats) -> None:
        super().__init__(settings)
        self.items = items

    @classmethod
    def fit(cls, settings: IALSSettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Solve for users and items in turns."""
        rng = np.random.default_rng(seed)
        scale = 1.0 / np.sqrt(settings.width)
        items = rng.normal(scale=scale, size=(matrix.shape[1], settings.width)).astype(np.float32)
        turned = csr_array(matrix.T)
        for _ in range(settings.sweeps):
            users = solve_rows(matrix, items, settings)
            items = solve_rows(turned, users, settings)
        return cls(settings, items)

    def scores(self, history: csr_array) -> Floats:
        """Return dot products of the vectors that histories lead to, and those of the items."""
        users = solve_rows(history, self.items, self.settings)
        with one_torch_thread():
            return (torch.from_numpy(users) @ torch.from_numpy(self.items).T).numpy()

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return y_i . A^-1 y_j (1 + a) for each j of a history; they sum to the score."""
        own = self.items[history].astype(np.float64)
        confidence = float(self.settings.confidence)
        system = _gram(self.items) + confidence * own.T @ own
        system[np.diag_indices_from(system)] += self.settings.penalty
        direct = (1.0 + confidence) * own @ np.linalg.solve(system, self.items[item])
        return direct, np.zeros(len(history))

    def similarity(self, item: int) -> Floats:
        """Return cosines of the items' vectors with one, (n_items,)."""
        lengths = np.linalg.norm(self.items, axis=1)
        safe = np.where(lengths > 0.0, lengths, 1.0)
        return (self.items @ self.items[item] / (safe * safe[item])).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the items' vectors."""
        return {"item_vectors": self.items}

    @classmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the recommender with these vectors."""
        return cls(settings, arrays["item_vectors"])


def solve_rows(matrix: csr_array, fixed: Floats, settings: IALSSettings) -> Floats:
    """Return the best vectors (m, width) of the rows of a matrix, given those of its columns."""
    found = np.zeros((matrix.shape[0], fixed.shape[1]), dtype=np.float32)
    starts, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    weights = np.array([settings.penalty, settings.confidence], dtype=np.float32)
    gram = _gram(fixed).astype(np.float32)
    given = (starts, columns, fixed, gram, weights)
    chunks = max(_CHUNKS, matrix.shape[0] // _ROWS_AT_ONCE)
    in_parts(
        chunks,
        lambda first, last: _solve(first, last, chunks, given, found),
        least=numba.get_num_threads(),
    )
    return found


def _gram(vectors: Floats) -> NDArray[np.float64]:
    with threadpool_limits(1):
        exact = vectors.astype(np.float64)
        gram: NDArray[np.float64] = exact.T @ exact
    return gram


@numba.njit(parallel=True, cache=True, nogil=True)
def _solve(first_chunk: int, last_chunk: int, chunks: int, given: Any, found: np.ndarray) -> None:
    starts, columns, fixed, gram, weights = given
    rows, width = found.shape
    penalty, confidence = weights[0], weights[1]
    for chunk in numba.prange(first_chunk, last_chunk):
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


@numba.njit(cache=True, nogil=True)
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
