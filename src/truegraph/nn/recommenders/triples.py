"""Training triples (user, positive, negatives), an epoch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.recommenders.negatives import NegativePool

Sampling = Literal["users", "interactions"]
IndexArray = NDArray[np.int64]


class Triples(NamedTuple):
    """One batch: users (n,), positives (n,) and negatives (n, count), numbers from 0."""

    users: IndexArray
    positives: IndexArray
    negatives: IndexArray


class TripleSampler:
    """Draws the batches of an epoch from the training interactions and a pool of negatives.

    Parameters
    ----------
    train : csr_array of shape (n_users, n_items)
    pool : NegativePool
    batch : int
        Triples per batch.
    negatives : int
        Negatives per positive.
    by : {"users", "interactions"}
        "users" (NGCF): each batch draws users, without replacement unless there are fewer than
        `batch`, and a positive of each; n_train // batch + 1 batches make an epoch.
        "interactions" (MGCCF): an epoch takes every interaction once, in random order.
    seed : int
        Batches are a function of seed and epoch alone.
    """

    def __init__(
        self,
        train: csr_array,
        pool: NegativePool,
        *,
        batch: int,
        negatives: int,
        by: Sampling,
        seed: int,
    ) -> None:
        counts = np.diff(train.indptr)
        self.train, self.pool, self.seed = train, pool, seed
        self.batch, self.negatives, self.by = batch, negatives, by
        self._counts = counts.astype(np.int64)
        self._active = np.flatnonzero((counts > 0) & (pool.sizes > 0))
        if len(self._active) == 0:
            raise InputError(
                "no user has an interaction and an item without one; give sparser data."
            )
        owners = np.repeat(np.arange(len(counts)), counts)
        is_usable = pool.sizes[owners] > 0
        self._owners = owners[is_usable]
        self._items = train.indices[is_usable].astype(np.int64)

    @property
    def n_batches(self) -> int:
        """Batches of an epoch."""
        if self.by == "users":
            return len(self._items) // self.batch + 1
        return -(-len(self._items) // self.batch)

    def epoch(self, number: int) -> Iterator[Triples]:
        """Yield the batches of an epoch."""
        rng = np.random.default_rng([self.seed, number])
        users, positives = self._by_users(rng) if self.by == "users" else self._shuffled(rng)
        negatives = self.pool.draw(users, self.negatives, rng)
        for start in range(0, len(users), self.batch):
            part = slice(start, start + self.batch)
            yield Triples(users[part], positives[part], negatives[part])

    def _by_users(self, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
        active, batches = self._active, self.n_batches
        if self.batch > len(active):
            users = active[rng.integers(len(active), size=batches * self.batch)]
        else:
            keys = rng.random((batches, len(active)), dtype=np.float32)
            chosen = np.argpartition(keys, self.batch - 1, axis=1)[:, : self.batch]
            users = active[chosen.ravel()]
        place = (rng.random(len(users)) * self._counts[users]).astype(np.int64)
        return users, self.train.indices[self.train.indptr[users] + place].astype(np.int64)

    def _shuffled(self, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
        order = rng.permutation(len(self._items))
        return self._owners[order], self._items[order]
