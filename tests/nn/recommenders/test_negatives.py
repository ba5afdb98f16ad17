"""Negatives: exact, seeded, in proportion, and much faster than a loop."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.recommenders.negatives import NegativePool, negative_pool


def random_pairs(n_users: int, n_items: int, share: float, seed: int = 0) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array((rng.random((n_users, n_items)) < share).astype(np.float32))


def is_stored(pairs: csr_array, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    return pairs.toarray()[users, items] != 0


@pytest.mark.parametrize("kind", ["uniform", "popularity"])
def test_never_a_training_item_never_a_removed_pair(kind: str) -> None:
    train, removed = random_pairs(60, 80, 0.4), random_pairs(60, 80, 0.4, seed=1)
    pool = negative_pool(train, kind).without(removed)  # type: ignore[arg-type]
    users = np.repeat(np.flatnonzero(pool.sizes), 500)
    items = pool.draw(users, 3, np.random.default_rng(2))
    everyone = np.repeat(users, 3)
    assert not is_stored(train, everyone, items.ravel()).any()
    assert not is_stored(removed, everyone, items.ravel()).any()
    assert items.min() >= 0
    assert items.max() < 80


def test_every_item_of_the_pool_is_as_likely() -> None:
    train = csr_array(np.array([[1, 0, 1, 0, 0, 1, 0]]))
    pool = NegativePool(train)
    assert pool.sizes.tolist() == [4]
    drawn = pool.draw(np.zeros(40_000, dtype=int), 1, np.random.default_rng(0))
    counts = np.bincount(drawn.ravel(), minlength=7)
    assert counts[[0, 2, 5]].tolist() == [0, 0, 0]
    assert np.abs(counts[[1, 3, 4, 6]] - 10_000).max() < 400  # standard deviation 87


def test_popular_items_come_up_in_proportion() -> None:
    train = csr_array(np.array([[0, 1, 0, 0, 0]]))
    popularity = np.array([1.0, 50.0, 16.0, 0.0, 81.0])
    drawn = NegativePool(train, popularity).draw(
        np.zeros(100_000, dtype=int), 1, np.random.default_rng(0)
    )
    counts = np.bincount(drawn.ravel(), minlength=5)
    wanted = np.array([1.0, 0.0, 8.0, 0.0, 27.0]) / 36.0  # to the power 0.75
    assert counts[1] == 0
    assert np.abs(counts / 100_000 - wanted).max() < 0.006


def test_first_and_last_items_can_be_excluded_and_drawn() -> None:
    for excluded in ([0, 1], [3, 4], [0, 4], [1, 2, 3], []):
        row = np.zeros((1, 5))
        row[0, excluded] = 1
        pool = NegativePool(csr_array(row))
        drawn = pool.draw(np.zeros(500, dtype=int), 1, np.random.default_rng(1))
        assert set(drawn.ravel().tolist()) == set(range(5)) - set(excluded)


def test_stored_zeros_are_excluded_too() -> None:
    pairs = csr_array((np.zeros(1), (np.array([0]), np.array([1]))), shape=(1, 3))
    drawn = NegativePool(pairs).draw(np.zeros(100, dtype=int), 1, np.random.default_rng(0))
    assert set(drawn.ravel().tolist()) == {0, 2}


def test_the_seed_decides() -> None:
    pool = negative_pool(random_pairs(20, 30, 0.3), "uniform")
    users = np.arange(20)
    first, again, other = (pool.draw(users, 5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


def test_an_empty_pool_is_an_error() -> None:
    pool = NegativePool(csr_array(np.array([[1, 1], [0, 1]])))
    with pytest.raises(InputError, match="user 0 has interacted with every item"):
        pool.draw(np.array([1, 0]), 1, np.random.default_rng(0))


def test_removing_nothing_changes_nothing() -> None:
    train = random_pairs(20, 30, 0.3)
    pool = negative_pool(train, "uniform")
    same = pool.without(csr_array(train.shape))
    draws = [p.draw(np.arange(20), 50, np.random.default_rng(9)) for p in (pool, same)]
    assert (draws[0] == draws[1]).all()


def test_wrong_arguments() -> None:
    pool = negative_pool(random_pairs(4, 5, 0.3), "uniform")
    with pytest.raises(InputError, match="shape"):
        pool.without(csr_array((5, 4)))
    with pytest.raises(InputError, match="negatives='dns'"):
        negative_pool(random_pairs(4, 5, 0.3), "dns")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="popularity"):
        NegativePool(random_pairs(4, 5, 0.3), np.array([1.0]))


def test_much_faster_than_a_loop() -> None:
    train = random_pairs(300, 500, 0.1)
    liked = [set(train[[user]].indices.tolist()) for user in range(300)]
    users = np.random.default_rng(0).integers(300, size=20_000)
    pool = negative_pool(train, "uniform")
    pool.draw(users[:10], 1, np.random.default_rng(0))

    def loop() -> None:
        rng = np.random.default_rng(0)
        for user in users:
            while int(rng.integers(500)) in liked[user]:
                pass

    def seconds(work) -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    ours = min(seconds(lambda: pool.draw(users, 1, np.random.default_rng(0))) for _ in range(5))
    assert seconds(loop) > 20 * ours
