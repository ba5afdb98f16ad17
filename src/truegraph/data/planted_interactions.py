"""Interactions made up so that the truth is known: tastes, likes, and likes that nobody saw.

Every user and every item has one of a few tastes. A user likes most items of their own taste and
a few others; only some of what they like is observed. The rest are false negatives: a learner
that takes every unobserved pair for a dislike is wrong about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.interactions import Interactions


@dataclass(frozen=True, eq=False)
class PlantedInteractions:
    """Interactions with known false negatives.

    Attributes
    ----------
    observed : Interactions
        What a recommender may see.
    hidden : csr_array of float32, shape (n_users, n_items)
        Ones at the liked pairs that are not observed: the planted false negatives.
    user_taste, item_taste : ndarray of int64
        Taste of each user and of each item.
    """

    observed: Interactions
    hidden: csr_array
    user_taste: NDArray[np.int64]
    item_taste: NDArray[np.int64]

    @property
    def everything(self) -> Interactions:
        """Observed and hidden likes together, under the same ids."""
        return Interactions.from_matrix(
            self.observed.matrix + self.hidden,
            self.observed.user_ids,
            self.observed.item_ids,
            name="planted",
        )


def planted_interactions(
    n_users: int = 240,
    n_items: int = 180,
    n_tastes: int = 6,
    *,
    liked_share: float = 0.7,
    stray_share: float = 0.01,
    observed_share: float = 0.4,
    random_state: int = 0,
) -> PlantedInteractions:
    """Make up interactions with planted false negatives.

    Parameters
    ----------
    n_users, n_items, n_tastes : int
        Users and items are dealt out to the tastes in turn.
    liked_share, stray_share : float
        Chance that a user likes an item of their own taste, and of another one. Items differ: an
        item's own chances are these times a factor between 0.6 and 1.4.
    observed_share : float
        Chance that a like is observed; every user and every item keeps at least one.
    random_state : int, default=0

    Returns
    -------
    planted : PlantedInteractions
    """
    rng = np.random.default_rng(random_state)
    user_taste, item_taste = np.arange(n_users) % n_tastes, np.arange(n_items) % n_tastes
    same = user_taste[:, None] == item_taste[None, :]
    appeal = rng.uniform(0.6, 1.4, size=n_items)
    chance = np.minimum(1.0, np.where(same, liked_share, stray_share) * appeal)
    likes = rng.random((n_users, n_items)) < chance
    # Nobody and nothing is left without a like of their own taste.
    likes[np.arange(n_users), np.arange(n_users) % n_tastes] = True
    likes[np.arange(n_items) % n_tastes, np.arange(n_items)] = True
    seen = likes & (rng.random(likes.shape) < observed_share)
    for user in np.flatnonzero(~seen.any(axis=1)):
        seen[user, rng.choice(np.flatnonzero(likes[user]))] = True
    for item in np.flatnonzero(~seen.any(axis=0)):
        seen[rng.choice(np.flatnonzero(likes[:, item])), item] = True
    observed = Interactions.from_matrix(
        csr_array(seen.astype(np.float32)),
        [f"user {number}" for number in range(n_users)],
        [f"item {number}" for number in range(n_items)],
        name="planted",
    )
    hidden = csr_array((likes & ~seen).astype(np.float32))
    return PlantedInteractions(observed, hidden, user_taste, item_taste)
