"""Recall on held-out interactions: by hand, ties, and against the ranked lists."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.nn.recommenders.validation_recall import HeldOutRecall
from truegraph.nn.top_items import rank_items


def test_by_hand() -> None:
    # one user at (1,): scores are the items' values
    vectors = torch.tensor([[1.0], [5.0], [4.0], [3.0], [2.0]])
    train = csr_array(np.array([[1, 0, 0, 0]]))
    held = csr_array(np.array([[0, 0, 1, 1]]))
    assert HeldOutRecall(train, held, k=1)(vectors, 1) == 0.0
    assert HeldOutRecall(train, held, k=2)(vectors, 1) == 0.5
    assert HeldOutRecall(train, held, k=3)(vectors, 1) == 1.0


def test_of_equal_scores_the_lower_number_is_first() -> None:
    vectors = torch.ones((4, 1))
    nothing = csr_array((1, 3))
    for item, expected in enumerate([1.0, 0.0, 0.0]):
        held = csr_array((np.ones(1), ([0], [item])), shape=(1, 3))
        assert HeldOutRecall(nothing, held, k=1)(vectors, 1) == expected


def test_it_is_the_recall_of_the_ranked_lists() -> None:
    rng = np.random.default_rng(0)
    vectors = torch.from_numpy(rng.normal(size=(700 + 60, 8)).astype(np.float32))
    train = csr_array((rng.random((700, 60)) < 0.2).astype(np.float32))
    held = (rng.random((700, 60)) < 0.1) & (train.toarray() == 0)
    held[:50] = False  # users without held-out items are left out
    table = (vectors[:700] @ vectors[700:].T).numpy()
    lists, _ = rank_items(lambda users: table[users], np.arange(700), train, 20)
    users = np.flatnonzero(held.any(axis=1))
    shares = [held[u, lists[u]].sum() / held[u].sum() for u in users]
    recall = HeldOutRecall(train, csr_array(held.astype(np.float32)))(vectors, 700)
    assert recall == pytest.approx(np.mean(shares), abs=1e-12)
