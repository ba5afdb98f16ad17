"""The page of a run shows what its trials hold, and nothing that they do not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.evaluation import Metric, expected_calibration_error, reliability_curve
from truegraph.experiments import Condition, Experiment
from truegraph.experiments.tasks import base as task_module
from truegraph.experiments.tasks.classification import packed
from truegraph.report.page import Facts, Page, Picture
from truegraph.report.parts.nodes import node_parts
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run
from truegraph.report.tables import Table

MakeTrial = Callable[..., Any]


@pytest.fixture(scope="module")
def page(made_up_run: Path) -> Page:
    return run_page([Run.read(made_up_run)])


def part(page: Page, heading: str) -> Any:
    [found] = [part for part in page.parts if part.heading == heading]
    return found


def texts(table: Table) -> list[list[str]]:
    return [[entry.text for entry in row] for row in table.cells()]


def test_every_section_is_there(page: Page) -> None:
    assert [part.heading for part in page.parts] == [
        "Accuracy %",
        "Accuracy %, in full",
        "All metrics",
        "Failed trials",
        "Accuracy % against labels",
        "Differences on the same trials",
        "What the Bayesian GCN corrects, by degree (Figure 1)",
        "Corrections by degree",
        "The observed graph and the learned one (Figure 2)",
        "How far confidence can be trusted",
        "Calibration errors, trial by trial and over all",
        "Learned graphs",
        "Time and memory",
        "How this was made",
        "What to know of the data",
    ]
    assert page.title == "Three models & <Cora>"
    assert page.summary == (
        "46 trials of 3 models on cora, 2 failed. By accuracy %, BGCN (ours) is best in all 2 "
        "settings."
    )


def test_pictures_have_a_panel_per_setting_and_say_what_they_show(page: Page) -> None:
    pictures = [part for part in page.parts if isinstance(part, Picture)]
    assert [len(picture.panels) for picture in pictures] == [1, 2, 2, 4, 2]
    for picture in pictures:
        for panel in picture.panels:
            assert re.search(r"\d", panel.alternative), panel.alternative
    differences = part(page, "Differences on the same trials").panels[0].alternative
    assert differences.startswith("cora, labels 5: accuracy, points: BGCN (ours) less each model")
    assert "positive in 8 of 8 trials" in differences


def test_failures_are_listed_with_their_errors(page: Page) -> None:
    table = part(page, "Failed trials")
    assert table.alarm
    error = "MemoryError: no room for <attention> & weights"
    assert texts(table)[0] == ["cora", "5", "GAT <8 heads>", "3", error]
    assert len(table.cells()) == 2
    assert "no room for &lt;attention&gt; &amp; weights" in page.render()


def test_provenance(page: Page) -> None:
    facts = dict(part(page, "How this was made").facts)
    assert facts["trials"] == "46 done of 48, 2 failed"
    assert facts["seeds"] == "0 to 7"
    assert facts["commit"] == "f00d" * 10
    assert facts["torch"] == "2.6"
    assert "c0ffee" * 10 in facts["data cora (full)"]
    assert facts["model BGCN (ours)"] == 'bgcn {"embedding_seed": 0}'
    assert facts["finished"].startswith("2024-05-01T12:00")
    notes = part(page, "What to know of the data").notes
    assert notes == ["cora: a stand-in for <the paper's> data"]


def test_learned_graphs(page: Page) -> None:
    table = part(page, "Learned graphs")
    assert texts(table)[0] == [
        *("cora", "5", "BGCN (ours)", "8", "1,200", "30.0", "80.0", "", "1.0e-09", "global"),
        *("8 of 8", "1.25"),
    ]


def test_versions_that_differ_are_counted(made_up_run: Path, make_trial: MakeTrial) -> None:
    run = Run.read(made_up_run)
    cell = run.experiment.cells()[0]
    other = [
        make_trial(cell, seed, versions={"torch": f"2.{seed}"}, commit=None) for seed in (0, 2)
    ]
    facts = dict(
        part(run_page([Run(Path(), run.experiment, tuple(other))]), "How this was made").facts
    )
    assert facts["torch"] == "2.0 (1 of 2 trials); 2.2 (1 of 2 trials)"
    assert facts["commit"] == "not from a checkout"
    assert facts["seeds"] == "0, 2"


def test_notes_that_differ_in_numbers_are_told_once(
    made_up_run: Path, make_trial: MakeTrial
) -> None:
    experiment = Run.read(made_up_run).experiment
    notes = [(f"{edges:,} learned edges", "a stand-in") for edges in (1200, 1300, 1400)]
    records = [make_trial(experiment.cells()[0], s, notes=found) for s, found in enumerate(notes)]
    page = run_page([Run(Path(), experiment, tuple(records))])
    assert part(page, "What to know of the data").notes == [
        "cora: 1,200 learned edges (and 2 more with other numbers)",
        "cora: a stand-in",
    ]


# The paper's figures, from trials worked out by hand.


def nodes_run(make_trial: MakeTrial, folder: Path, **details: dict[int, dict[str, Any]]) -> Run:
    """Make a run of GCN and BGCN on Cora; details by model and seed."""
    experiment = Experiment.from_dict(
        {"name": "m", "task": "classification", "datasets": ["cora"], "models": ["gcn", "bgcn"]}
    )
    records = [
        make_trial(cell, seed, details=found)
        for cell in experiment.cells()
        for seed, found in details.get(cell.model, {}).items()
    ]
    return Run(folder, experiment, tuple(records))


def bits(*values: int) -> str:
    return packed(np.array(values, dtype=bool))


def test_corrections_are_counted_on_common_seeds(make_trial: MakeTrial) -> None:
    curve = {"confidence": [0.5], "accuracy": [0.5], "count": [5]}
    high = bits(0, 0, 0, 1, 1)

    def of(*correct: int) -> dict[str, Any]:
        return {"correct": bits(*correct), "high_degree": high, "reliability": curve}

    run = nodes_run(
        make_trial,
        Path(),
        gcn={0: of(1, 0, 0, 1, 0), 1: of(1, 1, 0, 1, 1), 7: of(0, 0, 0, 0, 0)},
        bgcn={0: of(1, 1, 0, 0, 1), 1: of(1, 1, 1, 1, 1)},
    )
    table = next(found for found in node_parts(run) if isinstance(found, Table))
    low, high_row = texts(table)
    # Low: trial 0 corrects 1 of 3 nodes and of 2 mistakes, trial 1 corrects 1 of 3 and of 1.
    assert low[:4] == ["cora", "low", "3", "33.3"]
    assert low[5] == "75.0"
    # High: trial 0 corrects 1 of 2 nodes, its only mistake; trial 1 has nothing to correct.
    assert high_row[:4] == ["cora", "high", "2", "25.0"]
    assert high_row[5] == "100.0"
    # Spoiled: 1 of 1 right ones in trial 0, 0 of 2 in trial 1.
    assert high_row[7] == "50.0"


def test_reliability_states_the_error_of_the_tables(
    make_trial: MakeTrial,
) -> None:
    rng = np.random.default_rng(1)
    labels, probabilities = rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300)
    found, errors = {}, []
    for seed, rows in enumerate(np.split(np.arange(300), [40, 110])):
        curve = reliability_curve(labels[rows], probabilities[rows])
        errors.append(expected_calibration_error(labels[rows], probabilities[rows]))
        found[seed] = {
            "reliability": {
                "confidence": [None if np.isnan(v) else v for v in curve.confidence],
                "accuracy": [None if np.isnan(v) else v for v in curve.accuracy],
                "count": curve.count.tolist(),
            }
        }
    picture, table = node_parts(nodes_run(make_trial, Path(), gcn=found))
    assert f"gcn {np.mean(errors):.1%}" in picture.panels[0].alternative
    axes = picture.panels[0].figure.axes[0]
    together = reliability_curve(labels, probabilities)
    filled = together.count > 1
    assert np.allclose(axes.lines[1].get_ydata(), together.accuracy[filled])
    assert axes.lines[1].get_label() == f"gcn {np.mean(errors):.1%}"
    [row] = texts(table)
    assert row[1:3] == ["gcn", "3"]
    assert row[3:] == [
        f"{100 * value:.1f}" for value in (np.mean(errors), together.calibration_error)
    ]


@pytest.mark.parametrize("file", ["graphs/gone.npz", "../outside.npz"])
def test_graphs_that_cannot_be_read_leave_a_note(
    make_trial: MakeTrial, tmp_path: Path, file: str
) -> None:
    (tmp_path / "outside.npz").write_bytes(b"PK")
    folder = tmp_path / "run"
    folder.mkdir()
    [notes] = node_parts(nodes_run(make_trial, folder, bgcn={0: {"graph_file": file}}))
    assert notes.heading == "Graphs that cannot be shown"
    assert ("no such file" if "gone" in file else "outside the run's folder") in notes.notes[0]


# Other tasks and unusual runs.


def test_another_task_has_its_tables_and_no_figures_of_nodes(
    make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {
        name: Metric(name.upper(), "higher", percent=True, digits=1) for name in ("auc", "ap")
    }
    module = ModuleType("made_up_links")
    module.Links = lambda: SimpleNamespace(  # type: ignore[attr-defined]
        name="links",
        metrics=metrics,
        models=("vgae", "bvgae"),
        keeps=(),
        conditions={"oracle": Condition((False,), bool)},
    )
    monkeypatch.setitem(sys.modules, "made_up_links", module)
    monkeypatch.setitem(task_module.TASKS, "links", "made_up_links:Links")
    scores = {"vgae": 0.90, "bvgae": 0.91}
    experiment = Experiment.from_dict(
        {"name": "l", "task": "links", "datasets": ["cora"], "models": ["vgae", "bvgae"]}
    )
    records = [
        make_trial(cell, seed, notes=(), metrics={"auc": scores[cell.model], "ap": None})
        for cell in experiment.cells()
        for seed in range(4)
    ]
    page = run_page([Run(Path(), experiment, tuple(records))])
    assert [part.heading for part in page.parts] == [
        *("AUC", "AUC, in full", "AP", "AP, in full", "Differences on the same trials"),
        *("Time and memory", "How this was made"),
    ]
    assert "bvgae less each model" in page.parts[4].panels[0].alternative
    page.render()


def test_a_run_before_its_first_trial(made_up_run: Path) -> None:
    run = Run(Path(), Run.read(made_up_run).experiment, ())
    page = run_page([run])
    assert page.summary == "No trial is done yet."
    [facts] = page.parts
    assert isinstance(facts, Facts)
    assert ("trials", "0 done of 48") in facts.facts


def test_several_runs_on_one_page(made_up_run: Path) -> None:
    run = Run.read(made_up_run)
    page = run_page([run, Run(Path(), run.experiment, ())])
    assert page.parts[0].heading == "mine: Accuracy %"
    assert page.summary.endswith("mine: No trial is done yet.")
    with pytest.raises(InputError, match="runs is empty"):
        run_page([])
