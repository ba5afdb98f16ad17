"""Sets of items that hold a user's next item with the asked probability.

Of every user with held-out interactions one is drawn, and its rank is noted among the items that
the user had not taken, by the model that has not seen it. If the next item is like these, it ranks
among the first K with the asked probability, where K is the conformal quantile of the ranks: the
ceil((n + 1) coverage)-th smallest of n. The model that recommends is fitted to all interactions,
held-out ones included, and is taken to rank at least as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.tasks.recommend.scorers import Scorer

if TYPE_CHECKING:
    import pandas as pd

_MOST_USERS = 10_000
_AT_ONCE = 256

Ranks = NDArray[np.int64]


class SetsOfItems:
    """What recommenders can say about the next item of a user."""

    _next_ranks: Ranks | None

    def set_size(self, coverage: float = 0.9) -> int:
        """Return how many of their best items hold the next one of a share `coverage` of users."""
        if self._next_ranks is None:
            raise InputError(
                "nothing was held out to learn from where next items rank; fit with "
                "validation_share > 0."
            )
        return rank_threshold(self._next_ranks, coverage)

    def recommend_set(
        self, users: Iterable[Hashable], coverage: float = 0.9, **how: Any
    ) -> pd.DataFrame:
        """Return for each user a set of items that holds the next one with probability `coverage`.

        Parameters
        ----------
        users : iterable of user ids
        coverage : float, default=0.9
            Share of the users whose next item shall be in their set, on average over users who
            are like those of the fit and whose next item is one that others have taken.
        **how
            `unknown`, `exclude` and `only`, as in `recommend`; with the last two, sets are for
            next items that are not excluded.

        Returns
        -------
        table : DataFrame
            As `recommend` returns it, all lists of the length `set_size(coverage)`.
        """
        recommender: Any = self
        table: pd.DataFrame = recommender.recommend(users, k=self.set_size(coverage), **how)
        return table


def rank_threshold(ranks: Ranks, coverage: float) -> int:
    """Return the conformal quantile of ranks (n,), ascending.

    Parameters
    ----------
    ranks : ndarray of int64, shape (n,)
    coverage : float
        In (0, 1).
    """
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
    scorer: Scorer, train: csr_array, held_out: csr_array, *, seed: int = 0
) -> Ranks | None:
    """Return the rank of one held-out item of each user, ascending; None if there are none.

    Parameters
    ----------
    scorer : Scorer
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
        found[rows] = item_ranks(scorer, users[rows], chosen[rows], csr_array(train[users[rows]]))
    return np.sort(found)


def item_ranks(
    scorer: Scorer, users: NDArray[np.int64], items: NDArray[np.integer], seen: csr_array
) -> Ranks:
    """Return the rank, from 1, of one item (n,) of each user (n,) among those not seen (n, items).

    Items of equal score before it count, as in the lists.
    """
    scores = np.array(scorer.scores(users), dtype=np.float32)
    row = np.repeat(np.arange(len(users)), np.diff(seen.indptr))
    scores[row, seen.indices] = -np.inf
    own = scores[np.arange(len(users)), items][:, None]
    is_before = np.arange(scores.shape[1]) < np.asarray(items)[:, None]
    found: Ranks = 1 + np.sum((scores > own) | ((scores == own) & is_before), axis=1)
    return found
