"""EASE: Steck's linear auto-encoder over items (WWW 2019), in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import LinearHistoryModel
from truegraph.nn.closed_form.dense_inverse import dense_gram, dense_weights


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
    def fit(cls, settings: EASESettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Solve for the item weights, P = (X'X + penalty I)^-1."""
        assert settings.penalty is not None
        ridge = np.full(matrix.shape[1], float(settings.penalty))
        return cls(settings, dense_weights(dense_gram(matrix), ridge))
