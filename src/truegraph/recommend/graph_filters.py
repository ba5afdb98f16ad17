"""Graph filters: GF-CF (Shen et al., CIKM 2021) and Turbo-CF (Park et al., SIGIR 2024).

Both smooth a history over a fixed graph of items; nothing is trained.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from truegraph.recommend.item_graph import leading_item_vectors, normalised
from truegraph.recommend.models import (
    Floats,
    HistoryModel,
    LinearModel,
    Options,
    Parts,
    as_dense,
    product,
    rank_items,
)
from truegraph.saving import savable

_BLOCK = 256  # items of a history whose scores are in memory
_WHOLE_ROWS = 4_000  # up to so many items every entry of the item graph is kept
_LONGEST_LIST = 500  # beyond, each item keeps so many


@savable
class GFCF(HistoryModel):
    """The linear filter R'R of the normalised interactions, and an ideal low-pass filter.

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

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.scale)

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return h R'R + blend h D^-1/2 V V' D^1/2."""
        linear = as_dense(csr_array(history @ self._turned) @ self.operator)
        inner = as_dense(history @ (self.vectors / self.scale[:, None]))
        ideal = product(inner, self.vectors.T) * self.scale
        return linear + np.float32(self.options["blend"]) * ideal

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the score that each item of a history gives on its own; the filter is linear."""
        return _alone(self, history, item)

    def similarity(self, item: int) -> Floats:
        """Return the scores of a history of one item."""
        return self.scores(_units(np.array([item]), len(self.scale))).ravel()


@savable
class TurboCF(LinearModel):
    """A polynomial of the item graph P = R'R with R = D_U^-a X D_I^(a - 1).

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

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the score that each item of a history gives on its own; the filter is linear."""
        return _alone(self, history, item)


def _item_products(operator: csr_array) -> csr_array:
    """Return R'R, of which every item (column) keeps the largest entries if there are many."""
    n_items = int(operator.shape[1])
    turned = csr_array(operator.T)
    if n_items <= _WHOLE_ROWS:
        return csr_array(turned @ operator)
    nothing = csr_array(np.float32(0.0) * eye_array(n_items, dtype=np.float32, format="csr"))
    nothing.eliminate_zeros()  # no item is masked
    items, values = rank_items(
        lambda rows: (turned[rows] @ operator).toarray().astype(np.float32),
        nothing,
        _LONGEST_LIST,
    )
    row, place = np.nonzero((items >= 0) & (values > 0.0))
    ends = (items[row, place], row)
    return csr_array((values[row, place].astype(np.float64), ends), shape=(n_items, n_items))


def _units(items: NDArray[np.int64], n_items: int) -> csr_array:
    """Return histories of one item each."""
    return csr_array(csr_array(eye_array(n_items, dtype=np.float32))[items])


def _alone(model: HistoryModel, history: NDArray[np.int64], item: int) -> Parts:
    parts = [
        model.scores(_units(history[start : start + _BLOCK], model.n_items))[:, item]
        for start in range(0, len(history), _BLOCK)
    ]
    return np.concatenate(parts).astype(np.float64), np.zeros(len(history))
