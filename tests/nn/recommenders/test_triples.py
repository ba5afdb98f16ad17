"""Batches of triples: what is drawn, how often, and from what."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.recommenders.negatives import NegativePool, negative_pool
from truegraph.nn.recommenders.triples import TripleSampler


def sampler(by: str, batch: int, n_users: int = 30, **options: int) -> TripleSampler:
    rng = np.random.default_rng(0)
    likes = rng.random((n_users, 20)) < 0.3
    likes[:, 0] = True
    train = csr_array(likes.astype(np.float32))
    settings = {"negatives": 1, "seed": 5} | options
    return TripleSampler(train, negative_pool(train, "uniform"), batch=batch, by=by, **settings)  # type: ignore[arg-type]


def test_interactions_come_once_each() -> None:
    made = sampler("interactions", 32, negatives=4)
    batches = list(made.epoch(0))
    assert len(batches) == made.n_batches == -(-made.train.nnz // 32)
    assert batches[0].negatives.shape == (32, 4)
    pairs = {(u, i) for b in batches for u, i in zip(b.users, b.positives, strict=True)}
    assert pairs == set(zip(*(part.tolist() for part in made.train.nonzero()), strict=True))


def test_users_are_drawn_without_replacement_while_there_are_enough() -> None:
    made = sampler("users", 25)
    batches = list(made.epoch(0))
    assert len(batches) == made.train.nnz // 25 + 1
    for batch in batches:
        assert len(set(batch.users.tolist())) == 25
    many = next(sampler("users", 64).epoch(0))
    assert len(many.users) == 64


@pytest.mark.parametrize("by", ["users", "interactions"])
def test_positives_are_positives_and_negatives_are_not(by: str) -> None:
    made = sampler(by, 16, negatives=2)
    dense = made.train.toarray()
    for batch in made.epoch(3):
        assert dense[batch.users, batch.positives].all()
        assert not dense[batch.users[:, None], batch.negatives].any()


def test_an_epoch_is_a_function_of_seed_and_number() -> None:
    first, again = sampler("users", 16), sampler("users", 16)
    assert all(
        (a == b).all()
        for one, two in zip(first.epoch(2), again.epoch(2), strict=True)
        for a, b in zip(one, two, strict=True)
    )
    assert (next(first.epoch(2)).users != next(first.epoch(3)).users).any()


def test_users_without_history_or_without_negatives_are_left_out() -> None:
    train = csr_array(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=np.float32))
    for by in ("users", "interactions"):
        made = TripleSampler(train, NegativePool(train), batch=4, negatives=1, by=by, seed=0)  # type: ignore[arg-type]
        for batch in made.epoch(0):
            assert set(batch.users.tolist()) == {2}
    full = csr_array(np.ones((2, 2), dtype=np.float32))
    with pytest.raises(InputError, match="no user has an interaction"):
        TripleSampler(full, NegativePool(full), batch=4, negatives=1, by="users", seed=0)
