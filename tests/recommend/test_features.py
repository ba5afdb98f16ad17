"""Items and users without a history: placed by their features, told apart, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Recommender
from truegraph.data import load_interactions
from truegraph.recommend.ease import nearest_items
from truegraph.recommend.features import place, read_features

DATA = load_interactions("planted")
FIXED: dict[str, Any] = {"options": {"penalty": 50.0}, "random_state": 0}


def taste(name: Any) -> int:
    return int(str(name).split()[1]) % 6


def described(ids: list[str], seed: int = 0, sure: float = 0.8) -> pd.DataFrame:
    """A category that mostly tells the taste, and a price that hints at it."""
    rng = np.random.default_rng(seed)
    tastes = np.array([taste(one) for one in ids])
    shown = np.where(rng.random(len(ids)) < sure, tastes, rng.integers(6, size=len(ids)))
    price = 10.0 * tastes + rng.normal(size=len(ids))
    return pd.DataFrame({"item_id": ids, "kind": [f"kind {one}" for one in shown], "price": price})


NEW = [f"item {number}" for number in range(1000, 1024)]
ITEMS = described([*map(str, DATA.item_ids), *NEW])


@pytest.fixture(scope="module")
def recommender() -> Recommender:
    return Recommender("ease", **FIXED).fit(DATA, items=ITEMS)


def test_new_items_are_recommended_to_their_taste_and_marked(recommender: Recommender) -> None:
    users = [f"user {number}" for number in range(60)]
    table = recommender.recommend(users, k=3, only=NEW)
    assert table["new"].all()
    assert table["probability"].isna().all()
    first = table[table["rank"] == 1]
    same = [taste(u) == taste(i) for u, i in zip(first["user"], first["item"], strict=True)]
    assert np.mean(same) > 0.9
    everything = recommender.recommend(users, k=10)
    assert 0 < everything["new"].sum() < len(everything)
    assert not everything.loc[everything["rank"] == 1, "new"].all()
    certificate = recommender.feature_graph_.certificate
    assert certificate.converged
    assert recommender.feature_graph_.n_nodes == len(ITEMS)


def test_scores_of_known_items_stay_as_they_are(recommender: Recommender) -> None:
    without = Recommender("ease", **FIXED).fit(DATA)
    users, items = ["user 3"] * 40, list(DATA.item_ids[:40])
    assert (recommender.score_pairs(users, items) == without.score_pairs(users, items)).all()
    assert "new" not in without.recommend(["user 3"]).columns


def test_items_are_added_later_and_survive_saving(tmp_path: Path) -> None:
    made = Recommender("ease", **FIXED).fit(DATA, items=ITEMS)
    later = described([f"item {number}" for number in range(2000, 2012)], sure=1.0)
    made.add_items(later)
    table = made.recommend(["user 7"], k=2, only=later["item_id"])
    assert [taste(item) for item in table["item"]] == [1, 1]
    assert [taste(item) for item in made.similar_items("item 2001", k=5)["item"]] == [3] * 5
    history = made.recommend_for_history(["item 2001", "item 2007"], k=5)
    assert [taste(item) for item in history["item"]] == [3] * 5
    made.save(tmp_path)
    loaded = Recommender.load(tmp_path)
    assert loaded.recommend(["user 7"], k=50).equals(made.recommend(["user 7"], k=50))
    assert loaded.add_items(described(["item 3000"])).recommend(["user 1"], k=3)["rank"].size == 3
    with pytest.raises(InputError, match="scores come from features"):
        made.explain("user 7", "item 2001")


def test_new_users_get_the_items_of_users_like_them() -> None:
    users = pd.DataFrame({"taste": [f"t{taste(one)}" for one in DATA.user_ids]})
    users.index = pd.Index(DATA.user_ids)
    more = pd.DataFrame({"taste": ["t2", "t5"]}, index=["ann", "bob"])
    made = Recommender("ease", **FIXED).fit(DATA, users=pd.concat([users, more]))
    table = made.recommend(["ann", "bob"], k=4)
    assert [taste(item) for item in table["item"]] == [2] * 4 + [5] * 4
    assert not table["popular"].any()
    made.add_users(pd.DataFrame({"taste": ["t3"]}, index=["eve"]))
    assert [taste(item) for item in made.recommend(["eve"], k=4)["item"]] == [3] * 4
    with pytest.raises(InputError, match="no features of items"):
        made.add_items(ITEMS)


def test_sparse_tags_go_by_the_numbers_of_the_items() -> None:
    tags = np.zeros((30, 3))
    tags[np.arange(30), np.arange(30) % 3] = 1.0
    tags[29] = 0.0
    users, items = np.nonzero(np.arange(40)[:, None] % 3 == np.arange(24) % 3)
    kept = np.random.default_rng(0).random(len(users)) < 0.7
    users, items = users[kept], items[kept]
    made = Recommender("ease", **FIXED).fit((users, items), items=csr_array(tags))
    table = made.recommend([0, 1, 2], k=1, only=range(24, 29))
    assert (table["item"] % 3 == table["user"] % 3).all()
    # nothing is known of the last item: it comes last
    assert made.recommend([0], k=30, exclude_seen=False)["item"].tolist()[-1] == 29


def test_features_join_the_interactions_in_the_item_graph() -> None:
    features, new = read_features(ITEMS, DATA.item_ids, "items")
    assert new == tuple(NEW)
    assert features is not None
    of_model = features.first(DATA.n_items)
    plain, _ = nearest_items(DATA.matrix, 10)
    joined, similarity = nearest_items(DATA.matrix, 10, features=of_model, weight=0.5)
    items, whole = nearest_items(DATA.matrix, 179)
    values = np.zeros((180, 180), dtype=np.float32)
    row, column = np.nonzero(items >= 0)
    values[row, items[row, column]] = whole[row, column]
    both = 0.5 * values + 0.5 * of_model.similarity(np.arange(180))
    np.fill_diagonal(both, -1.0)
    assert similarity == pytest.approx(
        -np.sort(-both, axis=1)[:, :10], abs=1e-3
    )  # K may be below zero
    assert (joined != plain).any()


def test_places_are_weighted_means_over_those_with_a_history() -> None:
    features, _ = read_features(ITEMS, DATA.item_ids, "items")
    has_history = np.arange(len(ITEMS)) < DATA.n_items
    weights, _ = place(features, has_history)
    rows = np.asarray(weights.sum(axis=1)).ravel()
    assert rows == pytest.approx(np.where(has_history, 0.0, 1.0), abs=1e-5)
    assert weights[:, 180:].nnz == 0


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (ITEMS[["kind", "price"]], "no column of items holds the ids"),
        (ITEMS[["item_id"]], "no column beside the ids"),
        (pd.concat([ITEMS, ITEMS[:1]]), "in two rows"),
        (np.ones((7, 2)), "7 rows for 180 ids"),
        (np.full((180, 2), np.nan), "NaN"),
    ],
)
def test_hostile_tables_are_refused(items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recommender("ease", **FIXED).fit(DATA, items=items)
