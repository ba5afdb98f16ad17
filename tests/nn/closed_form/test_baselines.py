"""Popularity and item neighbours, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.nn.closed_form.baselines import (
    ItemKNN,
    ItemKNNSettings,
    Popularity,
    PopularitySettings,
)

TRAIN = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))


def test_popularity_counts() -> None:
    made = Popularity.fit(PopularitySettings(), TRAIN)
    assert made.scores(TRAIN[[0, 2]]).tolist() == [[2, 3, 1], [2, 3, 1]]
    with pytest.raises(InputError, match="similar items"):
        made.similarity(0)
    with pytest.raises(InputError, match="ignores what a user took"):
        made.contributions(np.array([0]), 1)


def test_item_neighbours_by_hand() -> None:
    made = ItemKNN.fit(ItemKNNSettings(neighbours=1), TRAIN)
    # cosines: 0-1 2/sqrt(6), 1-2 1/sqrt(3), 0-2 0; item 1's nearest is 0
    near, far = 2 / np.sqrt(6), 1 / np.sqrt(3)
    table = made.weights.toarray()
    assert table == pytest.approx(np.array([[0, near, 0], [near, 0, far], [0, 0, 0]]))
    assert made.scores(csr_array(np.array([[0.0, 1.0, 0.0]]))).tolist()[0] == pytest.approx(
        [near, 0, far]
    )


def test_the_number_of_neighbours_is_chosen_on_validation_if_there_is_any() -> None:
    split = split_randomly(load_interactions("planted"), random_state=0)
    usual = ItemKNN.choose(ItemKNNSettings(), split.train, None)
    assert usual.settings.neighbours == 100
    assert usual.tried == ()
    chosen = ItemKNN.choose(ItemKNNSettings(), split.train, split.validation)
    assert [settings.neighbours for settings, *_ in chosen.tried] == [20, 50, 100, 200]
    assert chosen.recall == max(recall for _, recall, _ in chosen.tried)
    with pytest.raises(InputError, match="neighbours=0"):
        ItemKNNSettings(0)
