"""The column plan: what it says, what it gives, what it refuses, and tables in estimators."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import narwhals
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

from truegraph import ColumnPlan, InputWarning, learn_graph
from truegraph.data.frames import is_frame
from truegraph.data.vectorising import is_table, new_points, take_features, vectorised_together
from truegraph.errors import InputError
from truegraph.saving import load, save

N = 80
RNG = np.random.default_rng(1)


@pytest.fixture
def table() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "customer_id": RNG.permutation(N) + 500,
            "age": RNG.normal(40, 10, N),
            "income": [f"€{value:,.2f}" for value in RNG.lognormal(10, 1, N)],
            "plan": RNG.choice(["basic", "plus", "pro"], N),
            "signup": pd.date_range("2022-01-01", periods=N, freq="5D").strftime("%Y-%m-%d"),
            "note": [f"likes {a} and {b}" for a, b in RNG.integers(0, 900, (N, 2))],
            "face": list(RNG.normal(size=(N, 3))),
            "country": ["NL"] * N,
        }
    )
    frame.loc[3, "age"] = None
    frame.loc[5, "plan"] = None
    frame.loc[7, "income"] = "tbd"
    return frame


def test_a_plan_says_what_it_does(table: pd.DataFrame) -> None:
    plan = ColumnPlan().fit(table)
    assert plan.describe() == (
        "2 numbers scaled, 1 category to 3 columns, signup (date) to 3, note (text) to 30, "
        "face (block) to 3, customer_id: used as the identifier (its name and its unique values), "
        "income: read as amounts in €, commas between thousands, "
        "country: left out (the same value everywhere: NL), 3 missing values filled, "
        "income: 1 cell is not a number, such as 'tbd', and taken as missing"
    )
    rows = plan.rows()
    assert [row["taken as"] for row in rows[:3]] == ["id", "number", "number"]
    assert rows[-1]["becomes"] == "nothing: the same value everywhere: NL"
    assert rows[2]["missing"] == 1


def test_points_and_names(table: pd.DataFrame) -> None:
    plan = ColumnPlan()
    points = plan.fit_transform(table)
    assert points.shape == (N, 41)
    assert points.dtype == np.float64
    assert np.isfinite(points).all()
    assert len(plan.get_feature_names_out()) == 41
    assert plan.ids(table) == table["customer_id"].tolist()
    named = ColumnPlan().set_output(transform="pandas").fit_transform(table)
    assert named.columns.tolist() == plan.get_feature_names_out().tolist()


def test_scikit_learns_own_checks() -> None:
    """Skipped: the array API, which a table has no part in."""
    results = check_estimator(ColumnPlan(), on_fail=None, on_skip=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]
    assert failed == []


def forms(table: pd.DataFrame) -> list[Any]:
    frame = polars.from_pandas(table)
    made = pyarrow.Table.from_pandas(table)
    relation = duckdb.from_arrow(made)
    return [frame, frame.lazy(), made, narwhals.from_native(frame), relation]


def test_every_library_gives_the_same_bits(table: pd.DataFrame) -> None:
    expected = ColumnPlan().fit_transform(table)
    for same in forms(table):
        assert is_frame(same)
        assert is_table(same)
        assert np.array_equal(ColumnPlan().fit_transform(same), expected)


def test_a_file_gives_the_same_graph_as_its_table(table: pd.DataFrame, tmp_path: Path) -> None:
    from truegraph.data import read_features

    table = table.drop(columns="face")
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    expected = ColumnPlan().fit_transform(table)
    for file in ("t.csv", "t.parquet"):
        assert np.array_equal(read_features(tmp_path / file).matrix(), expected)
    assert np.array_equal(ColumnPlan().fit_transform(pd.read_csv(tmp_path / "t.csv")), expected)


def test_a_table_as_people_write_it_is_the_table_cleaned_by_hand() -> None:
    price, weight, minutes = (RNG.lognormal(mean, 1, N) for mean in (6, 0, 4))
    start, day = RNG.integers(0, 86_400, N), pd.date_range("2023-01-01", periods=N, freq="3D")
    written = pd.DataFrame(
        {
            "price": [f"{'€$'[row % 2]}{value:,.2f}" for row, value in enumerate(price)],
            "weight": [f"{v:.3f} kg" if v > 1 else f"{1000 * v:.0f} g" for v in weight],
            "took": [
                f"{int(v) // 60}h {int(v) % 60}m" if v > 60 else f"{int(v)} min" for v in minutes
            ],
            "at": [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in start],
            "day": [*day[:50].strftime("%d.%m.%Y"), *day[50:].strftime("%m/%d/%Y")],
            "zip": RNG.integers(10_000, 99_999, N),
        }
    )
    clean = pd.DataFrame(
        {
            "price": price.round(2),
            "weight": weight.round(3),
            "took": minutes.astype(int),
            "at": start,
            "day": day,
        }
    )
    written.loc[3, "price"], written.loc[4, "price"], clean.loc[3:4, "price"] = "-", "NA", np.nan
    assert np.allclose(ColumnPlan().fit_transform(written), ColumnPlan().fit_transform(clean))


@pytest.mark.parametrize(
    "names",
    [["a (cm)", "b (cm)", "c (cm)"], ["x0", "x1", "x2"], ["pixel_1", "pixel_2", "pixel_3"]],
)
def test_columns_in_one_unit_are_the_array_that_they_are(names: list[str]) -> None:
    array = RNG.uniform(0, 16, (N, 3)) * (RNG.random((N, 3)) < [1, 0.9, 0.05])
    array[0] = 16
    plan = ColumnPlan().fit(pd.DataFrame(array, columns=names))
    assert np.array_equal(plan.transform(pd.DataFrame(array, columns=names)), array)
    assert plan.describe() == "3 numbers kept as they are"


def test_iris_as_a_table_is_iris_as_an_array() -> None:
    iris = load_iris(as_frame=True).data
    plain = iris.set_axis(["sepal length", "sepal width", "petal length", "petal width"], axis=1)
    for frame in (iris, plain):
        assert np.array_equal(ColumnPlan().fit_transform(frame), frame.to_numpy())
    mixed = plain.assign(weight=plain["sepal width"] * 100)
    assert not np.array_equal(ColumnPlan().fit_transform(mixed)[:, 0], mixed["sepal length"])


def test_texts_with_zero_bytes_are_encoded() -> None:
    frame = pd.DataFrame({"note": ["a 00\0", "b 00", "c 0\0 0", "d 1", "e 00\0 f", "g 0"] * 2})
    plan = ColumnPlan(columns={"note": "text"}).fit(frame)
    assert np.isfinite(plan.transform(frame)).all()


def test_text_of_like_meaning_is_near() -> None:
    """Docstrings of the standard library: a connection is no archive."""
    names, texts = [], []
    for module in ("socket", "shutil", "ssl", "tarfile", "zipfile", "ftplib", "random", "json"):
        for name, value in sorted(vars(import_module(module)).items()):
            doc = inspect.getdoc(value)
            if getattr(value, "__module__", "") == module and doc and len(doc) > 40:
                names.append(f"{module}.{name}")
                texts.append(doc)
    graph = learn_graph(pd.DataFrame({"name": names, "doc": texts}))
    adjacency = graph.adjacency
    near = {name: adjacency[[row]].indices for row, name in enumerate(names)}
    assert names.index("shutil.unpack_archive") not in near["socket.create_connection"]
    assert names.index("shutil.make_archive") in near["shutil.unpack_archive"]
    modules = np.array([name.partition(".")[0] for name in names])
    edges = adjacency.tocoo()
    same = modules[edges.row] == modules[edges.col]
    assert edges.data[same].sum() > 0.6 * edges.data.sum()


def test_new_rows_are_turned_as_the_fitted_ones(table: pd.DataFrame) -> None:
    plan = ColumnPlan().fit(table)
    assert np.array_equal(plan.transform(table.iloc[7:9]), plan.transform(table)[7:9])
    shuffled = table.iloc[7:9, ::-1].assign(more=1)
    assert np.array_equal(plan.transform(shuffled), plan.transform(table)[7:9])
    with pytest.raises(InputError, match="the table lacks the columns age, which the plan was"):
        plan.transform(table.drop(columns="age"))


def test_a_saved_plan_gives_the_same_bits(table: pd.DataFrame, tmp_path: Path) -> None:
    for plan in (ColumnPlan(), ColumnPlan("none", drop=["note"], columns={"age": None})):
        save(plan.fit(table), tmp_path / "plan")
        restored = load(ColumnPlan, tmp_path / "plan")
        assert np.array_equal(restored.transform(table), plan.transform(table))
        assert restored.describe() == plan.describe()
        assert restored.get_params() == plan.get_params()


def test_choices(table: pd.DataFrame) -> None:
    plain = ColumnPlan("none", columns=["age", "income"]).fit(table)
    points = plain.transform(table)
    assert points[0, 1] == float(table["income"][0][1:].replace(",", ""))
    assert np.isclose(points[3, 0], table["age"].mean())
    assert plain.id_name == "customer_id"
    assert ColumnPlan(id_column=None).fit(table).id_name is None
    assert "customer_id" in ColumnPlan(id_column=None).fit(table).encoders_
    assert "note" not in ColumnPlan(drop=["note"]).fit(table).encoders_
    kinds = ColumnPlan(columns={"plan": "text", "age": None}).fit(table)
    assert {name: one.kind for name, one in kinds.encoders_.items()} == {
        "age": "number",
        "plan": "text",
    }
    copy = clone(kinds)
    assert copy.get_params() == kinds.get_params()
    assert not hasattr(copy, "encoders_")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ColumnPlan("log"), r"scale='log' must be one of auto, each, none"),
        (ColumnPlan(drop=["agee"]), r"drop: the table has no column 'agee'. Did you mean 'age'\?"),
        (ColumnPlan(id_column="who"), r"id_column: the table has no column 'who'. Choose from: cu"),
        (ColumnPlan(columns={"age": "float"}), r"'age' is to be a 'float'; use one of number"),
        (ColumnPlan(columns={"plan": "date"}), r"'plan' is to be a date, but values such as"),
        (ColumnPlan(columns=["country"]), r"no column of the table is usable .*country: the same"),
    ],
)
def test_what_is_refused(table: pd.DataFrame, plan: ColumnPlan, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan.fit(table)


def test_features_of_estimators(table: pd.DataFrame) -> None:
    array = np.random.default_rng(0).normal(size=(5, 2))
    assert take_features(array, None) == (array, None)
    assert new_points(array, None) is array
    points, plan = take_features(table, None)
    assert plan is not None
    head, same = take_features(table.head(3), plan)
    assert same is plan
    assert np.array_equal(head, points[:3])
    assert np.array_equal(new_points(table.tail(2), plan), points[-2:])
    with pytest.warns(InputWarning, match="column 'plan' of X has categories .* not seen: gold "):
        new_points(table.tail(2).assign(plan="gold"), plan)
    with pytest.raises(InputError, match="fitted on a table"):
        new_points(points, plan)
    with pytest.raises(InputError, match="X is a table, but the model was fitted on an array"):
        new_points(table, None)


def test_two_tables_in_one_space(table: pd.DataFrame) -> None:
    users, items = table.head(50), table.tail(30).drop(columns="customer_id")
    left, right, plan, names = vectorised_together(users, items, None)
    assert left.shape[1] == right.shape[1]
    assert names is None
    assert np.array_equal(plan.transform(items), right)
    with pytest.raises(InputError, match="users has the columns age, which items lacks"):
        vectorised_together(users, items.drop(columns="age"), None)
    with pytest.raises(InputError, match="users is a table and items is not"):
        vectorised_together(users, right, None)


def test_a_plan_that_is_not_fitted_yet_is_saved(tmp_path: Path) -> None:
    plan = ColumnPlan("none", id_column=None, drop=["a"], columns={"b": None, "c": "date"})
    save(plan, tmp_path)
    assert load(ColumnPlan, tmp_path).get_params() == plan.get_params()


def test_every_library_gives_the_same_graph(table: pd.DataFrame) -> None:
    expected = learn_graph(table, 5, random_state=0).adjacency
    for same in forms(table):
        assert (learn_graph(same, 5, random_state=0).adjacency != expected).nnz == 0


def test_names_in_an_arrow_table_survive() -> None:
    rows = pd.DataFrame(RNG.normal(size=(30, 3)), index=[f"n{i}" for i in range(30)])
    for frame in (rows, pyarrow.Table.from_pandas(rows)):
        graph = learn_graph(frame, 4)
        assert graph.names == tuple(rows.index)
        assert graph.plan is not None
        assert list(graph.plan.encoders_) == ["0", "1", "2"]
