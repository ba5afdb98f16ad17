"""What closed forms share, and popularity and item neighbours by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from truegraph import InputError
from truegraph.data import load_interactions, split_randomly
from truegraph.recommend.choosing import Search, choose_options
from truegraph.recommend.ease import EASE
from truegraph.recommend.neighbours import ItemKNN, Popularity

WEIGHTS = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
HISTORY = csr_array(np.array([[1.0, 0.0, 1.0]], dtype=np.float32))
TRAIN = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))


@pytest.mark.parametrize("weights", [WEIGHTS, csr_array(WEIGHTS)], ids=["dense", "sparse"])
def test_scores_are_sums_of_weights(weights: object) -> None:
    model = EASE({}, weights)
    assert model.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]
    direct, through_graph = model.contributions(np.array([0, 2]), 1)
    assert direct.tolist() == [2.0, 0.0]
    assert through_graph.tolist() == [0.0, 0.0]
    assert model.similarity(0).tolist() == [0.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("n_items", "looked_at"),
    [(15_000, 10_000), (30_000, 5_000), (10**6, 1_000)],  # 150 million scores, at least 1,000 users
)
def test_with_many_items_fewer_users_are_looked_at(n_items: int, looked_at: int) -> None:
    users = np.arange(10_500)
    ones = np.ones(len(users), dtype=np.float32)
    taken = csr_array((ones, (users, users)), shape=(len(users), n_items))
    nothing = csr_array(taken.shape, dtype=np.float32)
    search = Search(taken, nothing, seed=3)
    assert search.histories.shape == (looked_at, n_items)
    again = Search(taken, taken, seed=3).histories
    assert len(np.unique(again.indices)) == looked_at  # different users


def test_few_users_are_all_looked_at() -> None:
    everyone = csr_array(eye_array(50, dtype=np.float32))
    assert Search(everyone, everyone).histories.shape == (50, 50)


def test_popularity_counts() -> None:
    made = Popularity.fit({}, TRAIN)
    assert made.scores(TRAIN[[0, 2]]).tolist() == [[2, 3, 1], [2, 3, 1]]
    with pytest.raises(InputError, match="similar items"):
        made.similarity(0)
    with pytest.raises(InputError, match="ignores what a user took"):
        made.contributions(np.array([0]), 1)


def test_item_neighbours_by_hand() -> None:
    made = ItemKNN.fit({"neighbours": 1}, TRAIN)
    # cosines: 0-1 2/sqrt(6), 1-2 1/sqrt(3), 0-2 0; item 1's nearest is 0
    near, far = 2 / np.sqrt(6), 1 / np.sqrt(3)
    table = made.weights.toarray()
    assert table == pytest.approx(np.array([[0, near, 0], [near, 0, far], [0, 0, 0]]))
    assert made.scores(csr_array(np.array([[0.0, 1.0, 0.0]]))).tolist()[0] == pytest.approx(
        [near, 0, far]
    )


def test_the_number_of_neighbours_is_chosen_on_held_out_interactions_if_there_are_any() -> None:
    split = split_randomly(load_interactions("planted"), random_state=0)
    options = ItemKNN.checked(None)
    usual = choose_options(ItemKNN, options, split.train, None, 0)
    assert usual == {"neighbours": 100}
    search = Search(split.validation, split.train)
    chosen = choose_options(ItemKNN, options, split.train, search, 0)
    assert [tried["neighbours"] for _, tried, *_ in search.tried] == [20, 50, 100, 200]
    assert search.known(chosen)[0] == max(recall for *_, recall, _ in search.tried)
    with pytest.raises(InputError, match="neighbours=0"):
        ItemKNN.checked({"neighbours": 0})
