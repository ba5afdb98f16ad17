"""Leak-free splits of each user's interactions into training, validation and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.interactions import IndexArray, Interactions, pair_matrix
from truegraph.errors import InputError

PAPER_RATIOS = (0.7, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class InteractionSplit:
    """Three disjoint sets of interactions of the same users and items.

    Attributes
    ----------
    train, validation, test : csr_array of float32, shape (n_users, n_items)
        Ones at the interactions, indices sorted.
    """

    train: csr_array
    validation: csr_array
    test: csr_array


def split_randomly(
    interactions: Interactions,
    ratios: Sequence[float] = PAPER_RATIOS,
    *,
    random_state: int | np.random.Generator | None = None,
) -> InteractionSplit:
    """Split the interactions of each user at random.

    Of n interactions ceil(0.2 n) become test, then ceil(0.125 (n - test)) validation, the rest
    training, for the default ratios; training always gets at least one.

    Parameters
    ----------
    interactions : Interactions
    ratios : three floats that sum to 1, default=(0.7, 0.1, 0.2)
        Shares of training, validation and test.
    random_state : int, Generator or None
        The same seed gives the same split.

    Returns
    -------
    split : InteractionSplit

    Examples
    --------
    >>> from truegraph.data import Interactions, split_randomly
    >>> data = Interactions.from_arrays(["ann"] * 10, range(10))
    >>> split = split_randomly(data, random_state=0)
    >>> split.train.nnz, split.validation.nnz, split.test.nnz
    (7, 1, 2)
    """
    rng = np.random.default_rng(random_state)
    return _split(interactions, rng.random(len(interactions)), ratios)


def split_by_time(
    interactions: Interactions, ratios: Sequence[float] = PAPER_RATIOS
) -> InteractionSplit:
    """Split the interactions of each user by time: the latest are test, those before validation.

    Sizes as in `split_randomly`. Of interactions at the same time those with higher item numbers
    count as later.

    Parameters
    ----------
    interactions : Interactions
        With times.
    ratios : three floats that sum to 1, default=(0.7, 0.1, 0.2)
    """
    if interactions.times is None:
        raise InputError(
            f"{interactions.name!r} has no times to split by; name the column with the times, or "
            "split at random."
        )
    order = np.lexsort((interactions.items, interactions.times))
    age = np.empty(len(order))
    age[order[::-1]] = np.arange(len(order))
    return _split(interactions, age, ratios)


def _split(
    interactions: Interactions, key: NDArray[np.float64], ratios: Sequence[float]
) -> InteractionSplit:
    """Give the interactions with the lowest keys of each user to test, the next to validation."""
    users = interactions.users
    counts = np.bincount(users, minlength=interactions.n_users)
    test, validation = _sizes(counts, ratios)
    order = np.lexsort((key, users))
    starts = np.cumsum(counts) - counts
    place = np.empty(len(users), dtype=np.int64)
    place[order] = np.arange(len(users)) - np.repeat(starts, counts)
    is_test = place < test[users]
    is_train = place >= (test + validation)[users]
    return InteractionSplit(
        train=_chosen(interactions, is_train),
        validation=_chosen(interactions, ~is_test & ~is_train),
        test=_chosen(interactions, is_test),
    )


def _sizes(counts: IndexArray, ratios: Sequence[float]) -> tuple[IndexArray, IndexArray]:
    """Return how many of each user's interactions become test and validation."""
    if len(ratios) != 3 or min(ratios) < 0 or abs(sum(ratios) - 1) > 1e-9 or ratios[0] == 0:
        raise InputError(
            f"ratios={tuple(ratios)} must be three shares that sum to 1: training (above 0), "
            "validation and test."
        )
    # As fractions of whole numbers: 0.1 / 0.8 is not 1/8 in floating point.
    _, validation_share, test_share = (Fraction(str(float(ratio))) for ratio in ratios)
    test = np.minimum(_rounded_up(counts, test_share), np.maximum(counts - 1, 0))
    rest = counts - test
    share = validation_share / (1 - test_share)
    return test, np.minimum(_rounded_up(rest, share), np.maximum(rest - 1, 0))


def _rounded_up(counts: IndexArray, share: Fraction) -> IndexArray:
    return -(-counts * share.numerator // share.denominator)


def _chosen(interactions: Interactions, chosen: NDArray[np.bool_]) -> csr_array:
    shape = (interactions.n_users, interactions.n_items)
    return pair_matrix(interactions.users[chosen], interactions.items[chosen], shape)
