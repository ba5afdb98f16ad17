"""``truegraph classify`` and ``predict``: one's own files, given labels kept, wrong usage told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

COLOURS = ("blue", "green", "red")
FILES = ["--edges", "edges.csv", "--features", "features.csv", "--labels", "labels.csv"]
COLUMNS = ["node", "label", "given", "prediction", "probability", "predictive_entropy"]
COLUMNS += ["mutual_information", "novelty"]


def right_share(path: str, column: str = "label") -> float:
    table = pd.read_csv(path)
    number = table["node"].str.removeprefix("person ").astype(int).to_numpy()
    return float(np.mean(table[column].to_numpy() == np.array(COLOURS)[number % 3]))


@pytest.fixture(autouse=True)
def files(people: Path) -> Path:
    return people


def test_own_files(program) -> None:
    words = ["--out", "new/p.csv", "--graph-out", "g.csv", "--edges-out", "e.csv", "--sets", 0.9]
    done = program("classify", *FILES, *words)
    assert done.code == 0, done.err
    table = pd.read_csv("new/p.csv")
    assert list(table.columns) == [*COLUMNS, "set", "set_size"]
    assert list(table["node"]) == [f"person {i}" for i in range(60)]
    assert right_share("new/p.csv") == 1.0
    assert table["probability"].between(1 / 3, 1).all()
    assert (table["mutual_information"] <= table["predictive_entropy"] + 1e-6).all()
    assert list(table["given"]) == [True] * 12 + [False] * 48
    assert all(row.prediction in row.set.split("; ") for row in table.itertuples())
    graph, edges = pd.read_csv("g.csv"), pd.read_csv("e.csv")
    assert set(graph["source"]) | set(graph["target"]) == set(table["node"])
    assert edges["probability"].is_monotonic_increasing
    assert set(edges["source_class"]) <= set(COLOURS)
    assert len(edges) == len(pd.read_csv("edges.csv"))
    assert "% of the predicted labels are right (" in done.out
    page = Path("new/p.html").read_text()
    for text in ("No warnings.", "rests on", "Least sure", "Sets of classes", "12 given labels"):
        assert text in page


def test_given_labels_stay_what_was_given(program) -> None:
    labels = pd.read_csv("labels.csv")
    labels.loc[3, "label"] = "red"  # its group is blue
    labels.to_csv("labels.csv", index=False)
    done = program("classify", *FILES, "--out", "p.csv", "--quiet")
    assert done.code == 0, done.err
    table = pd.read_csv("p.csv")
    given = table[table["given"]]
    assert given["label"].tolist() == labels["label"].tolist()
    assert given["prediction"].tolist() != labels["label"].tolist()
    assert "Given labels that the model contradicts" in Path("p.html").read_text()


def test_the_paper_s_model_and_its_options(program) -> None:
    words = ["--model", "bgcn", "--option", "samples=4", "--option", "degree=9", "--json"]
    found = []
    for jobs, seed in ((1, 3), (2, 3), (2, 4)):
        more = ["--jobs", jobs, "--seed", seed, "--out", "p.csv", "--graph-out", "g.csv"]
        done = program("classify", *FILES, *words, *more, "--quiet")
        assert done.code == 0, done.err
        found.append(Path("p.csv").read_bytes())
    assert found[0] == found[1] != found[2]
    document = json.loads(done.out)
    assert document["learned_edges"] == len(pd.read_csv("g.csv"))
    assert document["options"] == {"samples": 4, "degree": 9}
    assert right_share("p.csv") == 1.0


def test_a_saved_model_predicts_new_rows(program) -> None:
    words = ["--model", "label-spreading", "--save", "model", "--out", "p.csv", "--quiet"]
    assert program("classify", *FILES, *words).code == 0
    new = pd.read_csv("features.csv")[20:30]
    new["id"] = [f"new {row}" for row in range(20, 30)]
    new.to_csv("new.csv", index=False)
    done = program("predict", "model", "--features", "new.csv", "--out", "n.csv")
    assert done.code == 0, done.err
    table = pd.read_csv("n.csv")
    assert table["node"].tolist() == new["id"].tolist()
    assert table["prediction"].tolist() == [COLOURS[row % 3] for row in range(20, 30)]
    pd.DataFrame({"source": ["new 20"], "target": ["person 2"]}).to_csv("links.csv", index=False)
    words = ("predict", "model", "--features", "new.csv", "--edges", "links.csv", "--out", "n.csv")
    assert json.loads(program(*words, "--json").out)["rows"] == 10
    pd.DataFrame({"source": ["new 20"], "target": ["nobody"]}).to_csv("links.csv", index=False)
    done = program(*words)
    assert done.code == 2
    assert "node 'nobody' is neither" in done.err


# --- numbers as labels ----------------------------------------------------------------------------


@pytest.fixture
def ages(people: Path) -> pd.DataFrame:
    """Write ages of 57 people of 120 that one column tells roughly."""
    rng = np.random.default_rng(0)
    age = np.round(rng.uniform(18, 90, 120), 1)
    names = [f"person {i}" for i in range(120)]
    table = pd.DataFrame({"id": names, "steps": 100 - age + rng.normal(size=120), "noise": age % 7})
    table.to_csv("people.csv", index=False)
    ages = pd.DataFrame({"node": names, "age": age})
    ages[:57].to_csv("ages.csv", index=False)
    return ages


AGES = ["classify", "--features", "people.csv", "--labels", "ages.csv", "--out", "p.csv"]


def test_ages_are_predicted_as_numbers(program, ages: pd.DataFrame) -> None:
    done = program(*AGES, "--sets", 0.8)
    assert done.code == 0, done.err
    told = [line for line in done.err.splitlines() if "Warning" in line or "sklearn" in line]
    assert told == []
    assert "so numbers are predicted; --target class for classes." in done.err
    assert "80% of the true values within" in done.out
    assert "57 given values, each predicted without itself" in done.out
    table = pd.read_csv("p.csv")
    assert list(table) == [
        *("node", "label", "given", "prediction", "error", "lower", "upper"),
    ]
    assert table["label"][:57].tolist() == ages["age"][:57].tolist()
    rest, truth = table[57:], ages["age"][57:]
    assert (rest["prediction"] - truth).abs().mean() < 5
    assert 0.6 < ((rest["lower"] <= truth) & (truth <= rest["upper"])).mean() <= 1.0
    assert "Least sure" in Path("p.html").read_text()


def test_the_target_can_be_forced(program, ages: pd.DataFrame) -> None:
    done = program(*AGES, "--target", "number", "--json", "--quiet")
    document = json.loads(done.out)
    assert (done.err, document["target"]) == ("", "number")
    assert 0 < document["mean_error"] < ages["age"].std()
    assert document["answer"]["expected"].startswith("90% of the true values within")
    done = program(*AGES, "--model", "gcn")
    assert (done.code, "use auto for numbers" in done.err) == (2, True)
    words = [*AGES, "--target", "class", "--model", "label-spreading", "--quiet"]
    assert program(*words).code == 0
    assert "probability" in pd.read_csv("p.csv")
    done = program(*AGES[:3], "--labels", "labels.csv", "--out", "p.csv", "--target", "number")
    assert (done.code, "is no number; use --target class" in done.err) == (2, True)


def test_numbers_that_nothing_tells_are_an_alarm(program, ages: pd.DataFrame) -> None:
    shuffled = ages.assign(age=np.random.default_rng(1).permutation(ages["age"]))
    shuffled[:57].to_csv("ages.csv", index=False)
    done = program(*AGES, "--json", "--quiet")
    assert done.code == 0, done.err
    assert "hardly better than the mean" in json.loads(done.out)["warnings"][0]


BAD_USAGE = {
    "nothing": ([], "there is nothing to learn from; give --labels"),
    "labels alone": (["--labels", "labels.csv", "--out", "p.csv"], "--labels alone is not enough"),
    "no out": (FILES, "--out is missing; name the .csv file"),
    "out ending": ([*FILES, "--out", "p.xls"], "cannot write .xls; let the name end in .csv"),
    "overwrite": ([*FILES, "--out", "labels.csv"], "--out labels.csv would overwrite INPUT"),
    "same twice": ([*FILES, "--out", "p.csv", "--graph-out", "p.csv"], "are both p.csv"),
    "target": ([*FILES, "--out", "p.csv", "--target", "word"], "--target 'word' must be one of"),
    "two models": ([*FILES, "--out", "p.csv", "--model", "gcn,bgcn"], "names 2 models"),
    "unlearned graph": (
        [*FILES, "--out", "p.csv", "--model", "label-propagation", "--graph-out", "g.csv"],
        "--graph-out g.csv: label-propagation learns no graph",
    ),
    "unknown model": ([*FILES, "--out", "p.csv", "--model", "bgcm"], "Did you mean 'bgcn'?"),
    "unknown option": ([*FILES, "--lables", "x"], "--labels"),
    "unknown option of a model": (
        [*FILES, "--out", "p.csv", "--model", "label-propagation", "--option", "degre=9"],
        "degre",
    ),
    "stray argument": ([*FILES, "stray"], "stray"),
    "edges without features": (
        ["--edges", "edges.csv", *FILES[4:], "--out", "p.csv", "--edges-out", "e.csv"],
        "give --edges and --features",
    ),
    "sets": ([*FILES, "--out", "p.csv", "--sets", "1.2"], "--sets 1.2 must be a share between"),
    "sets of gcn": (
        [*FILES, "--out", "p.csv", "--sets", "0.9", "--model", "label-propagation"],
        "keeps no left-out predictions",
    ),
    "a data set": (
        ["cora", "--models", "gcn,bgcn"],
        "use: truegraph compare classify cora --models gcn,bgcn",
    ),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(program, people: Path, case: str) -> None:
    arguments, message = BAD_USAGE[case]
    before = {path: path.read_bytes() for path in people.iterdir() if path.is_file()}
    done = program("classify", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not done.out
    assert {path: path.read_bytes() for path in people.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("edges.csv", "source,target\nperson 0,nobody\n", "edges.csv, line 2, column 'target'"),
        ("labels.csv", "node,label\nnobody,red\n", "labels.csv, line 2, column 'node'"),
        ("labels.csv", "node,label\nperson 0,red\n", "at least two classes are needed, found red"),
    ],
)
def test_bad_files_name_the_place(program, name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    done = program("classify", *FILES, "--out", "p.csv")
    assert done.code == 2
    assert message in done.err
    assert not Path("p.csv").exists()
