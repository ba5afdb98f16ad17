"""Graph filters: GF-CF (Shen et al., CIKM 2021) and Turbo-CF (Park et al., SIGIR 2024).

Both smooth a history over a fixed graph of items; nothing is trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import (
    Floats,
    HistoryModel,
    LinearHistoryModel,
    as_dense,
    check_at_least,
    packed,
    unpacked,
)
from truegraph.nn.closed_form.item_graph import leading_item_vectors, normalised
from truegraph.nn.recommenders.training import one_torch_thread
from truegraph.nn.top_items import rank_items

_BLOCK = 256
_WHOLE_ROWS = 4_000  # up to so many items every entry of the item graph is kept
_LONGEST_LIST = 500  # beyond, each item keeps so many


@dataclass(frozen=True)
class GFCFSettings:
    """Hyperparameters of GF-CF; None is chosen on validation interactions.

    Parameters
    ----------
    rank : int or None
        Of the ideal low-pass filter; of 32, 64, 128 and 256 the best, or 128.
    blend : float or None
        Its weight beside the linear filter; of 0, 0.1, 0.3 and 1 the best, or 0.3.
    """

    rank: int | None = None
    blend: float | None = None

    def __post_init__(self) -> None:
        check_at_least(self, {"rank": 1, "blend": 0.0})


class GFCF(HistoryModel):
    """The linear filter R'R of the normalised interactions, and an ideal low-pass filter.

    Parameters
    ----------
    settings : GFCFSettings
    operator : csr_array of float32, shape (n_users, n_items)
        R = D_U^-1/2 X D_I^-1/2.
    vectors : ndarray of float32, shape (n_items, rank)
        Its leading right singular vectors.
    scale : ndarray of float32, shape (n_items,)
        Roots of the numbers of the items' interactions.
    """

    name: ClassVar[str] = "gfcf"
    settings_type: ClassVar[type[Any]] = GFCFSettings
    usual: ClassVar[dict[str, Any]] = {"rank": 128, "blend": 0.3}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {
        "rank": (32, 64, 128, 256),
        "blend": (0.0, 0.1, 0.3, 1.0),
    }

    def __init__(
        self, settings: GFCFSettings, operator: csr_array, vectors: Floats, scale: Floats
    ) -> None:
        super().__init__(settings)
        self.operator, self.vectors, self.scale = operator, vectors, scale
        self._turned = csr_array(operator.T)

    @classmethod
    def fit(cls, settings: GFCFSettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Normalise the interactions and find their leading vectors."""
        assert settings.rank is not None
        vectors, _ = leading_item_vectors(matrix, settings.rank, seed)
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        scale = np.sqrt(np.maximum(counts, 1)).astype(np.float32)
        operator = normalised(matrix).astype(np.float32)
        return cls(settings, operator, vectors.astype(np.float32), scale)

    def scores(self, history: csr_array) -> Floats:
        """Return h R'R + blend h D^-1/2 V V' D^1/2."""
        linear = as_dense(csr_array(history @ self._turned) @ self.operator)
        inner = history @ (self.vectors / self.scale[:, None])
        with one_torch_thread():
            ideal = torch.from_numpy(as_dense(inner)) @ torch.from_numpy(self.vectors).T
        return linear + np.float32(self.settings.blend) * (ideal.numpy() * self.scale)

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the score that each item of a history gives on its own; the filter is linear."""
        return _alone(self, history, item, len(self.scale))

    def similarity(self, item: int) -> Floats:
        """Return the scores of a history of one item."""
        return self.scores(_units(np.array([item]), len(self.scale))).ravel()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return R, V and the scale."""
        own = {"vectors": self.vectors, "scale": self.scale}
        return own | packed(self.operator, "operator")

    @classmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the filter of this R and V."""
        operator = unpacked(arrays, "operator")
        return cls(settings, operator, arrays["vectors"], arrays["scale"])


@dataclass(frozen=True)
class TurboCFSettings:
    """Hyperparameters of Turbo-CF; None is chosen on validation interactions.

    Parameters
    ----------
    power : float or None
        To which the weights of the item graph are raised; of 0.4, 0.7, 1 and 1.3 the best, or 1.
    user_share : float or None
        a of R = D_U^-a X D_I^(a - 1); of 0.3, 0.5 and 0.7 the best, or 0.5.
    order : int or None
        Of the polynomial filter: 1 (P) or 2 (2 P - P^2).
    """

    power: float | None = None
    user_share: float | None = None
    order: int | None = None

    def __post_init__(self) -> None:
        check_at_least(self, {"power": 0.0, "user_share": 0.0})
        if self.order not in (None, 1, 2):
            raise InputError(f"order={self.order!r} must be 1 or 2.")


class TurboCF(LinearHistoryModel):
    """A polynomial of the item graph P = R'R, whose weights are raised to a power."""

    name: ClassVar[str] = "turbocf"
    settings_type: ClassVar[type[Any]] = TurboCFSettings
    usual: ClassVar[dict[str, Any]] = {"power": 1.0, "user_share": 0.5, "order": 1}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {
        "power": (0.4, 0.7, 1.0, 1.3),
        "user_share": (0.3, 0.5, 0.7),
        "order": (1, 2),
    }

    @classmethod
    def fit(cls, settings: TurboCFSettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Make the item graph; beyond 4,000 items each keeps its 500 largest weights."""
        assert settings.user_share is not None
        users = np.maximum(np.diff(matrix.indptr), 1).astype(np.float64)
        items = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1)
        share = settings.user_share
        left, right = diags_array(users**-share), diags_array(items ** (share - 1.0))
        operator = csr_array(left @ matrix.astype(np.float64) @ right)
        graph = _item_products(operator)
        graph.data **= settings.power
        return cls(settings, graph.astype(np.float32))

    def scores(self, history: csr_array) -> Floats:
        """Return the filtered histories."""
        once = csr_array(history @ self.weights)
        if self.settings.order == 1:
            return as_dense(once)
        return 2.0 * as_dense(once) - as_dense(once @ self.weights)

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the score that each item of a history gives on its own; the filter is linear."""
        return _alone(self, history, item, self.weights.shape[0])


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
        np.arange(n_items),
        nothing,
        _LONGEST_LIST,
    )
    row, place = np.nonzero((items >= 0) & (values > 0.0))
    ends = (items[row, place], row)
    return csr_array((values[row, place].astype(np.float64), ends), shape=(n_items, n_items))


def _units(items: NDArray[np.int64], n_items: int) -> csr_array:
    """Return histories of one item each."""
    return csr_array(csr_array(eye_array(n_items, dtype=np.float32))[items])


def _alone(
    model: HistoryModel, history: NDArray[np.int64], item: int, n_items: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    parts = [
        model.scores(_units(history[start : start + _BLOCK], n_items))[:, item]
        for start in range(0, len(history), _BLOCK)
    ]
    return np.concatenate(parts).astype(np.float64), np.zeros(len(history))
