"""The smooth part of a history: what its items share with all others, not with the nearest only.

With V the leading right singular vectors of D_U^-1/2 X D_I^-1/2, a history h has the scores
h D_I^-1/2 V V' D_I^0.7. It is the ideal low-pass filter of GF-CF (Shen et al., CIKM 2021) with
somewhat more weight on items that many take. Regressions on an item's nearest items miss what
lies farther away; this part brings it back with two matrices of n_items x rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.recommend.item_graph import leading_item_vectors
from truegraph.recommend.models import Floats, as_dense, product
from truegraph.saving import savable

_POPULARITY = 0.7  # 0.5 would be GF-CF's; lab/choose/low_pass.py
_SAMPLE = 512  # users whose scores set the scale


@savable
@dataclass(frozen=True, eq=False)
class LowPass:
    """Scores of rank r, linear in a history: h @ left @ right.T.

    Attributes
    ----------
    left, right : ndarray of float32, shape (n_items, r)
    """

    left: Floats
    right: Floats

    @classmethod
    def fit(cls, matrix: csr_array, rank: int, seed: int = 0) -> Self:
        """Find the leading vectors of interactions (n_users, n_items)."""
        vectors, _ = leading_item_vectors(matrix, rank, seed)
        counts = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1.0)[:, None]
        left, right = vectors * counts**-0.5, vectors * counts**_POPULARITY
        return cls(left.astype(np.float32), right.astype(np.float32))

    def scores(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of histories (m, n_items)."""
        return product(as_dense(history @ self.left), self.right.T)

    def contributions(self, history: NDArray[np.int64], item: int) -> NDArray[np.float64]:
        """Return what each item of a history adds to an item's score, (len(history),)."""
        return self.left[history].astype(np.float64) @ self.right[item].astype(np.float64)

    def beside(self, scores: Floats, history: csr_array, share: float) -> Self:
        """Return the same with scores that are `share` times as long as others, on average.

        Parameters
        ----------
        scores : ndarray of float32, shape (m, n_items)
            The others.
        history : csr_array of shape (m, n_items)
            Whose scores they are.
        share : float
        """
        own = np.linalg.norm(self.scores(history), axis=1).mean()
        other = np.linalg.norm(scores, axis=1).mean()
        scale = np.float32(share * other / own if own > 0.0 else 0.0)
        return type(self)(self.left, self.right * scale)


def spread_users(matrix: csr_array) -> csr_array:
    """Return the histories of up to 512 users, evenly spread."""
    n_users = matrix.shape[0]
    return csr_array(
        matrix[np.unique(np.linspace(0, n_users - 1, min(_SAMPLE, n_users)).astype(int))]
    )
