"""Ids get numbers, come back as they were, and are named when something is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from truegraph import InputError
from truegraph.data.identifiers import (
    check_names,
    number_ids,
    row_names,
    unknown_id,
)


def test_ids_are_numbered_in_ascending_order_if_they_have_one() -> None:
    for ids in (["b", "a", "b"], np.array(["b", "a", "b"]), pd.Series(["b", "a", "b"])):
        numbers, unique = number_ids(ids, "users")
        assert numbers.tolist() == [1, 0, 1]
        assert unique == ("a", "b")
    numbers, unique = number_ids([("x", 1), "a", ("x", 1)], "users")
    assert numbers.tolist() == [0, 1, 0]
    assert unique == (("x", 1), "a")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", None], "users: entry 1 is None, a missing id"),
        ([1.0, float("nan")], "users: entry 1 is nan"),
        (np.array(["a", ""]), "users: entry 1 is ''"),
        ([["a"]], "users must be hashable"),
        (np.zeros((2, 2), dtype=int), r"users has shape \(2, 2\)"),
    ],
)
def test_bad_ids_are_named(ids: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        number_ids(ids, "users")  # type: ignore[arg-type]


def test_names_are_one_per_node_and_distinct() -> None:
    assert check_names(np.array([3, 1]), 2) == (3, 1)
    with pytest.raises(InputError, match="3 names are given for 2 nodes"):
        check_names("abc", 2)
    with pytest.raises(InputError, match="nodes 0 and 2 have the same name 'a'"):
        check_names("aba", 3)


def test_only_an_index_that_says_something_names_rows() -> None:
    table = pd.DataFrame({"x": [1, 2]})
    assert row_names(table) is None
    assert row_names(table.to_numpy()) is None
    assert row_names(table.set_axis(["b", "a"])) == ["b", "a"]
    with pytest.raises(InputError, match="'a' more than once"):
        row_names(table.set_axis(["a", "a"]))


def test_an_unknown_id_of_another_type_is_recognised() -> None:
    assert "Did you mean 7, of type int?" in str(unknown_id("7", {7: 0}, "user"))
    assert "There are 1, for example 'a'." in str(unknown_id("z", ["a"], "user"))
    assert "There are none." in str(unknown_id("z", [], "user"))
