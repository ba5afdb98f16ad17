"""Recall on held-out interactions, for stopping early: full ranking, in blocks of users.

Held-out items are ranked by counting the items before them, so nothing is sorted. An item comes
before another one if its score is higher or, at equal scores, its number lower.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from scipy.sparse import csr_array

_BLOCK = 512  # fixed, since the bits of a product may depend on its size


class HeldOutRecall:
    """Recall@k averaged over the users with held-out items.

    Parameters
    ----------
    train : csr_array of shape (n_users, n_items)
        Interactions excluded as candidates.
    held_out : csr_array of shape (n_users, n_items)
    k : int, default=20
    """

    def __init__(self, train: csr_array, held_out: csr_array, k: int = 20) -> None:
        self.k = k
        self.users = np.flatnonzero(np.diff(held_out.indptr))
        parts = (train.indptr, train.indices, held_out.indptr, held_out.indices)
        self._layout = tuple(part.astype(np.int64) for part in parts)

    def __call__(self, vectors: torch.Tensor, n_users: int) -> float:
        """Return the recall of vectors (n_users + n_items, d), users first."""
        items = vectors[n_users:].detach()
        recalls = np.empty(len(self.users))
        for start in range(0, len(self.users), _BLOCK):
            part = slice(start, start + _BLOCK)
            chosen = self.users[part]
            scores = vectors[:n_users].detach()[torch.from_numpy(chosen)] @ items.T
            _recalls(self.k, recalls[part], scores.numpy(), chosen, self._layout)
        return float(recalls.mean())


@numba.njit(cache=True, nogil=True)
def _recalls(k: int, out: np.ndarray, scores: np.ndarray, users: np.ndarray, layout: Any) -> None:
    train_starts, train_items, held_starts, held_items = layout
    for row in range(users.size):
        own, user = scores[row], users[row]
        for place in range(train_starts[user], train_starts[user + 1]):
            own[train_items[place]] = -np.inf
        start, stop = held_starts[user], held_starts[user + 1]
        hits = 0
        for place in range(start, stop):
            item = held_items[place]
            score, before = own[item], 0
            for other in range(item):
                before += own[other] >= score
            for other in range(item + 1, own.size):
                before += own[other] > score
            hits += before < k
        out[row] = hits / (stop - start)
