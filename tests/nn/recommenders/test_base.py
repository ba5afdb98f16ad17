"""What the trained recommenders share: first weights, dropout, where new users start."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.nn.recommenders.base import (
    RankingSettings,
    check_choice,
    check_rate,
    drop,
    glorot,
    initial_embeddings,
)
from truegraph.nn.recommenders.registry import find_recommender


def test_first_weights_follow_the_seed_and_stay_within_their_limit() -> None:
    weights = glorot(0, 1, 30, 20)
    assert weights.shape == (30, 20)
    assert weights.abs().max() <= np.sqrt(6.0 / 50)
    assert torch.equal(weights, glorot(0, 1, 30, 20))
    assert not torch.equal(weights, glorot(1, 1, 30, 20))
    embeddings = initial_embeddings(0, 4, 6, 3)
    assert torch.equal(embeddings[:4], glorot(0, 0, 4, 3))
    assert torch.equal(embeddings[4:], glorot(0, 1, 6, 3))


def test_nothing_is_dropped_without_noise() -> None:
    tensor = torch.ones(3, 2)
    assert torch.equal(drop(tensor, None, 0.5, 0), tensor)


def test_a_new_user_starts_from_the_users_of_their_items() -> None:
    train = csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32))
    model = find_recommender("bpr-mf")(RankingSettings(), train)
    users = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], dtype=np.float32)
    weights = {"embeddings": torch.from_numpy(np.vstack([users, np.zeros((3, 2))]))}
    history = csr_array(np.array([[1, 1, 0]], dtype=np.float32))
    # Item 0 has the user (1, 0), item 1 the users (1, 0) and (0, 1), whose mean is (.5, .5).
    assert model.first_vectors(weights, history).numpy() == pytest.approx(np.array([[0.75, 0.25]]))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(InputError, match=r"dropout=1.0 must be at least 0 and below 1"):
        check_rate("dropout", 1.0)
    with pytest.raises(InputError, match="sampling='odd' must be one of users, items"):
        check_choice("sampling", "odd", ["users", "items"])
