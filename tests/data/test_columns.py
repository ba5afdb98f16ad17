"""What a column is, and the numbers that it becomes."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from truegraph import ColumnPlan, InputWarning
from truegraph.data.column_kinds import categories, column_kind, is_id_name, recognise, times
from truegraph.data.quantities import number_format, read_numbers
from truegraph.data.vectorising import new_points
from truegraph.errors import InputError

N = 60
RNG = np.random.default_rng(0)
DAYS = pd.date_range("2024-01-01", periods=N)
TEXT = [f"{a} {b}{i}" for i, (a, b) in enumerate(RNG.choice(["tea", "milk", "rice"], (N, 2)))]


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
        (DAYS, "date"),
        (pd.date_range("2024-01-01", periods=N, tz="Europe/Berlin"), "date"),
        (DAYS.strftime("%Y-%m-%d"), "date"),
        (pd.date_range("2024-01-01", periods=N, freq="h").strftime("%d.%m.%Y %H:%M"), "date"),
        (DAYS.strftime("%d %B %Y"), "date"),
        ([*DAYS[:30].strftime("%d.%m.%Y"), *DAYS[30:].strftime("%Y/%m/%d")], "date"),
        ([[1.0, 2.0]] * N, "block"),
        ([None] * N, "unused"),
        (["  ", "n/a"] * 30, "unused"),
        ([7] * N, "unused"),
    ],
)
def test_kinds(values: Any, expected: str) -> None:
    assert kind(values) == expected


@pytest.mark.parametrize("written", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
def test_days_and_months_are_told_apart_by_the_column_as_a_whole(written: str) -> None:
    column = column_kind(pd.Series(DAYS.strftime(written), name="day"))
    assert column.written == (written,)


def test_times_of_numbers_and_dates() -> None:
    assert times(pd.Series([1, 2])).tolist() == [1, 2]
    assert times(pd.Series(["1970-01-02", "1970-01-01 00:01"])).tolist() == [86400, 60]
    assert times(pd.Series(pd.to_datetime(["1970-01-02", None])))[0] == 86400
    assert np.isnan(times(pd.Series(["soon", "later"]))).all()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["€1,234.50", "€12.00", "$3,000"], [1234.5, 12, 3000]),
        (["12%", "3.5 %"], [12, 3.5]),
        (["3 kg", "4 kg", "400 g", "2"], [3, 4, 0.4, 2]),
        (["23k", "1.2M", "900"], [23e3, 1.2e6, 900]),
        (["06:30:55", "18:00", "7:15 PM"], [23455, 64800, 69300]),
        (["2h 30m", "45 min", "PT1H"], [9000, 2700, 3600]),
        (["1.234,50", "12,5", "3"], [1234.5, 12.5, 3]),
        (["1 234,5 €", "12 €"], [1234.5, 12]),
        (["1,234", "22,000", "7"], [1234, 22000, 7]),
        (["1.234.567", "12.000"], [1234567, 12000]),
        (["(123.45)", "-3", "$ -4.5"], [-123.45, -3, -4.5]),
        (["12 pcs", "1 pc"], [12, 1]),
    ],
)
def test_numbers_as_people_write_them(cells: list[str], numbers: list[float]) -> None:
    column = pd.Series(cells, dtype="str")
    found = number_format(column, np.ones(len(cells), dtype=np.int64))
    assert found is not None
    read = read_numbers(column, found)
    assert np.allclose(read / read[0], np.array(numbers) / numbers[0])


@pytest.mark.parametrize(
    "cells",
    [
        ["room 007", "x y"],
        ["1.2.3.4", "1.2.3.5"],
        ["2024-01-05", "2023-01-02"],
        ["12 Main", "13 High"],
        ["555 1234567", "555 9999999"],
        ["10-20", "20-30"],
        ["3 kg", "4 km"],
        ["1,2", "red,3"],
        ["1" + " " * 20_000 + "!", "2" * 20_000 + "!"],
    ],
)
def test_what_is_no_number(cells: list[str]) -> None:
    assert number_format(pd.Series(cells, dtype="str"), np.ones(len(cells), np.int64)) is None


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20), st.sampled_from(["€", "", " kg"]))
@settings(max_examples=30, deadline=None)
def test_numbers_come_back_from_both_decimal_signs(values: list[float], unit: str) -> None:
    english = pd.Series([f"{value:,.2f}{unit}" for value in values], dtype="str")
    german = english.str.translate(str.maketrans(",.", ".,"))
    for cells in (english, german):
        found = number_format(cells, np.ones(len(cells), dtype=np.int64))
        assert found is not None
        assert np.allclose(read_numbers(cells, found), [float(f"{value:.2f}") for value in values])


def test_codes_are_no_measurements() -> None:
    zips = pd.Series(RNG.integers(10_000, 99_999, N), name="zip")
    assert column_kind(zips).why == f"{zips.nunique()} different codes, which are no measurements"
    assert kind(RNG.choice([10115, 80331], N), "plz") == "category"
    assert kind([f"+49 30 {i}" for i in range(N)], "phone") == "unused"
    assert kind(RNG.integers(0, 5, N), "zipper") == "number"


def test_repeated_whole_numbers_under_the_name_of_an_id_are_categories() -> None:
    assert kind(RNG.integers(0, 5, N), "store_id") == "category"
    assert kind(RNG.integers(0, 5, N).astype(str), "store_id") == "category"
    assert kind(RNG.integers(0, 5, N), "visits") == "number"
    many = column_kind(pd.Series(np.repeat(np.arange(100), 2), name="store_id"))
    assert many.why == "100 different keys of other things"


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, True) for name in ("id", "ID", "customer_id", "userId", "uuid", "key", "id_user", "")]
    + [(name, False) for name in ("age", "paid", "width", "grid", "monkey", "identity", "valid")],
)
def test_names_of_ids(name: str, expected: bool) -> None:
    assert is_id_name(name) is expected


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
    assert ids(pd.DataFrame({"price": [f"€{i}.50" for i in range(N)], "x": x})) == []
    assert ids(pd.DataFrame({"x": x, "user_id": x})) == []
    assert ids(pd.DataFrame({"x": [1, 2, 3], "y": [0.5, 0.2, 0.1]})) == []
    assert ids(pd.DataFrame({"count": np.arange(N)})) == []
    assert ids(pd.DataFrame({"x": x, "customer_id": np.arange(N)}), None) == []


def test_of_two_ids_the_named_one_counts_and_the_other_is_no_feature() -> None:
    frame = pd.DataFrame({"row": np.arange(N), "uuid": [f"k{i}" for i in range(N)]})
    frame["x"] = RNG.normal(size=N)
    kinds = {column.name: column.kind for column in recognise(frame, "auto")}
    assert kinds == {"row": "unused", "uuid": "id", "x": "number"}


def points(values: Any, new: Any = None, **options: Any) -> np.ndarray:
    """Return the points of one column beside a plain one, by a plan fitted to `values`."""
    frame = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 7})
    plan = ColumnPlan(options.pop("scale", "each"), id_column=None, **options).fit(frame)
    rows = frame if new is None else pd.DataFrame({"x": new, "y": 0})
    return plan.transform(rows)[:, :-1]


@pytest.mark.parametrize("values", [RNG.normal(50, 9, N), np.r_[np.zeros(50), np.ones(10)]])
def test_numbers_are_standardised_and_level_off(values: np.ndarray) -> None:
    scaled = StandardScaler().fit_transform(values[:, None])
    assert np.allclose(points(values), scaled / np.sqrt(1 + (scaled / 2) ** 2))
    assert points(values, [1e300]).item() <= 2


def test_none_is_a_word_among_words_and_a_gap_among_numbers() -> None:
    assert points(RNG.choice(["none", "cordate", "acute"], N)).shape == (N, 3)
    written = [*(f"{value:.2f}" for value in RNG.normal(5, 1, N - 20)), *["None"] * 20]
    assert np.allclose(points(written)[-20:], 0)


def test_large_numbers_stay_finite() -> None:
    assert np.isfinite(points([-1.7e308, 1.7e308, 0.0, 1e300])).all()
    with pytest.raises(InputError, match=r"as large as 9007199254740993, which float64 makes equ"):
        points([2**53, 2**53 + 1, 7])


def test_categories_are_one_hot_and_new_ones_count_as_missing() -> None:
    words = RNG.choice(["red", "green", "blue"], N)
    expected = OneHotEncoder(sparse_output=False).fit_transform(words[:, None])
    assert np.array_equal(points(words), expected)
    assert points(words, ["violet"]).tolist() == [[0, 0, 0]]


def test_a_category_has_one_name_whatever_the_other_rows_are() -> None:
    assert categories(pd.Series([1.0, 2.5, None])).tolist() == ["1", "2.5", None]
    assert categories(pd.Series([1.0])).tolist() == ["1"]


def test_dates_become_time_and_season() -> None:
    days = pd.date_range("2020-01-01", periods=300, freq="5D")
    near = points(days, pd.to_datetime(["2021-01-05", "2022-01-05", "2021-07-05"]))
    assert near.shape == (3, 3)
    assert np.linalg.norm(near[0, 1:] - near[1, 1:]) < 0.01
    assert np.linalg.norm(near[0, 1:] - near[2, 1:]) > 1
    assert points(pd.date_range("2020-01-01", periods=90, freq="7h")).shape == (90, 5)


def test_lists_keep_their_distances_up_to_one_scale() -> None:
    rows = RNG.normal(size=(N, 4)) * [1, 10, 1, 1]
    found = points(list(rows))
    ratio = np.linalg.norm(found[1:] - found[0], axis=1) / np.linalg.norm(
        rows[1:] - rows[0], axis=1
    )
    assert np.allclose(ratio, ratio[0])
    with pytest.raises(InputError, match="column 'x' holds lists of different lengths"):
        points([[1.0], [1.0, 2.0]] * 5)


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(5, 9, N),
        RNG.choice(["red", "green"], N),
        pd.date_range("2020-01-01", periods=N, freq="20D"),
        TEXT,
        list(RNG.normal(size=(N, 3))),
    ],
    ids=["number", "category", "date", "text", "block"],
)
def test_every_column_weighs_about_one_and_gaps_lie_in_the_middle(values: Any) -> None:
    found = points(values)
    assert 0.3 < found.var(axis=0).sum() < 1.5
    holey = pd.Series(list(values), dtype=object)
    holey[3] = None
    assert np.allclose(points(holey)[3], 0)


NEW_ROWS: list[tuple[Any, Any, list[bool], str]] = [  # fitted, new, which can be read, an example
    (DAYS.strftime("%Y-%m-%d"), ["2024-02-10", "10.02.2020"], [True, False], "10.02.2020"),
    (DAYS.strftime("%d.%m.%Y"), ["10.02.2020", "2024-02-10"], [True, False], "2024-02-10"),
    (DAYS, ["2024-02-10", "10.02.2020"], [True, False], "10.02.2020"),
    (DAYS, [20240210, 20240211], [False, False], "20240210"),
    ([f"{i}.5" for i in range(N)], ["1.5", "1,5"], [True, False], "1,5"),
    ([f"{i},5" for i in range(N)], ["1,5", "1.5"], [True, False], "1.5"),
    (np.arange(N) + 0.5, ["7.5", "abc"], [True, False], "abc"),
    ([f"€{i}.50" for i in range(N)], ["€7.50", "seven"], [True, False], "seven"),
    (np.arange(N) + 0.5, DAYS[:2], [False, False], "2024-01-01"),
]


@pytest.mark.parametrize(("fitted", "new", "reads", "example"), NEW_ROWS)
def test_new_rows_are_read_as_the_fitted_ones_and_the_rest_is_named(
    fitted: Any, new: Any, reads: list[bool], example: str
) -> None:
    plan = ColumnPlan("each", id_column=None).fit(pd.DataFrame({"x": fitted, "y": range(N)}))
    rows = pd.DataFrame({"x": new, "y": 0})
    width = len(plan.encoders_["x"].parts)
    found = plan.transform(rows)[:, :width]
    for point, is_read in zip(found, reads, strict=True):
        assert np.allclose(point, 0, atol=1e-9) is not is_read
    ((name, (count, cells)),) = plan.misfits(rows).items()
    assert (name, count) == ("x", reads.count(False))
    assert example in cells[0]
    with pytest.warns(InputWarning, match=f"column 'x' of X has {count} cell.*missing"):
        new_points(rows, plan)


def test_masked_entries_are_missing() -> None:
    array = RNG.normal(size=(N, 3))
    mask = RNG.random((N, 3)) < 0.1
    expected = ColumnPlan("each").fit_transform(np.where(mask, np.nan, array))
    masked = np.ma.masked_array(array, mask=mask)
    assert np.array_equal(ColumnPlan("each").fit_transform(masked), expected)
    named = ["x0", "x1", "x2"]
    nullable = pd.DataFrame(masked, columns=named).astype("Float64")
    assert np.array_equal(ColumnPlan("each").fit_transform(nullable), expected)


@pytest.mark.parametrize("cell", [object(), {"a": 1}, {1, 2}, b"raw", len])
def test_cells_that_are_objects_are_refused_by_name(cell: Any) -> None:
    frame = pd.DataFrame({"x": np.arange(N), "odd": pd.Series([cell] * N, dtype=object)})
    with pytest.raises(
        InputError, match=rf"column 'odd' holds cells of type {type(cell).__name__}"
    ):
        ColumnPlan().fit(frame)
    assert ColumnPlan(drop=["odd"], id_column=None).fit(frame)


def test_spans_of_the_whole_range_give_no_raw_warning() -> None:
    wide = np.array([-1e307, 1e307, 0.0, 5e306] * 15)
    for frame in (pd.DataFrame({"a": wide, "b": -wide}), pd.DataFrame({"x0": wide, "x1": wide})):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert np.isfinite(ColumnPlan().fit_transform(frame)).all()


DAY = datetime.date(2024, 1, 1)
ARROW: dict[str, tuple[Any, str]] = {  # a column of PyArrow, and its kind, or part of the error
    "decimal": (pa.array([Decimal(i) / 4 for i in range(N)], pa.decimal128(9, 2)), "number"),
    "time": (pa.array([datetime.time(i % 24, i % 60) for i in range(N)]), "number"),
    "date32": (pa.array([DAY + datetime.timedelta(3 * i) for i in range(N)], pa.date32()), "date"),
    "timestamp": (pa.array([pd.Timestamp(DAY) + pd.Timedelta(i, "D") for i in range(N)]), "date"),
    "duration": (pa.array([datetime.timedelta(hours=i) for i in range(N)]), "number"),
    "null": (pa.nulls(N), "unused"),
    "bool": (pa.array([i % 3 == 0 for i in range(N)]), "category"),
    "dictionary": (pa.array(["a", "b", "c"] * (N // 3)).dictionary_encode(), "category"),
    "large string": (pa.array(["a", "b", "c"] * (N // 3), pa.large_string()), "category"),
    "uint8": (pa.array(np.arange(N) * 3 % 51, pa.uint8()), "number"),
    "list": (pa.array([[float(i), 1.0] for i in range(N)]), "block"),
    "fixed list": (pa.array([[i, 1] for i in range(N)], pa.list_(pa.int32(), 2)), "block"),
    "list of words": (pa.array([["a", "b"]] * N), "column 'x'"),
    "struct": (pa.array([{"a": i} for i in range(N)]), "column 'x' holds cells of type dict"),
    "binary": (pa.array([b"%d" % i for i in range(N)]), "column 'x' holds cells of type bytes"),
    "map": (pa.array([[("a", i)] for i in range(N)], pa.map_(pa.string(), pa.int64())), "column"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARROW)
def test_every_type_of_arrow_is_encoded_or_refused_by_name(name: str) -> None:
    column, expected = ARROW[name]
    table = pa.table({"x": column, "y": np.arange(N) % 7})
    native = table.to_pandas(types_mapper=pd.ArrowDtype)
    for form in (table, native):
        plan = ColumnPlan(id_column=None)
        if expected.startswith("column"):
            with pytest.raises(InputError, match=expected):
                plan.fit(form)
            continue
        assert plan.fit(form).columns_[0].kind == expected
        assert np.isfinite(plan.transform(form)).all()
