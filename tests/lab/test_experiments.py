"""Experiments: their files, their trials, and what is written of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.__main__ import main
from lab.digests import digest, refreshed
from lab.experiment import Experiment, experiments, load, parse
from lab.points import build_graph, spreading_accuracy
from lab.printed import printed
from lab.rows import MODELS as ROWS
from lab.store import Trial, committed, fresh, runs, trials_of, write_table
from lab.suggestions import hard_negatives, suggestion_metrics
from lab.summary import Findings, tables
from lab.write import write
from scipy.sparse import csr_array

from lab import same_science
from truegraph.errors import InputError
from truegraph.runner import read_trials

MINE = """
title = "Propagation"
task = "classify"
datasets = ["cora"]
trials = 2
metrics = ["accuracy"]
compare = "spread"
models = [
    {{ name = "label-propagation", label = "spread"{options} }},
    {{ name = "{rival}" }},
]

[conditions]
labels = [5, 10]
"""

Made = Callable[..., Path]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return a function that writes an experiment of one's own; runs and results are apart."""
    monkeypatch.setenv("TRUEGRAPH_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TRUEGRAPH_RESULTS", str(tmp_path / "results"))
    (tmp_path / "results").mkdir()

    def made(options: str = "", rival: str = "label-spreading") -> Path:
        path = tmp_path / "mine.toml"
        path.write_text(MINE.format(options=options, rival=rival), encoding="utf-8")
        return path

    return made


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", experiments())
def test_builtin_experiments_name_what_exists(name: str) -> None:
    from truegraph.classify.models import MODELS as CLASSIFIERS
    from truegraph.links.names import MODELS as LINKS
    from truegraph.recommend.names import MODELS as RECOMMENDERS

    known = {
        "classify": {*CLASSIFIERS, "knn", "gdc", "gdc-appnp"},
        "links": {*LINKS, "pagerank", "learned-graph"},
        "suggestions": {*LINKS},
        "recommend": {*RECOMMENDERS},
        "points": {"learned", "knn", "umap"},
        "rows": {*ROWS},
        "statistics": {"statistics"},
    }
    found = load(name)
    assert {entry.name for entry in found.models} <= known[found.task]
    for entry in found.models:
        own = {(e.name, str(e.options)) for e in load(entry.source).models}
        assert (entry.name, str(entry.options)) in own  # trials of others are found there


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "clasify"}, "no task.*classify"),
        ({"metrics": ["acuracy"]}, "no metric of classify.*accuracy"),
        ({"conditions": {"label": 5}}, "no condition of classify.*labels"),
        ({"dataset": ["cora"]}, "no key of the experiment.*datasets"),
        ({"compare": "gnc"}, "no label.*gcn"),
        ({"models": [{"name": "gcn"}, {"name": "gcn"}]}, "label twice"),
        ({"models": [{"name": "gcn", "option": {}}]}, "key of a model.*options"),
    ],
)
def test_mistakes_are_told_with_what_was_meant(change: dict[str, Any], message: str) -> None:
    good = {
        "title": "t",
        "task": "classify",
        "datasets": ["cora"],
        "trials": 1,
        "metrics": ["accuracy"],
        "models": [{"name": "gcn"}],
    }
    assert parse("mine", good).name == "mine"
    with pytest.raises(InputError, match=message):
        parse("mine", good | change)


def test_options_of_one_data_set_and_nothing() -> None:
    by_data = {cell.dataset: cell.options for cell in load("table1").cells() if cell.model == "gat"}
    assert by_data["pubmed"]["output_heads"] == 8
    assert by_data["cora"] == {}
    assert load("early_stopping").models[0].options == {"patience": None}


# --- trials ---------------------------------------------------------------------------------------


def test_a_run_goes_on_and_its_page_is_written(mine: Made, capsys: pytest.CaptureFixture) -> None:
    path = mine()
    assert main([str(path), "--trials", "1", "--labels", "5", "--jobs", "1"]) == 0
    assert main([str(path), "--trials", "2", "--labels", "5", "--jobs", "1"]) == 0
    assert "4 trials wanted, 2 kept from before, 2 run" in capsys.readouterr().out
    assert len(fresh("mine")) == 4
    page, _ = Path(write(str(path))[1]), write(str(path))
    text = page.read_text(encoding="utf-8")
    assert "| data | label-spreading |" in text
    assert text.count("<!-- table mine -->") == 1
    kept = committed("mine", "classify")
    assert {t.key: t.metrics["accuracy"] for t in kept} == pytest.approx(
        {t.key: t.metrics["accuracy"] for t in fresh("mine")}, abs=1e-5
    )
    assert {"seed": 1, "model": "label-spreading"}.items() <= vars(kept[-1]).items()


def test_a_run_that_is_killed_goes_on(mine: Made) -> None:
    words = [str(mine()), "--trials", "12", "--labels", "5", "--jobs", "1"]
    process = subprocess.Popen([sys.executable, "-m", "lab", *words], stdout=subprocess.DEVNULL)
    file = runs() / "mine" / "trials.jsonl"
    limit = time.monotonic() + 300
    while len(read_trials(file)) < 2 and time.monotonic() < limit:
        time.sleep(0.02)
    process.kill()
    process.wait(60)
    kept = {trial["key"]: trial["finished"] for trial in read_trials(file)}
    assert 2 <= len(kept) < 24
    assert main(words) == 0
    finished = {trial["key"]: trial["finished"] for trial in read_trials(file)}
    assert len(finished) == len(fresh("mine")) == 24
    assert kept.items() <= finished.items()  # none of those kept was run again


def test_a_failed_trial_is_told_and_counted(mine: Made, capsys: pytest.CaptureFixture) -> None:
    path = mine(options=", options = { alhpa = 0.5 }")
    assert main([str(path), "--trials", "1", "--labels", "5", "--jobs", "1"]) == 1
    told = capsys.readouterr().out
    assert "1 failed" in told
    assert "alpha" in told
    assert len(fresh("mine")) == 1


def test_unknown_names_are_told(capsys: pytest.CaptureFixture) -> None:
    assert main(["tabel1"]) == 2
    assert "table1" in capsys.readouterr().err
    assert main(["same_science", "links2"]) == 2


def test_same_science_compares_by_seed(mine: Made) -> None:
    experiment = load(str(mine()))
    job = next(experiment.cells())
    old = [_trial(job, seed, 0.5 + 0.01 * seed) for seed in range(4)]
    write_table(experiment, old)
    folder = Path(__import__("os").environ["TRUEGRAPH_RUNS"]) / "mine"
    folder.mkdir(parents=True)
    lines = [_line(job, seed, 0.6 + 0.01 * seed) for seed in range(2)]
    (folder / "trials.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    [row] = same_science.compared(experiment)
    assert row[3:7] == ["2", "50.50", "60.50", "+10.00"]
    assert row[-1] == "differs"


def _trial(cell: Any, seed: int, accuracy: float) -> Trial:
    where = (cell.dataset, cell.conditions, cell.model, cell.options)
    return Trial(*where, seed, {"accuracy": accuracy}, 1.0, "0.1.0")


def _line(cell: Any, seed: int, accuracy: float) -> str:
    job = cell.job(seed, "f")
    done = {"status": "done", "metrics": {"accuracy": accuracy}, "seconds": 1.0, "version": "0"}
    return json.dumps({"key": json.dumps(job), **job, **done})


# --- tables ---------------------------------------------------------------------------------------


def _findings(values: dict[str, list[float]], task: str = "classify", **more: Any) -> Findings:
    base = {"title": "t", "datasets": ["cora"], "trials": 9, "metrics": ["accuracy"]}
    models = [{"name": name} for name in values]
    experiment: Experiment = parse("made", base | {"task": task, "models": models} | more)
    metric = experiment.metrics[0]
    found = {}
    for cell in experiment.cells():
        for seed, value in enumerate(values[cell.model]):
            where = (cell.dataset, cell.conditions, cell.model, cell.options)
            trial = Trial(*where, seed, {metric: value}, 1.0, "0.1.0")
            found[trial.key] = trial
    return Findings(experiment, found)


def test_the_best_is_bold_where_it_is_significantly_better() -> None:
    better = [0.80 + 0.01 * seed for seed in range(9)]
    worse = [value - 0.02 for value in better]
    found = _findings({"gcn": worse, "bgcn": better}, compare="bgcn")
    text = tables(found)
    assert "**84.0** ± 2.6 (74.2)" in text
    assert "82.0 ± 2.6 (70.0)" in text
    assert "| cora | +2.0* |" in text
    level = _findings({"gcn": better, "bgcn": [*better[:-1], 0.881]})
    assert "**8" not in tables(level)


def test_bayesian_models_are_tested_against_their_base() -> None:
    base = [0.90 + 0.001 * seed for seed in range(9)]
    values = {"gae": base, "bgae": [b + 0.01 for b in base], "dglfrm": [b + 0.05 for b in base]}
    found = _findings(values, "links", metrics=["auc"])
    bold = {cell.model for cell in found.cells if cell.key in found.bold("auc")}
    assert bold == {"bgae"}


def test_the_paper_is_quoted_only_where_data_are_as_in_the_paper() -> None:
    conditions = {"labels": 5, "split": "random"}
    assert printed("classify", "cora", "gcn", conditions, "accuracy")[0] == 0.7  # type: ignore[index]
    for change in ({"noise": 0.5}, {"change": "false-edges"}, {"split": "small"}):
        assert printed("classify", "cora", "gcn", conditions | change, "accuracy") is None


def test_digests_and_figures_are_filled() -> None:
    table = digest("table1", "accuracy", " cora labels 5 = Cora ", " GCN; paper:GCN = printed ")
    assert table.splitlines()[0] == "| accuracy % | Cora | trials |"
    assert table.splitlines()[3] == "| printed | 70.0 | - |"
    text = "1.0<!--=table1/GCN/cora labels 5/accuracy-->"
    assert re.fullmatch(r"\d\d\.\d<!--=.*-->", refreshed(text))
    with pytest.raises(InputError, match="does not have"):
        digest("table1", "accuracy", "cora labels 5", "GNC")


def test_committed_tables_belong_to_experiments() -> None:
    for name in experiments():
        found = Findings(load(name), trials_of(load(name)))
        assert found.cells, name
        for key, _ in found.trials:
            if any(key == cell.key for cell in found.cells):
                break
    folder = Path(__file__).parents[2] / "results"
    assert {path.name.removesuffix(".csv.gz") for path in folder.glob("*.csv.gz")} <= {
        *experiments(),
        "node_temperatures",
        "prediction_sets",
    }
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_500_000


# --- what trials measure --------------------------------------------------------------------------


def test_suggestions_are_counted_and_compared_with_what_was_stated() -> None:
    right = np.repeat([True, False], [60, 140])
    found = suggestion_metrics(right, np.repeat([0.6, 0.3], 100))
    assert found["precision_100"] == 0.6
    assert found["stated_100"] == pytest.approx(0.6)
    assert found["largest_error"] == pytest.approx(0.6)
    assert suggestion_metrics(right[:0], np.zeros(0))["calibration_error"] is None


def test_hard_negatives_are_no_links() -> None:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((120, 120)) < 0.05, 1)
    truth = csr_array((upper | upper.T).astype(float))
    links = np.argwhere(upper)[:10]
    found = hard_negatives(truth, truth, links, np.random.default_rng(1))
    assert found.shape == (10, 50, 2)
    pairs = found.reshape(-1, 2)
    assert not np.asarray(truth[pairs[:, 0], pairs[:, 1]]).any()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (found[:, :25, 0] == links[:, :1]).all()


@pytest.mark.parametrize(
    "options", [{"weights": "binary"}, {"weights": "self-tuned", "mutual": True}]
)
def test_neighbour_graphs_are_symmetric_and_spread_labels(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    points = rng.normal(size=(80, 3)) + 6.0 * labels[:, None]
    graph = build_graph(points, "knn", {"k": 5, **options})
    assert (graph != graph.T).nnz == 0
    assert np.diff(graph.indptr).min() > 0
    assert spreading_accuracy(graph, labels, 5, 0) > 0.9
    with pytest.raises(InputError, match="binary, gaussian"):
        build_graph(points, "knn", {"k": 5, "weights": "cosine"})
