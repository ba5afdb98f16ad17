"""The customer table through every command, options of columns and edges, and typical mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import NodeRegressor
from truegraph.cli.output import plain

EXAMPLE = Path(__file__).parents[2] / "examples" / "customers"
PLAN = (
    "customers.csv: 4 numbers scaled, 3 categories to 11 columns, signup_date (date) to 3, "
    "customer_id: used as the identifier"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in EXAMPLE.glob("*.csv"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_learn(program, folder: Path) -> None:
    done = program("learn", "customers.csv", "--out", "graph.csv")
    assert done.code == 0, done.err
    assert PLAN in done.err
    segment = pd.read_csv("answers.csv").set_index("customer_id")["segment"]
    edges = pd.read_csv("graph.csv")
    within = segment[edges["source"]].to_numpy() == segment[edges["target"]].to_numpy()
    assert within.mean() > 0.8
    page = Path("graph.html").read_text()
    for text in ("The columns", "signup_date", "Strongest edges"):
        assert text in page


def test_classify(program, folder: Path) -> None:
    done = program(
        "classify", "--features", "customers.csv", "--labels", "segments.csv", "--out", "found.csv"
    )
    assert done.code == 0, done.err
    assert PLAN in done.err
    found = pd.read_csv("found.csv")
    answers = pd.read_csv("answers.csv")
    rest = ~found["given"].to_numpy()
    assert np.mean(found["label"].to_numpy() == answers["segment"].to_numpy(), where=rest) > 0.83
    page = Path("found.html").read_text()
    for text in ("What came in", "The columns", "How good it is", "Least sure"):
        assert text in page


def test_nothing_is_written_that_was_not_asked_for(program, folder: Path) -> None:
    done = program("learn", "customers.csv", "--degree", 5)
    assert done.code == 0, done.err
    assert "nothing; name a file with --out" in done.out
    assert {path.suffix for path in folder.iterdir()} == {".csv"}
    assert program("learn", "customers.csv", "--degree", 5, "--out", "page.html").code == 0
    assert "Strongest edges" in Path("page.html").read_text()
    assert program("learn", "customers.csv", "--degree", 5, "--out", "g.csv", "--json").code == 0
    assert [path.name for path in folder.glob("*.html")] == ["page.html"]


def test_a_saved_regressor_predicts_new_rows_of_the_table(program, folder: Path) -> None:
    customers = pd.read_csv("customers.csv", index_col="customer_id")
    known = customers.pop("age").to_numpy(dtype=float, na_value=np.nan)[:400].copy()
    known[200:] = np.nan
    model = NodeRegressor(random_state=0).fit(customers[:400], known)
    model.save("model")
    customers[400:].to_csv("new.csv")
    done = program("predict", "model", "--features", "new.csv", "--out", "new_found.csv")
    assert done.code == 0, done.err
    table = pd.read_csv("new_found.csv")
    wanted, ends = model.predict(X=customers[400:], return_interval=0.9)
    np.testing.assert_allclose(table["prediction"], wanted, rtol=1e-3)
    np.testing.assert_allclose(table[["lower", "upper"]], ends, rtol=1e-3)


def test_a_model_is_not_saved_over_a_file(program, folder: Path) -> None:
    for command in (
        [*CLASSIFY, "--out", "o.csv"],
        ["links", "--edges", "friends.csv", "--out", "o.csv"],
        ["recommend", "--interactions", "friends.csv", "--out", "o.csv"],
    ):
        done = program(*command, "--save", "customers.csv")
        assert done.code == 2
        assert "--save customers.csv is a file; give the name of a folder." in done.err


def test_options_of_columns(program, folder: Path) -> None:
    done = program(
        *("learn", "customers.csv", "--json", "--id", "none"),
        *("--columns", "age,income,plan=text", "--out", "page.html"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["statistics"]["columns"] == 4
    assert "2 numbers scaled, plan (text) to 2" in document["notes"][0]
    assert "income" in Path("page.html").read_text()


CLASSIFY = ["classify", "--features", "customers.csv", "--labels", "segments.csv"]
MISTAKES = {
    "a misspelt column": (
        ["learn", "customers.csv", "--drop", "incme"],
        "drop: the table has no column 'incme'. Did you mean 'income'?",
    ),
    "ids that do not match": (
        ["classify", "--features", "customers.csv", "--labels", "other.csv", "--out", "o.csv"],
        "other.csv, line 2, column 'customer': node 'c1' is in neither the features nor the edges",
    ),
    "the answer among the features": (
        [*CLASSIFY[:2], "answers.csv", *CLASSIFY[3:], "--columns", "segment", "--out", "o.csv"],
        "it would give the answer away; leave it out.",
    ),
    "a row listed twice": (
        ["classify", "--features", "twice.csv", "--labels", "segments.csv", "--out", "o.csv"],
        "twice.csv, line 4, column 'customer_id': node '710890' is listed twice, first on line 2",
    ),
    "edges of unknown nodes": (
        ["links", "--edges", "strangers.csv", "--features", "customers.csv", "--out", "o.csv"],
        "strangers.csv, line 2, column 'source': node 'q' is not in the features file (1 of 1",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_typical_mistakes(program, folder: Path, mistake: str) -> None:
    files = {
        "other.csv": "customer,segment\nc1,family\n",
        "twice.csv": "customer_id,age\n710890,3\n931122,5\n710890,4\n",
        "strangers.csv": "source,target\nq,710890\n",
    }
    for name, content in files.items():
        Path(name).write_text(content)
    arguments, message = MISTAKES[mistake]
    done = program(*arguments)
    assert done.code == 2
    assert message in done.err
    assert not Path("o.csv").exists()


def test_names_that_are_formulas_are_escaped_on_request(
    program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{sign}cmd{row}" for row, sign in enumerate("=+-@=+-@")]
    angles = np.arange(8)
    points = pd.DataFrame({"id": names, "x": np.cos(angles), "y": np.sin(angles)})
    points.to_csv("points.csv", index=False)
    plain = ("learn", "points.csv", "--degree", "3", "--out", "graph.csv")
    assert program(*plain).code == 0
    as_given = pd.read_csv("graph.csv")
    assert set(as_given["source"]) <= set(names)
    monkeypatch.setenv("TRUEGRAPH_ESCAPE_FORMULAS", "1")
    assert program(*plain).code == 0
    escaped = pd.read_csv("graph.csv")
    assert escaped["source"].tolist() == ("'" + as_given["source"]).tolist()
    assert escaped["weight"].tolist() == as_given["weight"].tolist()
    assert program(*plain, "--posterior").code == 0
    assert pd.read_csv("graph.csv")["target"].str.startswith("'").all()


def test_a_wide_table_is_cut_between_columns() -> None:
    rows = [["model", "accuracy %", "NLL"], ["gcn", "66.1 ± 3.3", "1.149 ± 0.028"]]
    assert plain(rows).count("\n") == 2
    assert plain(rows, 80) == plain(rows)
    narrow = plain(rows, 24).splitlines()
    assert narrow == [
        "model  accuracy %",
        "gcn    66.1 ± 3.3",
        "",
        "model  NLL",
        "gcn    1.149 ± 0.028",
    ]
    assert plain(rows, 1).count("model") == 2  # a column is never cut, however narrow the terminal
