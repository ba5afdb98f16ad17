"""Named sets of interactions: what there is, and loading it with the paper's filters.

The files lie where those of the other data sets do, see `truegraph.data.datasets`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from truegraph.data.datasets import found, how_to_get, locate
from truegraph.data.interactions import (
    Interactions,
    InteractionSplit,
    pair_matrix,
    split_randomly,
)
from truegraph.data.registry import INTERACTION_SETS, DatasetInfo
from truegraph.data.storage import PathLike, read_npz
from truegraph.errors import DataError, InputError
from truegraph.suggestions import suggestion


def list_interaction_sets(*, data_home: PathLike | None = None) -> list[DatasetInfo]:
    """Return what is known about every named set of interactions, and where it is found now."""
    return [interaction_info(name, data_home=data_home) for name in INTERACTION_SETS]


def interaction_info(name: str, *, data_home: PathLike | None = None) -> DatasetInfo:
    """Return what is known about one named set of interactions, and where it is found now."""
    return found(_entry(name), data_home)


def load_interactions(
    name: str, *, filtered: bool = True, data_home: PathLike | None = None
) -> Interactions:
    """Load a named set of interactions.

    Parameters
    ----------
    name : str
        "ml100k", the stand-ins "amazon_cds", "amazon_books" and "yelp2018", "gowalla", which
        comes with its own split, or "planted", which is made up and small; upper or lower case.
    filtered : bool, default=True
        Keep what the paper's recipe keeps: ratings of 4 and more where there are ratings, then
        users, then items with enough interactions, in one pass.
    data_home : path-like, optional
        Folder that is searched first; by default the one named by TRUEGRAPH_DATA.

    Returns
    -------
    interactions : Interactions
        `notes` says when the data only stand in for the paper's.

    Examples
    --------
    >>> from truegraph.data import load_interactions
    >>> load_interactions("planted")
    Interactions('planted', 240 users, 180 items, 5728 interactions)
    """
    entry = _entry(name)
    place = locate(entry, data_home)
    if place is None:
        raise DataError(how_to_get(entry))
    source, path = place
    if path is None:
        observed, hidden = planted_interactions()
        ids = (observed.user_ids, observed.item_ids)
        data = Interactions.from_matrix(observed.matrix + hidden, *ids)
    else:
        data = _read(path)
    if filtered and entry.min_rating is not None:
        data = data.with_min_rating(entry.min_rating)
    if filtered:
        data = data.with_min_counts(entry.min_per_user, entry.min_per_item)
    return replace(
        data,
        name=entry.name,
        origin=entry.origin,
        licence=entry.licence,
        source=source,
        notes=data.notes + entry.notes,
    )


def load_own_split(
    name: str,
    *,
    validation_share: float = 0.1,
    random_state: int | None = None,
    data_home: PathLike | None = None,
) -> InteractionSplit:
    """Load the split of a named set of interactions; validation is taken from its training part.

    Parameters
    ----------
    name : str
        "gowalla".
    validation_share : float, default=0.1
        Share of each user's training interactions that becomes validation.
    random_state : int or None
        Decides which.
    data_home : path-like, optional
        As in `load_interactions`.

    Returns
    -------
    split : InteractionSplit
        In the numbering of `load_interactions`.
    """
    entry = _entry(name)
    if not entry.has_split:
        raise DataError(
            f"{name!r} comes without a split of its own; split it at random or by time."
        )
    place = locate(entry, data_home)
    if place is None or place[1] is None:
        raise DataError(how_to_get(entry))
    everything = _read(place[1])
    parts = read_npz(place[1])
    train, test = (
        pair_matrix(
            everything.user_numbers(parts[part][:, 0].tolist()),
            everything.item_numbers(parts[part][:, 1].tolist()),
            (everything.n_users, everything.n_items),
        )
        for part in ("train", "test")
    )
    shares = (1.0 - validation_share, validation_share, 0.0)
    own = Interactions.from_matrix(train)
    split = split_randomly(own, shares, random_state=random_state)
    return InteractionSplit(split.train, split.validation, test)


def _read(path: Path) -> Interactions:
    from truegraph.data.interaction_files import from_interaction_array

    arrays = read_npz(path)
    if "train" in arrays and "test" in arrays:
        both = np.concatenate([arrays["train"], arrays["test"]])
        return from_interaction_array(both, str(path))
    if "interactions" not in arrays:
        raise InputError(
            f"{path}: the array 'interactions' is missing; found {sorted(arrays)}. It holds rows "
            "of user, item and perhaps rating and time."
        )
    return from_interaction_array(arrays["interactions"], str(path))


def _entry(name: str) -> DatasetInfo:
    if name.lower() in INTERACTION_SETS:
        return INTERACTION_SETS[name.lower()]
    raise DataError(
        f"no set of interactions is called {name!r}.{suggestion(name, INTERACTION_SETS)}"
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
) -> tuple[Interactions, csr_array]:
    """Make up interactions of which the truth is known: tastes, likes, and likes that nobody saw.

    Every user and every item has one of a few tastes, dealt out in turn. Users like most items of
    their own taste and a few others, with `liked_share` and `stray_share`, times a factor from 0.6
    to 1.4 of the item; `observed_share` of what they like is observed. The rest are false
    negatives: a learner that takes every unobserved pair for a dislike is wrong about them.

    Returns the observed interactions, and the likes that nobody saw, ones (n_users, n_items). Every
    user and every item keeps at least one observed like.
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
    return observed, csr_array((likes & ~seen).astype(np.float32))
