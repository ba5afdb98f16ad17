"""Vectors of the nodes, whose inner products are the logits of links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.data.graphs.link_splits import Pairs


@dataclass(frozen=True, eq=False)
class LinkVectors:
    """What a trained auto-encoder says about every node.

    Attributes
    ----------
    embedding : ndarray of float32, shape (N, d)
        Posterior mean E_q[z].
    vectors : ndarray of float32, shape (N, m)
        Their inner products are the logits of links.
    draws : ndarray of float32, shape (S, N, k)
        The same for S draws from the posterior; S = 0 for models without one.
    """

    embedding: NDArray[np.float32]
    vectors: NDArray[np.float32]
    draws: NDArray[np.float32]

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the logit of each pair, (n,)."""
        return inner_products(self.vectors, pairs)

    def drawn_logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the logit of each pair in each draw, (S, n)."""
        found = [inner_products(draw, pairs) for draw in self.draws]
        return np.array(found).reshape(len(self.draws), len(pairs))

    def errors(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return NaN for each pair, (n,): what is uncertain is in the draws."""
        return np.full(len(pairs), np.nan)


def inner_products(vectors: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float64]:
    """Return the inner product of the vectors of each pair, (n,), in float64."""
    first, second = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
    return np.einsum("ij,ij->i", first, second, dtype=np.float64)
