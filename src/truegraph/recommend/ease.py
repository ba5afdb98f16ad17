"""EASE: Steck's linear auto-encoder over items (WWW 2019), in closed form.

From 15,000 items on every item is regressed on its 100 nearest items only, not on all the others:
memory is then linear in the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from truegraph.recommend.dense_ridge import MOST_ITEMS, dense_gram, dense_weights
from truegraph.recommend.item_graph import nearest_items
from truegraph.recommend.local_ridge import local_weights
from truegraph.recommend.models import LinearModel
from truegraph.saving import savable

_NEIGHBOURS = 100  # that an item is regressed on when there are many


@savable
class EASE(LinearModel):
    """Ridge regression of every item on all the others: B = I - P diag(P)^-1.

    ``penalty``: added to the diagonal of X'X.
    """

    name: ClassVar[str] = "ease"
    DEFAULTS: ClassVar[dict[str, Any]] = {"penalty": 200.0}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    }

    @classmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Solve for the item weights, P = (X'X + penalty I)^-1."""
        return next(cls.fits(matrix, (options["penalty"],), seed=seed))

    @classmethod
    def fits(
        cls, matrix: csr_array, penalties: tuple[float, ...], *, seed: int = 0
    ) -> Iterator[Self]:
        """Yield the model of one penalty after the other; of many items all are solved at once."""
        if matrix.shape[1] <= MOST_ITEMS:
            for penalty in penalties:
                ridge = np.full(matrix.shape[1], float(penalty))
                yield cls({"penalty": penalty}, dense_weights(dense_gram(matrix), ridge))
            return
        near = nearest_items(matrix, _NEIGHBOURS, seed=seed).items
        equal, columns = np.ones(matrix.shape[0]), csc_array(matrix.astype(np.float32))
        found = local_weights(columns, equal, near, np.array(penalties), 0.0)
        for penalty, weights in zip(penalties, found, strict=True):
            yield cls({"penalty": penalty}, weights)
