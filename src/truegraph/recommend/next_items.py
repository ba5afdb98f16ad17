"""Sets of items that hold a user's next item with the asked probability.

Of every user with held-out interactions one is drawn, and its rank is noted among the items that
the user had not taken, by the model that has not seen it. If the next item is like these, it ranks
among the first K with the asked probability, where K is the conformal quantile of the ranks: the
ceil((n + 1) coverage)-th smallest of n. The model that recommends is fitted to all interactions,
held-out ones included, and is taken to rank at least as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.recommend.models import HistoryModel

_MOST_USERS = 10_000  # more would not make quantiles better
_AT_ONCE = 256  # users whose scores are in memory

Ranks = NDArray[np.int64]


def rank_threshold(ranks: Ranks | None, coverage: float) -> int:
    """Return the conformal quantile of ranks (n,), ascending.

    Parameters
    ----------
    ranks : ndarray of int64, shape (n,), or None
    coverage : float
        In (0, 1).
    """
    if ranks is None:
        raise InputError(
            "nothing was held out to learn from where next items rank; fit with "
            "validation_share > 0."
        )
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage={coverage!r} must be a share between 0 and 1.")
    place = int(np.ceil((len(ranks) + 1) * coverage))
    if place > len(ranks):
        raise InputError(
            f"coverage={coverage} cannot be learned from {len(ranks)} users with held-out "
            "interactions; ask for less, or give more users."
        )
    return int(ranks[place - 1])


def next_ranks(
    model: HistoryModel, train: csr_array, held_out: csr_array, *, seed: int = 0
) -> Ranks | None:
    """Return the rank of one held-out item of each user, ascending; None if there are none.

    Parameters
    ----------
    model : HistoryModel
        Fitted to the training interactions alone.
    train, held_out : csr_array of shape (n_users, n_items)
    seed : int
        Draws the items, and users if there are more than 10,000.
    """
    generator = np.random.default_rng([seed, 8])
    users = np.flatnonzero((np.diff(train.indptr) > 0) & (np.diff(held_out.indptr) > 0))
    if len(users) > _MOST_USERS:
        users = np.sort(generator.choice(users, _MOST_USERS, replace=False))
    if not len(users):
        return None
    counts = np.diff(held_out.indptr)[users]
    chosen = held_out.indices[held_out.indptr[users] + generator.integers(0, counts)]
    found = np.empty(len(users), dtype=np.int64)
    for start in range(0, len(users), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        seen = csr_array(train[users[rows]])
        found[rows] = item_ranks(model.scores(seen, users[rows]), chosen[rows], seen)
    return np.sort(found)


def item_ranks(scores: NDArray[np.float32], items: NDArray[np.integer], seen: csr_array) -> Ranks:
    """Return the rank, from 1, of one item (n,) of each user (n,) among those not seen (n, items).

    Items of equal score before it count, as in the lists.
    """
    scores = np.array(scores, dtype=np.float32)
    row = np.repeat(np.arange(len(items)), np.diff(seen.indptr))
    scores[row, seen.indices] = -np.inf
    own = scores[np.arange(len(items)), items][:, None]
    is_before = np.arange(scores.shape[1]) < np.asarray(items)[:, None]
    found: Ranks = 1 + np.sum((scores > own) | ((scores == own) & is_before), axis=1)
    return found
