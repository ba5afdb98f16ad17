"""``truegraph classify``: usage, one's own files, and a data set with tiny settings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.cli.classify import MODELS
from truegraph.report.trials import METRICS

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
    options = ["--models", "bgcn", "--out", "p.csv", "--graph-out", "g.csv", "--json"]
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
        options = ["--seed", seed, "--jobs", jobs, "--quiet", "--samples", 4, "--models", model]
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
    options = ["--models", model, "--out", "p.csv", "--json", "--quiet"]
    done = program("classify", *files, "--labels", "labels.csv", *options)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert any(note in said for said in document["notes"])
    assert document["model"] == model
    assert document["learned_edges"] is None
    assert sum(document["predicted"].values()) == document["statistics"]["nodes"] - 12
    assert right_share(people / "p.csv") > 0.9
    assert pd.read_csv("p.csv")["mutual_information"].isna().all()


def test_cora_with_everything_written(program, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "results"
    options = ["--trials", 2, "--seed", 5, "--degree", 10, "--samples", 3, "--out", out]
    done = program("classify", "cora", *options, "--json", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["seeds"] == [5, 6]
    assert (document["dataset"], document["per_class"]) == ("cora", 5)
    for model in ("gcn", "bgcn"):
        assert list(document["models"][model]) == list(METRICS)
        assert all(len(values) == 2 for values in document["models"][model].values())
        assert min(document["models"][model]["accuracy"]) > 0.5
        assert document["seconds"][model] > 0
    assert document["comparisons"]["bgcn"]["against"] == "gcn"
    assert any("share the node embedding of seed 5" in note for note in document["notes"])
    assert np.allclose(document["learned_graphs"]["bgcn"]["mean_degree"], 10, rtol=0.02)
    check_folder(out, document)


def check_folder(out: Path, document: dict) -> None:
    assert {path.name for path in out.iterdir()} == set(document["files"])
    assert json.loads((out / "results.json").read_text()) == document
    assert (out / "table.md").read_text().count("| bgcn") == 1
    for picture in ("reliability.png", "adjacency.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert "How certain the learned graph is" in page
    assert "Edges of node" in page
    assert page.count("<svg ") == 5  # a reliability diagram per model, two graphs, certainty
    assert 'href="results.json"' in page
    table = pd.read_csv(out / "predictions.csv", keep_default_na=False)
    assert len(table) == 2 * 2708
    for model, rows in table.groupby("model"):
        tested = rows[rows["set"] == "test"]
        share = float((tested["label"] == tested["true_label"]).mean())
        assert share == pytest.approx(document["models"][model]["accuracy"][0])
        assert (rows["set"] == "train").sum() == 35


def test_splits_are_those_of_the_library(program) -> None:
    from truegraph.data import load_dataset, random_split
    from truegraph.report.trials import score_trials
    from truegraph.tasks.classify.trials import run_trials

    done = program("classify", "cora", "--models", "label-propagation", "--trials", 2, "--json")
    found = json.loads(done.out)["models"]["label-propagation"]
    cora = load_dataset("cora")
    splits = [random_split(cora.labels, 5, random_state=seed) for seed in (0, 1)]
    results = run_trials(
        "label-propagation", cora.features, cora.graph, cora.labels, splits, [0, 1]
    )
    assert found["accuracy"] == score_trials(cora.labels, splits, results)["accuracy"]


def test_summary_on_the_terminal(program) -> None:
    models = "label-propagation,mlp"
    done = program("classify", "cora", "--models", models, "--trials", 2, "--component", "largest")
    assert done.code == 0, done.err
    assert "Cora, 5 labels per class, 2 random splits with 1,000 test nodes." in done.out
    assert "p vs label-propagation" in done.out
    assert "2 splits are too few for a p-value below 0.05" in done.out


def test_the_listed_models_are_those_of_the_library() -> None:
    from truegraph.tasks.classify.trials import METHODS

    assert set(MODELS) == set(METHODS)


BAD_USAGE = {
    "nothing": ([], "nothing to learn from: give the name of a data set, such as cora, or files"),
    "both": (["cora", *ALL_FILES], "DATASET 'cora' and --edges and --features and --labels are"),
    "no labels": (["--edges", "edges.csv"], "nothing to learn from"),
    "labels alone": (
        ["--labels", "labels.csv", "--out", "p.csv"],
        "--labels alone says too little",
    ),
    "no out": (ALL_FILES, "--out is missing. Name the .csv file for the predictions."),
    "out ending": ([*ALL_FILES, "--out", "p.xls"], "cannot write .xls. Let the name end in .csv."),
    "overwrite": ([*ALL_FILES, "--out", "labels.csv"], "--out labels.csv: would overwrite INPUT"),
    "same twice": ([*ALL_FILES, "--out", "p.csv", "--graph-out", "p.csv"], "are both p.csv"),
    "two models": (
        [*ALL_FILES, "--out", "p.csv", "--models", "gcn,bgcn"],
        "by one model. Name one",
    ),
    "unlearned graph": (
        [*ALL_FILES, "--out", "p.csv", "--models", "gcn", "--graph-out", "g.csv"],
        "--graph-out g.csv: gcn learns no graph. Use refined or bgcn for it.",
    ),
    "trials of files": (
        [*ALL_FILES, "--out", "p.csv", "--trials", "3"],
        "--trials 3 does not go with",
    ),
    "graph of a data set": (["cora", "--graph-out", "g.csv"], "--graph-out g.csv does not go with"),
    "unknown model": (
        ["cora", "--models", "bgcm"],
        "no model is called 'bgcm'. Did you mean 'bgcn'?",
    ),
    "twice": (["cora", "--models", "gcn,gcn"], "--models gcn,gcn names a model twice"),
    "unknown data": (["corra"], "no data set is called 'corra'. Did you mean 'cora'?"),
    "split": (["cora", "--split", "odd"], "--split 'odd' must be one of random, fixed."),
    "component": (["cora", "--component", "x"], "--component 'x' must be one of full, largest."),
    "degree": (["cora", "--degree", "-1"], "--degree -1.0 must be a finite number above 0."),
    "degree of gcn": (
        ["cora", "--models", "gcn", "--degree", "9"],
        "--degree is an option of bgcn",
    ),
    "too many": (["cora", "--per-class", "400"], "fewer than per_class=400"),
    "file as folder": (["cora", "--out", "labels.csv"], "--out labels.csv: is a file."),
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
    assert "labels.csv: at least two classes are needed, found red." in done.err


def test_bad_input_loads_no_torch(process, people: Path) -> None:
    (people / "labels.csv").write_text("node,label\nnobody,red\n")
    code = (
        "import sys; from truegraph.cli.app import run; code = run(sys.argv[1:]); "
        "print('torch' in sys.modules); sys.exit(code)"
    )
    done = process("classify", *ALL_FILES, "--out", "p.csv", code=code)
    assert (done.code, done.out) == (2, "False\n"), done.err
