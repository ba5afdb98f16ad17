"""The customer table through every command, options of columns and edges, and typical mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import ColumnPlan, LearnedGraph, LinkPredictor, NodeClassifier

EXAMPLE = Path(__file__).parents[3] / "examples" / "customers"
PLAN = (
    "customers.csv: 4 numbers scaled, 3 categories to 11 columns, signup_date (date) to 3, "
    "customer_id: taken as the id"
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
    assert within.mean() > 0.85
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
    for text in ("What came in", "The columns", "How sure", "Least sure"):
        assert text in page


def test_links(program, folder: Path) -> None:
    done = program(
        *("links", "--edges", "friends.csv", "--features", "customers.csv"),
        *("--model", "common-neighbours", "--report", "page.html", "--out", "links.csv"),
    )
    assert done.code == 0, done.err
    assert PLAN in done.err
    assert "friends.csv: edges run from customer to friend" in done.err
    assert "Most probable links" in Path("page.html").read_text()
    assert not Path("links.html").exists()


def test_a_page_is_written_without_out_as_well_unless_it_is_refused(program, folder: Path) -> None:
    done = program("learn", "customers.csv", "--degree", 5)
    assert done.code == 0, done.err
    assert "customers-graph.html" in done.out
    page = Path("customers-graph.html")
    assert "Strongest edges" in page.read_text()
    page.unlink()
    assert program("learn", "customers.csv", "--degree", 5, "--report", "none").code == 0
    assert not page.exists()


def test_the_plan_is_stored_with_the_graph(program, folder: Path) -> None:
    done = program("learn", "customers.csv", "--out", "graph.npz", "--quiet")
    assert done.code == 0, done.err
    graph = LearnedGraph.load("graph.npz")
    table = pd.read_csv("customers.csv")
    expected = ColumnPlan().fit(table)
    np.testing.assert_array_equal(graph.plan.transform(table), expected.transform(table))
    assert graph.names[0] == str(table["customer_id"][0])


def test_a_saved_classifier_takes_new_rows_of_the_table(program, folder: Path) -> None:
    customers = pd.read_csv("customers.csv")
    customers[:500].to_csv("old.csv", index=False)
    labels = pd.read_csv("segments.csv")
    labels[labels["customer_id"].isin(customers["customer_id"][:500])].to_csv("l.csv", index=False)
    done = program(
        *("classify", "--features", "old.csv", "--labels", "l.csv", "--model"),
        *("logistic-regression", "--save", "model", "--out", "found.csv"),
    )
    assert done.code == 0, done.err
    assert "model" in done.out.splitlines()[-1]
    loaded = NodeClassifier.load("model")
    assert loaded.plan_.describe() in done.err
    assert set(loaded.predict()) == {"business", "family", "starter"}
    answers = pd.read_csv("answers.csv")["segment"][500:]
    assert np.mean(loaded.predict(X=customers[500:]) == answers) > 0.75


def test_a_saved_link_predictor_keeps_the_plan(program, folder: Path) -> None:
    done = program(
        *("links", "--edges", "friends.csv", "--features", "customers.csv", "--model"),
        *("adamic-adar", "--save", "model", "--out", "links.csv", "--quiet"),
    )
    assert done.code == 0, done.err
    assert LinkPredictor.load("model").plan_.id_name == "customer_id"


def test_a_model_is_not_saved_over_a_file(program, folder: Path) -> None:
    for command in (
        [*CLASSIFY, "--out", "o.csv"],
        ["links", "--edges", "friends.csv", "--out", "o.csv"],
        ["recommend", "--interactions", "friends.csv", "--out", "o.csv"],
    ):
        done = program(*command, "--save", "customers.csv")
        assert done.code == 2
        assert "--save customers.csv is a file; give the name of a folder." in done.err


def test_zip_codes_are_names(program, folder: Path) -> None:
    rng = np.random.default_rng(0)
    codes = [f"0{code}" for code in rng.integers(1001, 1009, 40)]
    table = pd.DataFrame({"id": range(40), "zip": codes, "x": rng.normal(size=40)})
    table.loc[3, "zip"] = None
    table.to_csv("towns.csv", index=False)
    done = program("learn", "towns.csv", "--degree", 4)
    assert done.code == 0, done.err
    assert "values of 'zip' begin with 0, so they are names" in done.err
    assert "1 number scaled, 1 category to 8 columns" in done.err


def test_options_of_columns(program, folder: Path) -> None:
    done = program(
        *("learn", "customers.csv", "--json", "--scale", "none", "--id", "none"),
        *("--columns", "age,income,plan=text", "--report", "page.html"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["shape"] == [600, 4]
    assert "2 numbers kept as they are, plan (text) to 2" in document["notes"][0]
    assert "of the variance" in Path("page.html").read_text()  # the warning about raw income


def test_options_of_edges(program, folder: Path) -> None:
    ring = [(i, (i + 1) % 8) for i in range(8)]
    calls = [*ring, *((j, i) for i, j in ring), (0, 4), (1, 5)]  # the last two in one direction
    pd.DataFrame(calls, columns=["a", "b"]).to_csv("calls.csv", index_label="day")
    call = [
        "links",
        "--edges",
        "calls.csv",
        "--source",
        "a",
        "--target",
        "b",
        "--model",
        "adamic-adar",
    ]
    done = program(*call, "--directed", "mutual", "--json", "--out", "links.csv", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["statistics"]["edges"] == 8
    assert any("one direction only (directed=mutual)" in note for note in document["notes"])


def test_distances_in_a_table_are_not_scaled(program, folder: Path) -> None:
    """The first column of this matrix counts up by one, as an id would."""
    distances = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    pd.DataFrame(distances).to_csv("d.csv", index=False)
    done = program("learn", "d.csv", "--metric", "precomputed", "--degree", 2, "--json", "--quiet")
    assert done.code == 0, done.err
    assert json.loads(done.out)["nodes"] == 12


CLASSIFY = ["classify", "--features", "customers.csv", "--labels", "segments.csv"]
MISTAKES = {
    "a workbook": (["learn", "customers.xlsx"], "INPUT 'customers.xlsx' cannot be read; give a"),
    "a misspelt column": (
        ["learn", "customers.csv", "--drop", "incme"],
        "drop: the table has no column 'incme'. Did you mean 'income'?",
    ),
    "an unknown scale": (
        ["learn", "customers.csv", "--scale", "log"],
        "--scale 'log' must be one of auto, none.",
    ),
    "ids that do not match": (
        ["classify", "--features", "customers.csv", "--labels", "other.csv", "--out", "o.csv"],
        "other.csv, line 2, column 'customer': node 'c1' is in neither the features nor the edges",
    ),
    "labels without a header": (
        ["classify", "--features", "customers.csv", "--labels", "bare.csv", "--out", "o.csv"],
        "bare.csv, line 1: '710890' is a node, so the header is missing",
    ),
    "the answer among the features": (
        [*CLASSIFY[:2], "answers.csv", *CLASSIFY[3:], "--columns", "segment", "--out", "o.csv"],
        "it would give the answer away; leave it out.",
    ),
    "two kinds of decimals": (
        ["learn", "decimals.csv"],
        "line 3, column 'rate': '1.25' has a decimal point, but column 'price' has decimal commas",
    ),
    "another encoding": (["learn", "latin.csv"], "latin.csv: not a text table"),
    "a row listed twice": (
        ["classify", "--features", "twice.csv", "--labels", "segments.csv", "--out", "o.csv"],
        "twice.csv, line 4, column 'customer_id': node '710890' is listed twice, first on line 2",
    ),
    "a line with too many fields": (
        ["learn", "uneven.csv"],
        "uneven.csv, line 3: 3 fields instead of 2 as on the first line",
    ),
    "nothing but an id": (
        ["learn", "ids.csv", "--columns", "town"],
        "no column of the table is usable",
    ),
    "edges of unknown nodes": (
        ["links", "--edges", "strangers.csv", "--features", "customers.csv", "--out", "o.csv"],
        "strangers.csv, line 2, column 'source': node 'q' is not in the features file (1 of 1",
    ),
    "two columns of one name": (["learn", "same.csv"], "two columns are called 'x'; rename one"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_typical_mistakes(program, folder: Path, mistake: str) -> None:
    files = {
        "customers.xlsx": "",
        "other.csv": "customer,segment\nc1,family\n",
        "bare.csv": "710890,business\n931122,family\n",
        "decimals.csv": "id;price;rate\na;1,5;2\nb;2,5;1.25\n",
        "twice.csv": "customer_id,age\n710890,3\n931122,5\n710890,4\n",
        "uneven.csv": "id,x\na,1\nb,2,5\n",
        "ids.csv": "id,town\na,Rome\nb,Rome\n",
        "strangers.csv": "source,target\nq,710890\n",
        "same.csv": "id,x,x\na,1,2\n",
    }
    for name, content in files.items():
        Path(name).write_text(content)
    Path("latin.csv").write_bytes("id,town\na,Köln\nb,Bonn\n".encode("latin-1"))
    arguments, message = MISTAKES[mistake]
    done = program(*arguments)
    assert done.code == 2
    assert message in done.err
    assert not Path("o.csv").exists()


def test_names_that_are_formulas_are_escaped_on_request(program, folder: Path) -> None:
    names = [f"{sign}cmd{row}" for row, sign in enumerate("=+-@=+-@")]
    angles = np.arange(8)
    points = pd.DataFrame({"id": names, "x": np.cos(angles), "y": np.sin(angles)})
    points.to_csv("points.csv", index=False)
    plain = ("learn", "points.csv", "--degree", "3", "--out", "graph.csv")
    assert program(*plain).code == 0
    as_given = pd.read_csv("graph.csv")
    assert set(as_given["source"]) <= set(names)
    assert program(*plain, "--escape-formulas").code == 0
    escaped = pd.read_csv("graph.csv")
    assert escaped["source"].tolist() == ("'" + as_given["source"]).tolist()
    assert escaped["weight"].tolist() == as_given["weight"].tolist()
    assert program(*plain, "--posterior", "--escape-formulas").code == 0
    assert pd.read_csv("graph.csv")["target"].str.startswith("'").all()
    refused = program("learn", "points.csv", "--out", "graph.npz", "--escape-formulas")
    assert refused.code == 2
    assert "--escape-formulas is for .csv files" in refused.err


def test_every_command_for_ones_own_files_escapes_formulas(program, folder: Path) -> None:
    friends = pd.read_csv("friends.csv").iloc[:60, :2].astype(str).radd("=")
    friends.to_csv("edges.csv", index=False)
    friends.set_axis(["user", "item"], axis=1).to_csv("pairs.csv", index=False)
    nodes = pd.unique(friends.to_numpy().ravel())[:6]
    labels = pd.DataFrame({"node": nodes, "label": ["@a", "@b"] * 3})
    labels.to_csv("labels.csv", index=False)
    commands = {
        "classify": ("--edges=edges.csv", "--labels=labels.csv", "--model=label-spreading"),
        "links": ("--edges=edges.csv", "--model=common-neighbours", "--top=5"),
        "recommend": ("--interactions=pairs.csv", "--model=popularity"),
    }
    for command, options in commands.items():
        done = program(command, *options, "--out=out.csv", "--escape-formulas")
        assert done.code == 0, done.err
        assert pd.read_csv("out.csv").iloc[:, 0].str.startswith("'=").all()
    assert pd.read_csv("out.csv")["item"].str.startswith("'=").all()
