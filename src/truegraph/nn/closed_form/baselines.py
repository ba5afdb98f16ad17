"""Popularity and item neighbours (ItemKNN): what every other recommender is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import Floats, HistoryModel, LinearHistoryModel, check_at_least

_BLOCK = 1024


@dataclass(frozen=True)
class PopularitySettings:
    """Popularity has nothing to choose."""


@dataclass(frozen=True)
class ItemKNNSettings:
    """Hyperparameters of ItemKNN.

    Parameters
    ----------
    neighbours : int or None
        Most similar items that each item keeps; None: of 20, 50, 100 and 200 the best on the
        validation interactions, or 100 without them.
    """

    neighbours: int | None = None

    def __post_init__(self) -> None:
        check_at_least(self, {"neighbours": 1})


class Popularity(HistoryModel):
    """The items with most interactions, the same for everyone.

    Parameters
    ----------
    settings : PopularitySettings
    counts : ndarray of float32, shape (n_items,)
    """

    name: ClassVar[str] = "popularity"
    settings_type: ClassVar[type[Any]] = PopularitySettings

    def __init__(self, settings: PopularitySettings, counts: Floats) -> None:
        super().__init__(settings)
        self.counts = counts

    @classmethod
    def fit(cls, settings: PopularitySettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Count the interactions of every item."""
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        return cls(settings, counts.astype(np.float32))

    def scores(self, history: csr_array) -> Floats:
        """Return the counts, one row per user."""
        return np.tile(self.counts, (history.shape[0], 1))

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Raise: popularity does not use histories."""
        raise InputError("model='popularity' ignores what a user took; use another model.")

    def similarity(self, item: int) -> Floats:
        """Raise: popularity has no notion of similarity."""
        raise InputError("model='popularity' knows nothing of similar items; use another model.")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts."""
        return {"counts": self.counts}

    @classmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the recommender with these counts."""
        return cls(settings, arrays["counts"])


class ItemKNN(LinearHistoryModel):
    """Items similar to those of the history: cosine of the columns, the nearest kept."""

    name: ClassVar[str] = "itemknn"
    settings_type: ClassVar[type[Any]] = ItemKNNSettings
    usual: ClassVar[dict[str, Any]] = {"neighbours": 100}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbours": (20, 50, 100, 200)}

    @classmethod
    def fit(cls, settings: ItemKNNSettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Keep each item's nearest neighbours."""
        assert settings.neighbours is not None
        return cls(settings, item_neighbours(matrix, settings.neighbours))


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
