"""``truegraph reproduce``: runs, continues, shows, and says what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from truegraph.experiments import TrialStore

OWN = """
task = "classification"
title = "My models"
datasets = ["cora", "citeseer"]
labels = [5, 10]
trials = 3
models = ["label-propagation", {name = "label-propagation", label = "nearer", alpha = 0.5}]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    return file


def test_list(program) -> None:
    done = program("reproduce", "--list")
    assert done.code == 0
    names = [line.split()[0] for line in done.out.splitlines()]
    assert {"datasets", "figure1", "figure2", "fixed", "table1"} <= set(names)
    lines = done.out.splitlines()
    assert {line.index(" trials  ") for line in lines} == {lines[0].index(" trials  ")}
    assert re.search(r"^table1 +3000 trials  Accuracy on random splits", done.out, re.M)
    listed = json.loads(program("reproduce", "--list", "--json").out)["experiments"]
    assert {entry["name"]: entry for entry in listed}["table1"]["labels"] == [5, 10, 20]


def test_a_file_of_ones_own(program, own: Path) -> None:
    done = program("reproduce", own, "--jobs", 1)
    assert done.code == 0, done.err
    assert "24 of 24 trials done, 24 just now" in done.out
    assert "nearer" in done.out
    assert "24/24 trials done" in done.err
    folder = own.parent / "runs" / "own"
    for file in ("trials.sqlite", "table.md", "table.csv", "trials.csv"):
        assert (folder / file).is_file()
    assert "# My models" in (folder / "table.md").read_text()
    again = program("reproduce", own, "--jobs", 1)
    assert "24 of 24 trials done, 0 just now" in again.out


def test_a_part_of_it_as_json(program, own: Path, tmp_path: Path) -> None:
    words = ["--datasets", "cora", "--labels", 10, "--models", "nearer", "--trials", 2]
    done = program("reproduce", own, *words, "--out", tmp_path / "r", "--json", "--jobs", 1)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["trials"] == {"wanted": 2, "done": 2, "failed": 0, "missing": 0, "run": 2}
    assert document["out"] == str(tmp_path / "r")
    cells = [cell for cell in document["cells"] if cell["metric"] == "accuracy"]
    assert [(c["dataset"], c["conditions"]["labels"], c["label"]) for c in cells] == [
        ("cora", 10, "nearer")
    ]
    with TrialStore.open(tmp_path / "r") as store:
        values = [record.metrics["accuracy"] for record in store.records()]
    assert cells[0]["mean"] == pytest.approx(sum(values) / 2)
    rest = json.loads(program("reproduce", own, "--out", tmp_path / "r", "--json", "--jobs", 1).out)
    assert rest["trials"]["run"] == 22


def test_quiet(program, own: Path) -> None:
    done = program("reproduce", own, "--labels", 5, "--trials", 1, "--jobs", 1, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_the_statistics_of_the_paper(program, own: Path) -> None:
    done = program("reproduce", "datasets", "--datasets", "cora,citeseer", "--json", "--jobs", 1)
    assert done.code == 0, done.err
    means = {
        (cell["dataset"], cell["conditions"]["component"], cell["metric"]): cell["mean"]
        for cell in json.loads(done.out)["cells"]
    }
    assert means["cora", "largest", "nodes"] == 2485
    assert means["citeseer", "largest", "edges"] == 3668


def test_failed_trials_are_told_in_text_and_exit_code(program, own: Path, monkeypatch) -> None:
    from truegraph.tasks.classify.methods import LabelPropagation

    working = LabelPropagation.spread

    def unlucky(self, graph, labels, train, classes, options):
        if options.alpha == 0.5:
            raise ArithmeticError("no luck")
        return working(self, graph, labels, train, classes, options)

    words = ["reproduce", own, "--jobs", 1, "--labels", 5, "--datasets", "cora", "--trials", 1]
    with monkeypatch.context() as changed:
        changed.setattr(LabelPropagation, "spread", unlucky)
        done = program(*words)
    assert done.code == 1
    assert "failed: nearer on cora" in done.err
    assert "trial 0: ArithmeticError: no luck" in done.err
    assert "Run it again with --retry-failed" in done.err
    assert "1 of 2 trials done" in done.out
    assert program(*words).code == 1
    mended = program(*words, "--retry-failed")
    assert mended.code == 0
    assert "2 of 2 trials done, 1 just now" in mended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "NAME is missing"),
        (["tabel1"], "Did you mean 'table1'?"),
        (["none.toml"], "none.toml: cannot be read"),
        (["own.toml", "--labels", "7"], "labels 7 is not part of experiment 'own'"),
        (["own.toml", "--labels", "five"], "--labels 'five' must be whole numbers"),
        (["own.toml", "--models", "gcn"], "models 'gcn' is not part of experiment 'own'"),
        (["own.toml", "--datasets", "pubmed"], "datasets 'pubmed' is not part"),
        (["own.toml", "--out", "own.toml"], "--out own.toml is a file"),
        (["own.toml", "--cluster", "tcp://127.0.0.1:9", "--jobs", "2"], "jobs=2"),
        (
            ["datasets", "--labels", "5"],
            "experiment 'datasets' has no condition 'labels'",
        ),
        (["table1", "--datasets", "pubmed"], "Or leave data set 'pubmed' out."),
    ],
)
def test_bad_usage(program, own: Path, words: list[str], message: str) -> None:
    done = program("reproduce", *words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
