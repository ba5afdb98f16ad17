"""Interactions: ids of any kind, repeated pairs, filters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph import Interactions
from truegraph.data.interactions import as_interactions
from truegraph.errors import InputError


def test_ids_are_numbered_in_order_whatever_the_order_of_the_rows() -> None:
    users, items = ["bob", "ann", "bob", "cid"], [3, 1, 1, 2]
    data = Interactions.from_arrays(users, items)
    assert data.user_ids == ("ann", "bob", "cid")
    assert data.item_ids == (1, 2, 3)
    assert data.users.tolist() == [0, 1, 1, 2]
    assert data.items.tolist() == [0, 0, 2, 1]
    turned = Interactions.from_arrays(users[::-1], items[::-1])
    assert turned.fingerprint == data.fingerprint


def test_ids_of_any_kind_are_found_again() -> None:
    data = Interactions.from_arrays([("a", 1), "b", 7], [1, 1, 1])
    assert data.user_ids == (("a", 1), "b", 7)
    assert data.user_numbers([7, ("a", 1)]).tolist() == [2, 0]
    data = Interactions.from_arrays(np.array([10, 20]), np.array(["x", "y"]))
    assert data.user_ids == (10, 20)
    assert data.user_numbers(np.array([20, 10])).tolist() == [1, 0]
    assert data.item_numbers(["y"]).tolist() == [1]


def test_unknown_ids() -> None:
    data = Interactions.from_arrays(["1", "2"], [1, 2])
    with pytest.raises(InputError, match=r"user 3 is not known. There are 2, for example '1'"):
        data.user_numbers(["1", 3])
    with pytest.raises(InputError, match=r"user 1 is not known. Did you mean '1', of type str"):
        data.user_numbers([1])
    with pytest.raises(InputError, match=r"write \['1'\]"):
        data.user_numbers("1")
    assert data.item_numbers([2, 9, 1], missing=-1).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (["a", None], "entry 1 is None, a missing id"),
        (["a", ""], "entry 1 is '', a missing id"),
        (np.array([2.0, np.nan]), "entry 1 is nan, a missing id"),
        (np.array([[1, 2]]), r"shape \(1, 2\)"),
        ([["a"], ["b"]], "hashable"),
        (["a"], "items has 2 entries and users has 1"),
    ],
)
def test_ids_that_are_none_are_refused_with_their_place(users: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Interactions.from_arrays(users, [1, 2])
    with pytest.raises(InputError, match=r"ratings"):
        Interactions.from_arrays(["a"], [1], ratings=[np.nan])


def test_of_a_repeated_pair_the_latest_stays() -> None:
    data = Interactions.from_arrays([1, 1, 1], [5, 5, 5], ratings=[3, 4, 1], times=[20, 30, 10])
    assert data.ratings is not None
    assert data.ratings.tolist() == [4]
    assert data.notes == ("2 interactions listed more than once and merged",)
    without_times = Interactions.from_arrays([1, 1], [5, 5], ratings=[3, 4])
    assert without_times.ratings is not None
    assert without_times.ratings.tolist() == [4]


def test_matrix_round_trip() -> None:
    matrix = csr_array(np.array([[0, 1, 0], [1, 1, 0]]))
    data = Interactions.from_matrix(matrix, ["a", "b"])
    assert data.statistics() == {"users": 2, "items": 3, "interactions": 3, "density": 0.5}
    assert data.ratings is None
    assert (data.matrix != matrix).nnz == 0
    rated = Interactions.from_matrix(3.0 * matrix)
    assert rated.ratings is not None
    assert rated.ratings.tolist() == [3, 3, 3]
    with pytest.raises(InputError, match=r"user_ids has 2 entries, 1 of them different"):
        Interactions.from_matrix(matrix, ["a", "a"])


def test_what_counts_as_interactions() -> None:
    table = {"user": ["a", "b"], "item": [1, 2]}
    same = Interactions.from_table(table).fingerprint
    assert as_interactions(table).fingerprint == same
    assert as_interactions((["a", "b"], [1, 2])).fingerprint == same
    assert as_interactions(csr_array(np.eye(2))).fingerprint == same
    with pytest.raises(InputError, match=r"has type int"):
        as_interactions(3)
    with pytest.raises(InputError, match=r"no column 'who'"):
        Interactions.from_table(table, user="who")


def test_ratings_below_the_threshold_go_but_the_users_stay() -> None:
    data = Interactions.from_arrays(["a", "b"], [1, 2], ratings=[4, 3])
    kept = data.with_min_rating(4)
    assert (len(kept), kept.n_users) == (1, 2)
    with pytest.raises(InputError, match=r"no ratings"):
        Interactions.from_arrays(["a"], [1]).with_min_rating(4)


def test_users_with_few_interactions_go_then_items_of_what_is_left() -> None:
    """Users a: 1 2 3, b: 1 2, c: 3, d: 1; so items 1: a b d, 2: a b, 3: a c."""
    kept = Interactions.from_arrays("aaabbcd", [1, 2, 3, 1, 2, 3, 1]).with_min_counts(2, 2)
    assert (kept.user_ids, kept.item_ids, len(kept)) == (("a", "b"), (1, 2), 4)
    chain = Interactions.from_arrays([1, 1, 2, 2, 3, 3], "abbccd")
    assert len(chain.with_min_counts(2, 2)) == 4  # one pass: items a and d go, and it stops


@pytest.mark.parametrize(
    "times",
    [
        ["2022-01-02 18:00", "2022-01-03"],
        np.array(["2022-01-02T18:00", "2022-01-03"], dtype="datetime64[s]"),
        [datetime(2022, 1, 2, 18), datetime(2022, 1, 3)],
    ],
    ids=["text", "numpy", "datetime"],
)
def test_times_may_be_dates(times: Any) -> None:
    data = Interactions.from_arrays([1, 2], [5, 6], times=times)
    assert data.times is not None
    assert data.times.tolist() == [1641146400.0, 1641168000.0]


def test_what_is_no_date_is_named() -> None:
    with pytest.raises(InputError, match="entry 1 is 'soon'"):
        Interactions.from_arrays([1, 2], [5, 6], times=["2022-01-02", "soon"])


@pytest.mark.parametrize(
    ("user", "item"),
    [("userid", "itemid"), ("Customer", "SKU"), ("customer_id", "product"), ("UID", "Article ID")],
)
def test_usual_columns_are_recognised(user: str, item: str) -> None:
    table = pd.DataFrame({user: ["a", "b"], item: ["x", "y"], "date": ["2022-01-02", "2022-01-03"]})
    data = as_interactions(table)
    assert (data.user_ids, data.item_ids) == (("a", "b"), ("x", "y"))
    assert data.times is not None
    assert data.times[1] - data.times[0] == 86400.0
    assert as_interactions(table.assign(date=["now", "then"])).times is None
    with pytest.raises(InputError, match="no column 'item'"):
        as_interactions(table[[user]])


def test_columns_that_are_not_read_are_named() -> None:
    table = pd.DataFrame(
        {"user": ["a", "b"], "item": [1, 2], "stars": [5, 1], "bought": "2022-01-02"}
    )
    rated, other = as_interactions(table).notes
    assert "'stars' was not read: every row counts as liked" in rated
    assert "the columns 'bought'" in other
    assert "time=" in other
    assert Interactions.from_table(table, rating="stars", time="bought").notes == ()


def test_negative_interactions_are_refused() -> None:
    with pytest.raises(InputError, match="negative value -1 in row 0, column 1"):
        as_interactions(csr_array(np.array([[1.0, -1.0]])))
    table = pd.DataFrame({"user": ["a", "b"], "item": [1, 2], "rating": [1, -1]})
    with pytest.raises(InputError, match="'rating' is below 0 in row 1"):
        as_interactions(table)
    scale = Interactions.from_table(table, rating="rating")  # of one's own, from -1 to 1
    assert len(scale.with_min_rating(0.5)) == 1
