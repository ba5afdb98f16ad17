"""EASE: Steck's linear auto-encoder over items (WWW 2019), in closed form.

From 15,000 items on every item is regressed on its 100 nearest items only, not on all the others:
memory is then linear in the number of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import Choice, LinearHistoryModel, Search
from truegraph.nn.closed_form.dense_inverse import MOST_ITEMS, dense_gram, dense_weights
from truegraph.nn.closed_form.item_graph import nearest_items
from truegraph.nn.closed_form.local_ridge import local_weights
from truegraph.progress import Progress

_NEIGHBOURS = 100  # that an item is regressed on when there are many


@dataclass(frozen=True)
class EASESettings:
    """Hyperparameters of EASE.

    Parameters
    ----------
    penalty : float or None
        Added to the diagonal; None: of 20, 50, 100, 200, 500 and 1000 the best on the validation
        interactions, or 200 without them.
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None and not 0.0 < self.penalty < np.inf:
            raise InputError(f"penalty={self.penalty!r} must be finite and above 0.")


class EASE(LinearHistoryModel):
    """Ridge regression of every item on all the others: B = I - P diag(P)^-1."""

    name: ClassVar[str] = "ease"
    settings_type: ClassVar[type[Any]] = EASESettings
    usual: ClassVar[dict[str, Any]] = {"penalty": 200.0}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    }

    @classmethod
    def choose(
        cls,
        settings: EASESettings,
        train: csr_array,
        validation: csr_array | None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Choice:
        """Choose the penalty; of many items all penalties are solved for in one pass."""
        is_open = settings.penalty is None and validation is not None and validation.nnz > 0
        if train.shape[1] <= MOST_ITEMS or not is_open:
            return super().choose(settings, train, validation, seed=seed, progress=progress)
        assert validation is not None
        search = Search(validation, train, seed, progress)
        penalties = cls.candidates["penalty"]
        for penalty, weights in zip(penalties, _local(train, penalties, seed), strict=True):
            search.record(cls(EASESettings(penalty), weights))
        return search.choice(max(search.tried, key=lambda tried: tried[1])[0])

    @classmethod
    def fit(cls, settings: EASESettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Solve for the item weights, P = (X'X + penalty I)^-1."""
        assert settings.penalty is not None
        if matrix.shape[1] > MOST_ITEMS:
            (local,) = _local(matrix, (settings.penalty,), seed)
            return cls(settings, local)
        ridge = np.full(matrix.shape[1], float(settings.penalty))
        return cls(settings, dense_weights(dense_gram(matrix), ridge))


def _local(matrix: csr_array, penalties: tuple[float, ...], seed: int) -> list[csr_array]:
    """Return B of regressions on the nearest items, for each penalty."""
    near = nearest_items(matrix, _NEIGHBOURS, seed=seed).items
    equal = np.ones(matrix.shape[0])
    columns = csc_array(matrix.astype(np.float32))
    return local_weights(columns, equal, near, np.array(penalties), 0.0)
