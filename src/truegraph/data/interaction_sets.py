"""Named sets of interactions: what there is, and loading it with the paper's filters.

The files lie where those of the other data sets do, see `truegraph.data.datasets`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from truegraph.data.datasets import found, how_to_get, locate
from truegraph.data.interaction_splits import InteractionSplit, split_randomly
from truegraph.data.interactions import Interactions, pair_matrix
from truegraph.data.planted_interactions import planted_interactions
from truegraph.data.registry import INTERACTION_SETS, InteractionInfo
from truegraph.data.storage import PathLike, read_npz
from truegraph.errors import DataError, InputError
from truegraph.suggestions import suggestion


def list_interaction_sets(*, data_home: PathLike | None = None) -> list[InteractionInfo]:
    """Return what is known about every named set of interactions, and where it is found now."""
    return [interaction_info(name, data_home=data_home) for name in INTERACTION_SETS]


def interaction_info(name: str, *, data_home: PathLike | None = None) -> InteractionInfo:
    """Return what is known about one named set of interactions, and where it is found now.

    Raises
    ------
    DataError
        If there is no such set.
    """
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

    Raises
    ------
    DataError
        If there is no such set, or it is not on this machine.

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
    data = planted_interactions().everything if path is None else _read(path)
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

    Raises
    ------
    DataError
        If the set comes without a split, or is not on this machine.
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


def _entry(name: str) -> InteractionInfo:
    if name.lower() in INTERACTION_SETS:
        return INTERACTION_SETS[name.lower()]
    raise DataError(
        f"no set of interactions is called {name!r}.{suggestion(name, INTERACTION_SETS)}"
    )
