"""How the networks of recommendation are trained: triples, negatives, early stopping.

A training goes on where another one stopped::

    network, history = train_base("lightgcn", train, held_out, seed=0)
    with one_thread():
        history = train_ranking(network, held_out, NegativePool(train, removed), seed=[0, 1])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.paper.networks import network_class
from truegraph.paper.networks.ranking import RankingNetwork, Triples
from truegraph.paper.step import Adam, TrainingError, one_thread, stream
from truegraph.progress import Progress

LEARNING_RATES = (1e-3, 1e-2)  # that are tried; the first where there is nothing to try them on
_WEIGHTS, _BASE = 0, 1  # streams of a seed
_BLOCK = 512  # users, fixed, since the bits of a product may depend on its size

History = dict[str, Any]
Numbers = NDArray[np.int64]


class NegativePool:
    """Items that may be drawn as negatives: all but the pairs that matrices (U, I) store.

    Of n items a user's pool leaves out x_1 < x_2 < ...; the item at place p of the pool is p plus
    the number of k with x_k - k < p. So every draw is exact, and none is rejected.
    """

    def __init__(self, *excluded: csr_array) -> None:
        n_users, self.n_items = (int(size) for size in excluded[0].shape)
        parts = [matrix.tocoo() for matrix in excluded]
        pairs = [part.row * np.int64(self.n_items) + part.col for part in parts]
        owners, items = np.divmod(np.unique(np.concatenate(pairs)), self.n_items)
        counts = np.bincount(owners, minlength=n_users)
        self.sizes, self._starts = self.n_items - counts, np.cumsum(counts) - counts
        before = items - (np.arange(len(owners)) - self._starts[owners])
        self._keys = owners * (self.n_items + 1) + before  # ascending

    def draw(self, users: Numbers, count: int, rng: np.random.Generator) -> Numbers:
        """Draw items (n, count) with replacement for users (n,) whose pools are not empty."""
        sizes = self.sizes[users][:, None]
        places = np.minimum((rng.random((len(users), count)) * sizes).astype(np.int64), sizes - 1)
        wanted = (users * (self.n_items + 1))[:, None] + places
        before = np.searchsorted(self._keys, wanted, side="right") - self._starts[users, None]
        return places + before


class HeldOutRecall:
    """Recall@20 over the users with held-out interactions (U, I), of all items not observed."""

    def __init__(self, observed: csr_array, held_out: csr_array, device: str = "cpu") -> None:
        self._n_users, self._k = int(observed.shape[0]), min(20, int(observed.shape[1]))
        users = np.flatnonzero(np.diff(held_out.indptr))
        blocks = [users[start : start + _BLOCK] for start in range(0, len(users), _BLOCK)]
        self._blocks: list[Any] = []
        for block in blocks:
            entries = (_stored(matrix[block], device) for matrix in (observed, held_out))
            self._blocks.append((torch.from_numpy(block).to(device), *entries))

    @torch.no_grad()
    def __call__(self, vectors: torch.Tensor) -> float:
        """Return the recall of vectors (U + I, d)."""
        items = vectors[self._n_users :].T
        shares = []
        for users, seen, held in self._blocks:
            scores = vectors[users] @ items
            scores[seen] = -torch.inf
            hits = scores[held] >= scores.topk(self._k).values[:, -1][held[0]]
            count = torch.bincount(held[0], minlength=len(users))
            shares.append(torch.bincount(held[0], hits.double(), len(users)) / count)
        return float(torch.cat(shares).mean())


def _stored(matrix: csr_array, device: str) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(e.astype(np.int64)).to(device) for e in matrix.nonzero())


def train_base(
    name: str,
    train: csr_array,
    held_out: csr_array | None,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[RankingNetwork, History]:
    """Return a network trained on interactions (U, I), and its history (`train_ranking`).

    Without a learning rate in the options, 0.001 and 0.01 are tried, and the better on the held-out
    interactions (U, I) stays; without held-out interactions it is 0.001.
    """
    given = dict(options or {})
    rates = LEARNING_RATES if given.get("learning_rate") is None else (given["learning_rate"],)
    found, pool = [], NegativePool(train)
    with one_thread():
        for rate in rates if held_out is not None else rates[:1]:
            own = given | {"learning_rate": rate}
            network = network_class(name)(train, own, stream(seed, _WEIGHTS), device)
            how: dict[str, Any] = {"seed": [seed, _BASE], "progress": progress}
            found.append((network, train_ranking(network, held_out, pool, **how)))
    return max(found, key=lambda one: one[1]["best_recall"])


def train_ranking(
    network: RankingNetwork,
    held_out: csr_array | None,
    pool: NegativePool,
    *,
    seed: list[int],
    patience: int | None = None,
    may_keep_start: bool = False,
    progress: Progress | None = None,
) -> History:
    """Train a network in place until recall@20 has not risen for `patience` epochs.

    It ends with the weights of its best epoch, which with `may_keep_start` may be those it came
    with; without held-out interactions (U, I), with those of its last epoch. Returns the arrays
    ``losses`` and ``recalls``, ``best_epoch`` from 0, -1 for the start, and ``best_recall``. Call
    it in a block of `one_thread`.
    """
    options, place = network.options, network.place
    patience = options.patience if patience is None else patience
    noise = stream(seed[0], 2 + seed[1], place)
    adam = Adam(dict(network.named_parameters()), options.learning_rate)
    recall = None if held_out is None else HeldOutRecall(network.observed, held_out, place)

    @torch.no_grad()
    def look() -> float:
        return np.nan if recall is None else recall(network())

    losses, recalls = [], []
    best, kept = -1, deepcopy(network.state_dict())
    best_recall = look() if may_keep_start else -np.inf
    for epoch in range(options.epochs):
        steps = []
        for batch in batches(network, pool, np.random.default_rng([*seed, epoch])):
            loss = network.loss(batch, noise)
            steps.append(loss.detach())
            adam.step(loss)
        losses.append(_finite_mean(steps, network))
        recalls.append(look())
        if recalls[-1] > best_recall:
            best, best_recall, kept = epoch, recalls[-1], deepcopy(network.state_dict())
        if progress is not None:
            progress.update(epoch + 1, options.epochs, f"recall {recalls[-1]:.4f}")
        if recall is not None and epoch - best >= patience:
            break
    if recall is None:
        best, best_recall = options.epochs - 1, np.nan
    else:
        network.load_state_dict(kept)
    return {
        "losses": np.array(losses),
        "recalls": np.array(recalls),
        "best_epoch": best,
        "best_recall": float(best_recall),
    }


def _finite_mean(steps: list[torch.Tensor], network: RankingNetwork) -> float:
    mean = float(torch.stack(steps).double().mean())
    if not np.isfinite(mean):
        raise TrainingError(
            f"the loss of {network.name} is {mean}; lower learning_rate="
            f"{network.options.learning_rate:g} in options."
        )
    return mean


def batches(
    network: RankingNetwork, pool: NegativePool, rng: np.random.Generator
) -> Iterator[Triples]:
    """Yield the batches of an epoch.

    From users: each batch draws users, without replacement unless there are fewer than a batch,
    and a positive of each; as many batches as interactions fill, and one more. From interactions:
    every one once, in random order.
    """
    observed, size = network.observed, network.options.batch
    counts = np.diff(observed.indptr).astype(np.int64)
    usable = np.repeat(pool.sizes > 0, counts)  # who took everything has no negative
    active = np.flatnonzero((counts > 0) & (pool.sizes > 0))
    if len(active) == 0:
        raise InputError("no user has an interaction and an item without one; give sparser data.")
    if network.draws == "users":
        users = _drawn_users(active, np.count_nonzero(usable) // size + 1, size, rng)
        place = (rng.random(len(users)) * counts[users]).astype(np.int64)
        positives = observed.indices[observed.indptr[users] + place].astype(np.int64)
    else:
        order = rng.permutation(np.flatnonzero(usable))
        users = np.repeat(np.arange(len(counts)), counts)[order]
        positives = observed.indices[order].astype(np.int64)
    negatives = pool.draw(users, network.options.negatives, rng)
    for start in range(0, len(users), size):
        parts = (part[start : start + size] for part in (users, positives, negatives))
        yield Triples(*(torch.from_numpy(part).to(network.place) for part in parts))


def _drawn_users(active: Numbers, batches: int, size: int, rng: np.random.Generator) -> Numbers:
    if size > len(active):
        return active[rng.integers(len(active), size=batches * size)]
    keys = rng.random((batches, len(active)), dtype=np.float32)
    return active[np.argpartition(keys, size - 1, axis=1)[:, :size].ravel()]
