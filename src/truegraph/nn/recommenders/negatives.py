"""Negative items drawn from a pool: all items but those a user must not be trained against.

A pool excludes each user's training items and, in the Bayesian models, the pairs that the learned
graph takes for positives. What is drawn is exact: no draw is ever rejected, no excluded pair is
ever returned, and every allowed item comes up with its own probability. With C(j) the weight of
the items before j, and x_1 < x_2 < ... the user's excluded items, the weight allowed before x_k is
C(x_k) minus that of x_1 .. x_{k-1}; a binary search over these finds how many excluded items lie
before the drawn place, a second one over C finds the item. Weights are whole numbers, so nothing
is rounded.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError

_LARGEST_WEIGHT = 2**20
_POPULARITY_POWER = 0.75  # the usual one since word2vec


class NegativePool:
    """Items that may be drawn as negatives, user by user.

    Parameters
    ----------
    excluded : csr_array of shape (n_users, n_items)
        Pairs that are never drawn: the stored entries, whatever their values.
    popularity : ndarray of shape (n_items,), optional
        Draw an item in proportion to this to the power 0.75, but never with probability zero;
        by default all are equally likely.

    Attributes
    ----------
    shape : tuple (n_users, n_items)
    sizes : ndarray of int64, shape (n_users,)
        Number of items in each user's pool.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> pool = NegativePool(csr_array(np.array([[1, 1, 0, 0]])))
    >>> sorted(set(pool.draw(np.zeros(50, dtype=int), 1, np.random.default_rng(0)).ravel()))
    [np.int64(2), np.int64(3)]
    """

    def __init__(self, excluded: csr_array, popularity: NDArray[np.floating] | None = None) -> None:
        pairs = csr_array(excluded, copy=True)
        pairs.sum_duplicates()
        self.shape = (int(pairs.shape[0]), int(pairs.shape[1]))
        self.sizes = self.shape[1] - np.diff(pairs.indptr).astype(np.int64)
        self._popularity = popularity
        self._indptr = pairs.indptr.astype(np.int64)
        self._excluded = pairs.indices.astype(np.int32)
        weights = _whole_weights(popularity, self.shape[1])
        self._before = np.concatenate([[0], np.cumsum(weights)]).astype(np.int64)
        # Memory is what a draw waits for, so it is kept small.
        smallest = np.int32 if self._before[-1] < 2**31 else np.int64
        self._allowed = np.empty(len(self._excluded), dtype=smallest)
        self._totals = np.empty(self.shape[0], dtype=np.int64)
        _allowed_before(weights, self._layout)

    @property
    def _layout(self) -> tuple[NDArray[Any], ...]:
        return self._indptr, self._excluded, self._before, self._allowed, self._totals

    @property
    def excluded(self) -> csr_array:
        """Ones at the excluded pairs."""
        ones = np.ones(len(self._excluded), dtype=np.float32)
        return csr_array((ones, self._excluded, self._indptr), shape=self.shape)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the excluded pairs and of the weights of the items."""
        digest = hashlib.sha256(self._indptr.data)
        digest.update(self._excluded.data)
        digest.update(self._before.data)
        return digest.hexdigest()

    def without(self, pairs: csr_array) -> NegativePool:
        """Return the pool that excludes these pairs as well."""
        if pairs.shape != self.shape:
            raise InputError(f"pairs has shape {pairs.shape}; the pool has {self.shape}.")
        return NegativePool(csr_array(self.excluded + abs(pairs)), self._popularity)

    def draw(
        self, users: NDArray[np.integer], count: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw negatives for users.

        Parameters
        ----------
        users : ndarray of int, shape (n,)
            Users with a pool that is not empty; a user may occur many times.
        count : int
            Negatives for each entry of `users`, drawn with replacement.
        rng : Generator

        Returns
        -------
        items : ndarray of int64, shape (n, count)
        """
        users = np.asarray(users, dtype=np.int64)
        if users.size and self._totals[users].min() == 0:
            user = int(users[self._totals[users].argmin()])
            raise InputError(
                f"user {user} has interacted with every item: there is no negative to draw; "
                "leave such users out of training."
            )
        items = np.empty((len(users), count), dtype=np.int64)
        places = rng.random((len(users), count))
        _draw(users, places, self._layout, items)
        return items


def negative_pool(train: csr_array, kind: Literal["uniform", "popularity"]) -> NegativePool:
    """Return the pool of all items but a user's training items."""
    if kind not in ("uniform", "popularity"):
        raise InputError(f'negatives={kind!r} must be "uniform" or "popularity".')
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float64)
    return NegativePool(train, None if kind == "uniform" else counts)


def _whole_weights(popularity: NDArray[np.floating] | None, n_items: int) -> NDArray[np.int64]:
    if popularity is None:
        return np.ones(n_items, dtype=np.int64)
    values = np.asarray(popularity, dtype=np.float64)
    if values.shape != (n_items,) or not np.isfinite(values).all() or values.min() < 0:
        raise InputError(f"popularity must be {n_items} finite numbers >= 0.")
    powers = values**_POPULARITY_POWER
    largest = powers.max(initial=0.0)
    if largest == 0.0:
        return np.ones(n_items, dtype=np.int64)
    return np.maximum(1, np.round(powers / largest * _LARGEST_WEIGHT)).astype(np.int64)


@numba.njit(cache=True, nogil=True)
def _allowed_before(weights: np.ndarray, pool: Any) -> None:
    indptr, excluded, before, allowed, totals = pool
    for user in range(totals.size):
        gone = 0
        for k in range(indptr[user], indptr[user + 1]):
            allowed[k] = before[excluded[k]] - gone
            gone += weights[excluded[k]]
        totals[user] = before[-1] - gone


@numba.njit(cache=True, nogil=True)
def _draw(users: np.ndarray, places: np.ndarray, pool: Any, items: np.ndarray) -> None:
    indptr, excluded, before, allowed, totals = pool
    is_uniform = before[-1] == before.size - 1
    for row in range(users.size):
        start, stop = indptr[users[row]], indptr[users[row] + 1]
        total = totals[users[row]]
        for column in range(items.shape[1]):
            # the product may round up to the total itself
            place = min(np.int64(places[row, column] * total), total - 1)
            # How many excluded items lie at or before the place: a binary search without
            # branches, for no processor could predict them.
            low, rest = start, stop - start
            while rest > 1:
                half = rest >> 1
                low += half * (allowed[low + half - 1] <= place)
                rest -= half
            if rest == 1:
                low += allowed[low] <= place
            if is_uniform:
                items[row, column] = place + low - start
                continue
            if low > start:  # the weight of the excluded items before
                last = low - 1
                place += before[excluded[last] + 1] - allowed[last]
            items[row, column] = np.searchsorted(before, place, side="right") - 1
