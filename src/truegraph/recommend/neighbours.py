"""Popularity and item neighbours (item-knn): what every other recommender is compared with."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.errors import InputError
from truegraph.recommend.models import Floats, HistoryModel, LinearModel, Parts
from truegraph.saving import savable

_BLOCK = 1024  # items whose products are in memory at a time


@savable
class Popularity(HistoryModel):
    """The items with most interactions, the same for everyone.

    Parameters
    ----------
    counts : ndarray of float32, shape (n_items,)
    """

    name: ClassVar[str] = "popularity"

    def __init__(self, counts: Floats) -> None:
        self.options, self.counts = {}, counts

    @classmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Count the interactions of every item."""
        return cls(np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float32))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.counts)

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
    """Items similar to those of the history: cosine of the columns, the ``neighbours`` nearest."""

    name: ClassVar[str] = "item-knn"
    DEFAULTS: ClassVar[dict[str, Any]] = {"neighbours": 100}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbours": (20, 50, 100, 200)}

    @classmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Keep each item's nearest neighbours."""
        return cls(options, item_neighbours(matrix, options["neighbours"]))


def item_neighbours(matrix: csr_array, count: int) -> csr_array:
    """Return the cosine of each item (column) with its nearest items (rows)."""
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
        is_kept = place < count
        kept.append((other[is_kept], item[is_kept], value[is_kept]))
    source, target, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    shape = (matrix.shape[1], matrix.shape[1])
    return csr_array((values.astype(np.float32), (source, target)), shape=shape)
