"""What a column is shows in its name and values, and an id is never silently a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from truegraph.data.columns.kinds import column_kind, is_id_name, recognise

N = 60
RNG = np.random.default_rng(0)


def kind(values: Any, name: str = "x") -> str:
    return column_kind(pd.Series(values, name=name)).kind


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (RNG.normal(size=N), "number"),
        (RNG.integers(0, 9, N), "number"),
        ([str(value) for value in RNG.normal(size=N)], "number"),
        (["1.5"] * 20 + ["2"] * 39 + ["unknown"], "number"),
        (pd.to_timedelta(np.arange(N), unit="h"), "number"),
        (RNG.choice(["red", "blue"], N), "category"),
        (RNG.choice(["01234", "21234"], N), "category"),
        (RNG.choice(["0.5", "0", "10"], N), "number"),
        (RNG.random(N) < 0.5, "category"),
        (pd.Categorical(RNG.choice(["red", "blue"], N)), "category"),
        ([f"word {i} and {i * i}" for i in range(N)], "text"),
        (pd.date_range("2024-01-01", periods=N), "date"),
        (pd.date_range("2024-01-01", periods=N, tz="Europe/Berlin"), "date"),
        (pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"), "date"),
        (pd.date_range("2024-01-01", periods=N, freq="h").strftime("%d.%m.%Y %H:%M"), "date"),
        (pd.date_range("2024-01-01", periods=N).strftime("%m/%d/%Y"), "date"),
        (pd.date_range("2024-01-01", periods=N).strftime("%d/%m/%Y"), "date"),
        (pd.date_range("2024-01-01", periods=N).strftime("%d %B %Y"), "date"),
        ([None] * N, "unused"),
        (["  "] * N, "unused"),
        ([7] * N, "unused"),
    ],
)
def test_kinds(values: Any, expected: str) -> None:
    assert kind(values) == expected


def test_days_and_months_are_told_apart_by_the_column_as_a_whole() -> None:
    days = pd.Series(pd.date_range("2024-01-01", periods=N).strftime("%d/%m/%Y"), name="day")
    assert column_kind(days).date_format == "%d/%m/%Y"
    months = pd.Series(pd.date_range("2024-01-01", periods=N).strftime("%m/%d/%Y"), name="day")
    assert column_kind(months).date_format == "%m/%d/%Y"


def test_repeated_whole_numbers_under_the_name_of_an_id_are_categories() -> None:
    assert kind(RNG.integers(0, 5, N), "store_id") == "category"
    assert kind(RNG.integers(0, 5, N), "visits") == "number"
    many = column_kind(pd.Series(np.repeat(np.arange(100), 2), name="store_id"))
    assert many.kind == "unused"
    assert many.why == "100 different keys of other things"


@pytest.mark.parametrize(
    "name", ["id", "ID", "customer_id", "userId", "uuid", "key", "id_user", ""]
)
def test_names_of_ids(name: str) -> None:
    assert is_id_name(name)


@pytest.mark.parametrize("name", ["age", "paid", "width", "grid", "monkey", "identity", "valid"])
def test_names_that_only_look_like_ids(name: str) -> None:
    assert not is_id_name(name)


def ids(frame: pd.DataFrame, id_column: str | None = "auto") -> list[str]:
    return [column.name for column in recognise(frame, id_column) if column.kind == "id"]


def test_the_id_is_recognised() -> None:
    x = RNG.normal(size=N)
    numbers = RNG.permutation(N) + 1000
    assert ids(pd.DataFrame({"x": x, "customer_id": numbers})) == ["customer_id"]
    assert ids(pd.DataFrame({"x": x, "row": np.arange(N) + 5})) == ["row"]
    assert ids(pd.DataFrame({"who": [f"n{i}" for i in range(N)], "x": x})) == ["who"]


def test_what_is_no_id() -> None:
    x = RNG.normal(size=N)
    assert ids(pd.DataFrame({"x": x, "pay": RNG.permutation(N)})) == []
    assert ids(pd.DataFrame({"x": x, "user_id": x})) == []
    assert ids(pd.DataFrame({"x": [1, 2, 3], "y": [0.5, 0.2, 0.1]})) == []
    assert ids(pd.DataFrame({"count": np.arange(N)})) == []
    assert ids(pd.DataFrame({"x": x, "customer_id": np.arange(N)}), None) == []


def test_of_two_ids_the_named_one_counts_and_the_other_is_no_feature() -> None:
    frame = pd.DataFrame({"row": np.arange(N), "uuid": [f"k{i}" for i in range(N)], "x": 1.0 * N})
    frame["x"] = RNG.normal(size=N)
    kinds = {column.name: column.kind for column in recognise(frame, "auto")}
    assert kinds == {"row": "unused", "uuid": "id", "x": "number"}
