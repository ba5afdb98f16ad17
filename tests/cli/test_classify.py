"""``truegraph classify``: usage, and one's own files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

COLOURS = ("blue", "green", "red")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three groups that features and edges tell apart; four labels of each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    names = np.array([f"person {i}" for i in range(60)])
    points = pd.DataFrame(3 * np.eye(3)[kind] + 0.5 * rng.random((60, 3)))
    points.insert(0, "id", names)
    points.to_csv("features.csv", index=False)
    chance = np.where(kind[:, None] == kind, 0.3, 0.01)
    first, second = np.nonzero(np.triu(rng.random((60, 60)) < chance, k=1))
    pd.DataFrame({"source": names[first], "target": names[second]}).to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"node": names[:12], "label": np.array(COLOURS)[kind[:12]]})
    labels.to_csv("labels.csv", index=False)
    return tmp_path


def right_share(path: Path) -> float:
    table = pd.read_csv(path)
    number = table["node"].str.removeprefix("person ").astype(int).to_numpy()
    return float(np.mean(table["label"].to_numpy() == np.array(COLOURS)[number % 3]))


ALL_FILES = ["--edges", "edges.csv", "--features", "features.csv", "--labels", "labels.csv"]


def test_own_files(program, people: Path) -> None:
    done = program(
        "classify", *ALL_FILES, "--out", "new/p.csv", "--graph-out", "g.csv", "--samples", 8
    )
    assert done.code == 0, done.err
    table = pd.read_csv("new/p.csv")
    assert list(table.columns) == [
        "node",
        "label",
        "probability",
        "predictive_entropy",
        "mutual_information",
        "novelty",
        "given",
    ]
    assert list(table["node"]) == [f"person {i}" for i in range(60)]
    assert right_share(people / "new/p.csv") == 1.0
    assert table["probability"].between(1 / 3, 1).all()
    assert table["predictive_entropy"].between(0, np.log(3)).all()
    assert (table["mutual_information"] <= table["predictive_entropy"] + 1e-6).all()
    assert (table["mutual_information"] > 0).any()
    assert list(table["given"]) == [True] * 12 + [False] * 48
    graph = pd.read_csv("g.csv")
    assert set(graph["source"]) | set(graph["target"]) == set(table["node"])
    assert "Labelled 48 of 60 nodes with auto from 12 given labels of 3 classes" in done.out
    assert "new/p.csv, g.csv" in done.out


def test_own_files_by_the_recipe_of_the_paper(program, people: Path) -> None:
    options = ["--model", "bgcn", "--out", "p.csv", "--graph-out", "g.csv", "--json"]
    done = program("classify", *ALL_FILES, *options, "--quiet")
    assert done.code == 0, done.err
    assert json.loads(done.out)["learned_edges"] == len(pd.read_csv("g.csv"))
    assert right_share(people / "p.csv") == 1.0
    assert (pd.read_csv("p.csv")["mutual_information"] >= 0).all()


def test_the_recommended_recipe_says_what_it_believes(program, people: Path) -> None:
    done = program("classify", *ALL_FILES, "--out", "p.csv", "--json", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["model"] == "auto"
    assert any(note.startswith("the observed graph has weight") for note in document["notes"])
    assert right_share(people / "p.csv") == 1.0


@pytest.mark.parametrize("model", ["bgcn", "refined", "fast", "auto"])
def test_the_seed_decides_the_bytes(program, people: Path, model: str) -> None:
    for name, seed, jobs in (("a", 3, 1), ("b", 3, 2), ("c", 4, 2)):
        options = ["--seed", seed, "--jobs", jobs, "--quiet", "--samples", 4, "--model", model]
        assert program("classify", *ALL_FILES, "--out", f"{name}.csv", *options).code == 0
    a, b, c = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("files", "model", "note"),
    [
        (["--edges", "edges.csv"], "gcn", "no features given: identity features are used"),
        (["--features", "features.csv"], "gcn", "no graph given: the graph of the 10 nearest"),
        (["--features", "features.csv"], "mlp", "no graph given"),
        (["--edges", "edges.csv"], "label-propagation", "no features given"),
    ],
)
def test_without_features_or_edges(
    program, people: Path, files: list[str], model: str, note: str
) -> None:
    options = ["--model", model, "--out", "p.csv", "--json", "--quiet"]
    done = program("classify", *files, "--labels", "labels.csv", *options)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert any(note in said for said in document["notes"])
    assert document["model"] == model
    assert document["learned_edges"] is None
    assert sum(document["predicted"].values()) == document["statistics"]["nodes"] - 12
    assert right_share(people / "p.csv") > 0.9
    assert pd.read_csv("p.csv")["mutual_information"].isna().all()


BAD_USAGE = {
    "nothing": ([], "there is nothing to learn from; give --labels"),
    "no labels": (["--edges", "edges.csv"], "there is nothing to learn from"),
    "labels alone": (
        ["--labels", "labels.csv", "--out", "p.csv"],
        "--labels alone is not enough",
    ),
    "no out": (ALL_FILES, "--out is missing; name the .csv file for the predictions."),
    "out ending": ([*ALL_FILES, "--out", "p.xls"], "cannot write .xls; let the name end in .csv."),
    "overwrite": ([*ALL_FILES, "--out", "labels.csv"], "--out labels.csv would overwrite INPUT"),
    "same twice": ([*ALL_FILES, "--out", "p.csv", "--graph-out", "p.csv"], "are both p.csv"),
    "two models": (
        [*ALL_FILES, "--out", "p.csv", "--model", "gcn,bgcn"],
        "names 2 models, but an answer comes from one",
    ),
    "unlearned graph": (
        [*ALL_FILES, "--out", "p.csv", "--model", "gcn", "--graph-out", "g.csv"],
        "--graph-out g.csv: gcn learns no graph; use auto or bgcn.",
    ),
    "unknown model": (
        [*ALL_FILES, "--model", "bgcm"],
        "no model is called 'bgcm'. Did you mean 'bgcn'?",
    ),
    "unknown option": ([*ALL_FILES, "--lables", "x"], "Did you mean '--labels'?"),
    "stray argument": ([*ALL_FILES, "stray"], "not the argument 'stray'"),
    "degree": (
        [*ALL_FILES, "--out", "p.csv", "--degree", "-1"],
        "--degree -1.0 must be a finite number above 0.",
    ),
    "degree of gcn": (
        [*ALL_FILES, "--out", "p.csv", "--model", "gcn", "--degree", "9"],
        "--degree is an option of bgcn",
    ),
    "a data set": (
        ["cora", "--per-class", "5", "--trials", "10", "--models", "gcn,bgcn", "--json"],
        "use: truegraph compare classify cora --per-class 5 --trials 10 --models gcn,bgcn",
    ),
    "a data set alone": (
        ["Cora"],
        "use: truegraph compare classify Cora --models gcn,bgcn,auto",
    ),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(program, people: Path, case: str) -> None:
    arguments, message = BAD_USAGE[case]
    before = {path: path.read_bytes() for path in people.iterdir()}
    done = program("classify", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not done.out
    assert {path: path.read_bytes() for path in people.iterdir()} == before


BAD_FILES = {
    "edges.csv": ("source,target\nperson 0,nobody\n", "edges.csv, line 2, column 'target': node"),
    "features.csv": (
        "id,x\nperson 0,1\nperson 0,2\nperson 1,2\n",
        "features.csv, line 3, column 'id': node 'person 0' is listed twice",
    ),
    "labels.csv": ("node,label\nnobody,red\n", "labels.csv, line 2, column 'node': node 'nobody'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_name_the_place(program, people: Path, name: str) -> None:
    text, message = BAD_FILES[name]
    (people / name).write_text(text)
    done = program("classify", *ALL_FILES, "--out", "p.csv")
    assert done.code == 2
    assert message in done.err
    assert not (people / "p.csv").exists()


def test_one_class_is_too_few(program, people: Path) -> None:
    (people / "labels.csv").write_text("node,label\nperson 0,red\nperson 3,red\n")
    done = program("classify", *ALL_FILES, "--out", "p.csv")
    assert done.code == 2
    assert "labels.csv: at least two classes are needed, found red; label nodes" in done.err


def test_bad_input_loads_no_torch(process, people: Path) -> None:
    (people / "labels.csv").write_text("node,label\nnobody,red\n")
    code = (
        "import sys; from truegraph.cli.app import run; code = run(sys.argv[1:]); "
        "print('torch' in sys.modules); sys.exit(code)"
    )
    done = process("classify", *ALL_FILES, "--out", "p.csv", code=code)
    assert (done.code, done.out) == (2, "False\n"), done.err


def test_warnings_call_the_classes_as_the_file_does(program, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(40, 9, 60), "income": rng.normal(5e4, 2e4, 60)})
    table.to_csv(tmp_path / "t.csv", index=False)
    known = {"node": range(6), "segment": ["starter", "family"] * 3}
    pd.DataFrame(known).to_csv(tmp_path / "l.csv", index=False)
    files = ["--features", tmp_path / "t.csv", "--labels", tmp_path / "l.csv", "--scale", "none"]
    done = program("classify", *files, "--model", "gcn", "--out", tmp_path / "o.csv")
    assert done.code == 0, done.err
    assert re.search(r"predicted to be of class (starter|family)", " ".join(done.err.split()))


def test_edges_that_look_false_are_listed(program, people: Path) -> None:
    table = pd.read_csv("edges.csv")
    false = [(f"person {i}", f"person {3 * i + 1}") for i in range(0, 18, 3)]
    pd.concat([table, pd.DataFrame(false, columns=["source", "target"])]).to_csv(
        "edges.csv", index=False
    )
    options = ["--out", "p.csv", "--edges-out", "judged.csv", "--json", "--quiet"]
    done = program("classify", *ALL_FILES, *options)
    assert done.code == 0, done.err
    judged = pd.read_csv("judged.csv")
    columns = ["source", "target", "probability", "source_class", "target_class"]
    assert list(judged.columns) == columns
    assert len(judged) == len(pd.read_csv("edges.csv"))
    document = json.loads(done.out)
    suspect = judged[judged["probability"] <= 0.5]
    assert document["suspect_edges"] == len(suspect) > 0
    assert document["edges_out"] == "judged.csv"
    assert (suspect["source_class"] != suspect["target_class"]).mean() > 0.8
    assert "Edges that look false" in Path("p.html").read_text()


def test_edges_out_needs_edges_and_features(program, people: Path) -> None:
    done = program(
        "classify", *ALL_FILES[:2], *ALL_FILES[4:], "--out", "p.csv", "--edges-out", "judged.csv"
    )
    assert done.code != 0
    assert "edges are judged by features" in done.err


def test_sets_of_classes(program, people: Path) -> None:
    done = program("classify", *ALL_FILES, "--out", "p.csv", "--sets", 0.9, "--report", "p.html")
    assert done.code == 0, done.err
    assert re.search(r"sets +hold the true label of 90% of the nodes", done.out)
    table = pd.read_csv("p.csv")
    assert list(table.columns[-3:]) == ["set", "set_size", "given"]
    held = [row.label in row.set.split("; ") for row in table.itertuples()]
    assert all(held)
    assert [len(row.split("; ")) for row in table["set"]] == list(table["set_size"])
    page = Path("p.html").read_text(encoding="utf-8")
    assert "90% of the sets should hold" in page
    assert "temperatures of the views, from left-out labels" in page


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--sets", 1.2], "--sets 1.2 must be a share between 0 and 1"),
        (["--sets", 0.9, "--model", "gcn"], "--sets 0.9: gcn keeps no left-out predictions"),
    ],
)
def test_sets_that_cannot_be_made(program, people: Path, words: list, problem: str) -> None:
    done = program("classify", *ALL_FILES, "--out", "p.csv", *words)
    assert done.code == 2
    assert problem in done.err
