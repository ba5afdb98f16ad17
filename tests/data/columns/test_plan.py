"""The column plan: what it says, what it gives, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from skrub import TableVectorizer

from truegraph import ColumnPlan
from truegraph.errors import InputError

N = 80
RNG = np.random.default_rng(1)


@pytest.fixture
def table() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "customer_id": RNG.permutation(N) + 500,
            "age": RNG.normal(40, 10, N),
            "income": RNG.lognormal(10, 1, N),
            "plan": RNG.choice(["basic", "plus", "pro"], N),
            "signup": pd.date_range("2022-01-01", periods=N, freq="5D").strftime("%Y-%m-%d"),
            "note": [f"likes {a} and {b}" for a, b in RNG.integers(0, 900, (N, 2))],
            "country": ["NL"] * N,
        }
    )
    frame.loc[3, "age"] = None
    frame.loc[5, "plan"] = None
    return frame


def test_a_plan_says_what_it_does(table: pd.DataFrame) -> None:
    assert ColumnPlan().fit(table).describe() == (
        "2 numbers scaled, 1 category to 3 columns, signup (date) to 3, note (text) to 10, "
        "customer_id: taken as the id (its name and its unique values), "
        "country: left out (the same value everywhere: NL), 2 missing values filled"
    )


def test_points_and_names(table: pd.DataFrame) -> None:
    plan = ColumnPlan()
    points = plan.fit_transform(table)
    assert points.shape == (N, 18)
    assert points.dtype == np.float64
    assert np.isfinite(points).all()
    assert len(plan.get_feature_names_out()) == 18
    names = plan.names(table)
    assert names is not None
    assert names.tolist() == table["customer_id"].astype(str).tolist()


def test_polars_gives_the_same_bits(table: pd.DataFrame) -> None:
    same = ColumnPlan().fit_transform(polars.from_pandas(table))
    assert np.array_equal(same, ColumnPlan().fit_transform(table))


def test_kinds_agree_with_skrub(table: pd.DataFrame) -> None:
    """A second opinion on what the columns are (ids and constants are this library's own)."""
    used = table.drop(columns=["customer_id", "country"])
    skrub = TableVectorizer(cardinality_threshold=40).fit(used).kind_to_columns_
    kinds = {"numeric": "number", "low_cardinality": "category", "datetime": "date"}
    kinds["high_cardinality"] = "text"
    theirs = {name: kinds[kind] for kind, names in skrub.items() for name in names}
    ours = {name: encoder.kind for name, encoder in ColumnPlan().fit(used).encoders_.items()}
    assert ours == theirs


def test_new_rows_are_turned_as_the_fitted_ones(table: pd.DataFrame) -> None:
    plan = ColumnPlan().fit(table)
    assert np.array_equal(plan.transform(table.iloc[7:9]), plan.transform(table)[7:9])
    shuffled = table.iloc[7:9, ::-1].assign(more=1)
    assert np.array_equal(plan.transform(shuffled), plan.transform(table)[7:9])
    with pytest.raises(InputError, match="the table lacks the columns age, which the plan was"):
        plan.transform(table.drop(columns="age"))


def test_unknown_categories_are_named(table: pd.DataFrame) -> None:
    plan = ColumnPlan().fit(table)
    assert plan.unknown_categories(table) == {}
    assert plan.unknown_categories(table.assign(plan="gold")) == {"plan": ["gold"]}


def test_a_saved_plan_gives_the_same_bits(table: pd.DataFrame) -> None:
    plan = ColumnPlan(drop=["note"], columns=None).fit(table)
    arrays: dict[str, np.ndarray] = {}
    document = json.loads(json.dumps(plan.to_document(arrays), allow_nan=False))
    restored = ColumnPlan.from_document(document, arrays)
    assert np.array_equal(restored.transform(table), plan.transform(table))
    assert restored.describe() == plan.describe()
    with pytest.raises(InputError, match="has format 9"):
        ColumnPlan.from_document({**document, "format": 9}, arrays)


def test_choices(table: pd.DataFrame) -> None:
    plain = ColumnPlan("none", columns=["age", "income"]).fit(table)
    points = plain.transform(table)
    assert np.array_equal(points[:, 1], table["income"])
    assert points[3, 0] == table["age"].median()
    assert plain.id_name == "customer_id"
    assert ColumnPlan(id_column=None).fit(table).id_name is None
    assert "customer_id" in ColumnPlan(id_column=None).fit(table).encoders_
    assert "note" not in ColumnPlan(drop=["note"]).fit(table).encoders_
    kinds = ColumnPlan(columns={"plan": "text", "age": None}).fit(table)
    assert {name: one.kind for name, one in kinds.encoders_.items()} == {
        "age": "number",
        "plan": "text",
    }


def test_it_can_be_cloned(table: pd.DataFrame) -> None:
    plan = ColumnPlan("none", drop=["note"]).fit(table)
    copy = clone(plan)
    assert copy.get_params() == plan.get_params()
    assert not hasattr(copy, "encoders_")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ColumnPlan("log"), r"scale='log' must be 'auto' or 'none'"),
        (ColumnPlan(drop=["agee"]), r"drop: the table has no column 'agee'. Did you mean 'age'\?"),
        (
            ColumnPlan(id_column="who"),
            r"id_column: the table has no column 'who'. Choose from: customer_id",
        ),
        (ColumnPlan(columns={"age": "float"}), r"'age' is to be a 'float'; use one of number"),
        (ColumnPlan(columns={"plan": "date"}), r"'plan' is to be a date, but values such as"),
        (ColumnPlan(columns=["country"]), r"no column of the table is usable .*country: the same"),
    ],
)
def test_what_is_refused(table: pd.DataFrame, plan: ColumnPlan, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan.fit(table)


def test_cells_that_do_not_fit_are_said() -> None:
    values = ["1.5", "2.5", *["3"] * 50, "n.n."]
    table = pd.DataFrame({"x": values, "y": [np.inf, *range(52)]})
    plan = ColumnPlan().fit(table)
    assert plan.unreadable_ == {"x": (1, "n.n."), "y": (1, "inf")}
    assert "x: 1 cell is not a number, such as 'n.n.', and taken as missing" in plan.describe()


def test_empty_tables_are_refused() -> None:
    with pytest.raises(InputError, match="the table has no rows"):
        ColumnPlan().fit(pd.DataFrame({"x": []}))
