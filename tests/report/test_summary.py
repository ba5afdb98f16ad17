"""Tables of results against cases worked out by hand."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from truegraph.evaluation import Metric
from truegraph.experiments import Condition, Experiment, TrialRecord
from truegraph.experiments.tasks import base as task_module
from truegraph.report.cell_summary import CellSummary, summarise
from truegraph.report.summary import result_tables, write_tables

Values = Sequence[float | None] | dict[int, float | None]

TABLE1 = Experiment.from_dict(
    {
        "name": "mine",
        "title": "My table",
        "task": "classification",
        "datasets": ["cora"],
        "models": ["gcn", "gat", {"name": "bgcn", "label": "BGCN (ours)"}],
        "labels": [5, 20],
        "metrics": ["accuracy", "brier_score"],
        "trials": 8,
    }
)


def trials(
    experiment: Experiment,
    label: str,
    values: Values,
    *,
    metric: str = "accuracy",
    dataset: str | None = None,
    **conditions: object,
) -> list[TrialRecord]:
    """Make the trials of one cell from a metric's values by seed; an exception means it failed."""
    cell = next(
        cell
        for cell in experiment.cells()
        if cell.label == label
        and cell.dataset == (dataset or cell.dataset)
        and all(cell.conditions[name] == value for name, value in conditions.items())
    )
    by_seed = values if isinstance(values, dict) else dict(enumerate(values))
    return [
        TrialRecord(
            task=cell.task,
            dataset=cell.dataset,
            model=cell.model,
            label=cell.label,
            settings=cell.settings,
            conditions=cell.conditions,
            seed=seed,
            status="done",
            metrics={metric: value},
            details={},
            seconds=1.5,
            peak_memory_mb=None,
            versions={"truegraph": "0"},
            fingerprint="f" * 64,
            source="embedded",
            notes=(),
            commit=None,
            error=None,
            finished="2024-01-01T00:00:00+00:00",
        )
        for seed, value in by_seed.items()
    ]


def failure(record: TrialRecord) -> TrialRecord:
    values = {**vars(record), "status": "failed", "metrics": {}, "error": "out, of\nmemory"}
    return TrialRecord(**values)


def chosen(cells: list[CellSummary], **wanted: object) -> CellSummary:
    [cell] = [
        cell
        for cell in cells
        if all(
            (cell.conditions | vars(cell))[name] == value
            for name, value in ({"metric": "accuracy"} | wanted).items()
        )
    ]
    return cell


LOW = [0.700, 0.710, 0.690, 0.720, 0.705, 0.695]
HIGH = [0.741, 0.753, 0.735, 0.766, 0.752, 0.743]  # all six larger: p = 2 / 2**6 = 0.03125


def test_mean_spread_and_the_papers_figure_by_hand() -> None:
    records = trials(TABLE1, "gcn", [0.70, 0.72, 0.74, 0.72], labels=5)
    cell = chosen(summarise(records, TABLE1), label="gcn")
    found = cell.summary
    assert found is not None
    assert found.mean == pytest.approx(0.72)
    assert found.std == pytest.approx(np.sqrt(0.0002))  # divided by n, not n - 1
    assert found.standard_error == pytest.approx(np.sqrt(0.0002) / 2)
    assert found.n == 4
    assert cell.paper is not None
    assert (cell.paper.mean, cell.paper.std) == (0.700, 0.037)
    assert cell.difference == pytest.approx(0.02)


def test_the_best_is_bold_only_if_significantly_better_than_the_second() -> None:
    records = [
        *trials(TABLE1, "gcn", LOW, labels=5),
        *trials(TABLE1, "gat", [value - 0.1 for value in LOW], labels=5),
        *trials(TABLE1, "BGCN (ours)", HIGH, labels=5),
    ]
    cells = summarise(records, TABLE1)
    best = chosen(cells, label="BGCN (ours)")
    assert best.bold
    assert best.against == "gcn"
    assert best.p_value == pytest.approx(0.03125)
    assert [chosen(cells, label=name).bold for name in ("gcn", "gat")] == [False, False]
    assert chosen(cells, label="gcn").p_value is None


def test_five_pairs_can_never_be_significant() -> None:
    records = trials(TABLE1, "gcn", LOW[:5], labels=5)
    records += trials(TABLE1, "gat", HIGH[:5], labels=5)
    best = chosen(summarise(records, TABLE1), label="gat")
    assert best.p_value == pytest.approx(2 / 2**5)
    assert not best.bold


def test_only_common_seeds_are_paired_and_the_others_still_count_for_the_mean() -> None:
    extra = {6: 0.9, 7: 0.9}
    records = trials(TABLE1, "gcn", LOW, labels=5)
    records += trials(TABLE1, "gat", dict(enumerate(HIGH)) | extra, labels=5)
    best = chosen(summarise(records, TABLE1), label="gat")
    assert best.p_value == pytest.approx(0.03125)
    assert best.summary is not None
    assert best.summary.n == 8


def test_no_common_seed_no_test() -> None:
    records = trials(TABLE1, "gcn", LOW, labels=5)
    records += trials(TABLE1, "gat", {seed + 10: v for seed, v in enumerate(HIGH)}, labels=5)
    best = chosen(summarise(records, TABLE1), label="gat")
    assert (best.against, best.p_value, best.bold) == ("gcn", None, False)


def test_a_higher_mean_from_other_seeds_is_not_called_better() -> None:
    # gat is ahead by one lucky seed of its own, and behind on every common one.
    records = trials(TABLE1, "gat", dict(enumerate(LOW)) | {6: 1.0}, labels=5)
    records += trials(
        TABLE1, "gcn", [value + 0.001 * (1 + s) for s, value in enumerate(LOW)], labels=5
    )
    cells = summarise(records, TABLE1)
    best = chosen(cells, label="gat")
    assert best.p_value == pytest.approx(0.03125)
    assert not any(cell.bold for cell in cells)


def test_undefined_values_and_failures_are_left_out_and_counted() -> None:
    records = trials(TABLE1, "gcn", [0.7, None, float("nan"), 0.8], labels=5)
    records[3] = failure(records[3])
    cell = chosen(summarise(records, TABLE1), label="gcn")
    assert cell.values == {0: 0.7}
    assert cell.failed == 1


def test_a_cell_without_any_value() -> None:
    records = [failure(record) for record in trials(TABLE1, "gcn", LOW, labels=5)]
    records += trials(TABLE1, "gat", HIGH, labels=5)
    cells = summarise(records, TABLE1)
    assert chosen(cells, label="gcn").summary is None
    assert chosen(cells, label="gcn").difference is None
    assert not chosen(cells, label="gat").bold  # there is no second best
    overview = result_tables(cells, TABLE1)[0]
    assert [row[1].text for row in overview.cells()] == ["failed", "74.8 ± 1.0"]


def test_lower_is_better_for_some() -> None:
    records = trials(TABLE1, "gcn", LOW, metric="brier_score", labels=5)
    records += trials(TABLE1, "gat", HIGH, metric="brier_score", labels=5)
    cells = summarise(records, TABLE1)
    assert chosen(cells, label="gcn", metric="brier_score").bold
    assert not chosen(cells, label="gat", metric="brier_score").bold


def test_settings_are_compared_apart() -> None:
    records = trials(TABLE1, "gcn", HIGH, labels=5) + trials(TABLE1, "gat", LOW, labels=20)
    assert all(cell.against is None for cell in summarise(records, TABLE1))


def test_trials_of_other_experiments_are_no_cells() -> None:
    other = Experiment.from_dict(TABLE1.to_dict() | {"labels": [10]})
    assert summarise(trials(other, "gcn", LOW), TABLE1) == []
    assert result_tables([], TABLE1) == []


def test_overview_has_a_hole_where_nothing_ran() -> None:
    records = trials(TABLE1, "gcn", LOW, labels=5) + trials(TABLE1, "gat", HIGH, labels=20)
    overview, full, all_metrics = result_tables(summarise(records, TABLE1), TABLE1)
    assert overview.rows[0] == ["model", "cora\nlabels 5", "cora\nlabels 20"]
    texts = [[entry.text for entry in row] for row in overview.cells()]
    assert texts == [["gcn", "70.3 ± 1.0", ""], ["gat", "", "74.8 ± 1.0"]]
    assert overview.cells()[0][1].note == "paper 70.0"
    assert "Conditions: split random, component full." in overview.caption
    assert full.rows[0][:4] == ["data set", "labels", "model", "accuracy %"]
    assert [entry.text for entry in full.cells()[0]] == [
        *("cora", "5", "gcn", "70.3", "1.0", "0.40", "6", "70.0 ± 3.7", "+0.3", "", "")
    ]
    assert all_metrics.rows[0] == ["data set", "labels", "model", "accuracy %"]  # no Brier score
    assert all_metrics.caption.endswith("Higher is better for accuracy %.")


def test_a_tiny_difference_has_no_sign() -> None:
    records = trials(TABLE1, "gcn", [0.69999] * 2, labels=5) + trials(TABLE1, "gat", LOW, labels=5)
    full = result_tables(summarise(records, TABLE1), TABLE1)[1]
    assert full.cells()[0][7].text == "+0.0"


def test_files_hold_the_numbers(tmp_path: Path) -> None:
    records = trials(TABLE1, "gcn", LOW, labels=5) + trials(TABLE1, "gat", HIGH, labels=5)
    records[0] = failure(records[0])
    tables = write_tables(tmp_path, records, TABLE1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("table.csv", "table.md", "trials.csv")
    ]
    text = (tmp_path / "table.md").read_text()
    assert text.startswith("# My table\n")
    assert all(f"## {table.heading}\n" in text for table in tables)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    assert lines[0]["labels"] == "5"
    assert float(lines[0]["mean"]) == pytest.approx(np.mean(LOW[1:]))
    assert (lines[0]["trials"], lines[0]["failed"], lines[0]["paper_mean"]) == ("5", "1", "0.7")
    seeds = list(csv.DictReader(io.StringIO((tmp_path / "trials.csv").read_text())))
    assert [line["seed"] for line in seeds] == [str(seed) for seed in [*range(6), *range(6)]]
    assert (seeds[0]["status"], seeds[0]["error"]) == ("failed", "out, of\nmemory")
    assert float(seeds[1]["accuracy"]) == LOW[1]
    assert seeds[1]["peak_memory_mb"] == ""


def test_files_before_the_first_trial(tmp_path: Path) -> None:
    assert write_tables(tmp_path, [], TABLE1) == []
    assert "No trial is done yet" in (tmp_path / "table.md").read_text()


# Other tasks, with metrics and conditions of their own.


@pytest.fixture
def new_task(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def register(name: str, metrics: dict[str, Metric], models: Sequence[str]) -> None:
        module = ModuleType(f"tests_task_{name}")
        adapter = SimpleNamespace(
            name=name,
            metrics=metrics,
            models=models,
            keeps=(),
            conditions={"share": Condition((0.85,), float)},
        )
        module.Adapter = lambda: adapter  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(task_module.TASKS, name, f"{module.__name__}:Adapter")

    return register


PERCENT = {name: Metric(f"{name} %", "higher", percent=True, digits=1) for name in ("auc", "ap")}


def test_links_are_compared_with_their_base_models(new_task) -> None:
    new_task("links", PERCENT, ["vgae", "bvgae", "gae", "bgae", "adamic-adar"])
    links = Experiment.from_dict(
        {
            "name": "links",
            "task": "links",
            "datasets": ["cora"],
            "models": ["vgae", "bvgae", "gae", "bgae", "adamic-adar"],
        }
    )
    records = [
        *trials(links, "vgae", [value + 0.2 for value in LOW], metric="auc"),
        *trials(links, "bvgae", [value + 0.2 for value in HIGH], metric="auc"),
        *trials(links, "gae", HIGH, metric="auc"),
        *trials(links, "bgae", LOW, metric="auc"),
        *trials(links, "adamic-adar", [0.99] * 6, metric="auc"),
    ]
    cells = summarise(records, links)
    assert [cell.label for cell in cells if cell.bold] == ["bvgae"]
    bayesian = chosen(cells, label="bvgae", metric="auc")
    assert bayesian.against == "vgae"
    assert bayesian.paper is not None
    assert bayesian.paper.mean == 0.922
    worse = chosen(cells, label="bgae", metric="auc")
    assert worse.p_value == pytest.approx(0.03125)  # significant, but the wrong way round
    headings = [table.heading for table in result_tables(cells, links)]
    assert headings == ["Auc %", "Auc %, in full", "Ap %", "Ap %, in full"]


def test_recommendation_without_spread_in_the_paper(new_task) -> None:
    metrics = dict.fromkeys(("recall@20", "ndcg_ngcf@20", "coverage"), PERCENT["auc"])
    new_task("recommendation", metrics, ["ngcf", "bngcf"])
    experiment = Experiment.from_dict(
        {
            "name": "r",
            "task": "recommendation",
            "datasets": ["ml100k", "yelp2018"],
            "models": ["ngcf", "bngcf"],
        }
    )
    records = trials(experiment, "ngcf", [0.29], metric="recall@20", dataset="yelp2018")
    records += trials(experiment, "bngcf", [0.3], metric="recall@20", dataset="yelp2018")
    tables = result_tables(summarise(records, experiment), experiment)
    overview, full = tables[:2]
    assert overview.rows[0] == ["model", "yelp2018"]
    assert [entry.text for entry in overview.cells()[0]] == ["ngcf", "29.0"]  # one trial: no spread
    assert full.cells()[0][6].text == "11.3"
    assert tables[-1].heading == "All metrics"


def test_data_sets_are_counted_not_compared() -> None:
    experiment = Experiment.from_dict(
        {
            "name": "d",
            "task": "datasets",
            "datasets": ["cora", "citeseer"],
            "models": ["statistics"],
        }
    )
    records = trials(experiment, "statistics", [2708], metric="nodes")
    [table] = result_tables(summarise(records, experiment), experiment)
    assert table.rows[0][:2] == ["data set", "model"]
    nodes = table.cells()[0][2]
    assert (nodes.text, nodes.note, nodes.bold) == ("2708", "paper 2485", False)


def test_all_metrics_say_what_is_better() -> None:
    records = trials(TABLE1, "gcn", LOW, labels=5)
    records += trials(TABLE1, "gat", HIGH, metric="brier_score", labels=5)
    table = result_tables(summarise(records, TABLE1), TABLE1)[-1]
    texts = [[entry.text for entry in row] for row in table.cells()]
    assert texts == [["cora", "gcn", "70.3 ± 1.0", "-"], ["cora", "gat", "-", "0.748 ± 0.010"]]
    assert table.caption.endswith("Higher is better for accuracy %; lower is better for Brier.")


def test_a_named_model_is_compared_with_all_others() -> None:
    experiment = replace(TABLE1, compare="BGCN (ours)")
    records = [
        *trials(experiment, "BGCN (ours)", HIGH, labels=5),
        *trials(experiment, "gcn", LOW, labels=5),
        *trials(experiment, "gat", [*HIGH[:5], 0.763], labels=5),
        *trials(experiment, "gcn", LOW, labels=20),  # without a partner
    ]
    table = result_tables(summarise(records, experiment), experiment)[-1]
    assert table.heading == "BGCN (ours) against each model"
    assert table.rows[0][2:] == ["against", "trials", "accuracy %", "worst", "p", "Brier", "p"]
    texts = [[entry.text for entry in row] for row in table.cells()]
    assert texts == [
        ["cora", "5", "gcn", "6", "+4.5", "+4.1", "0.031", "", ""],
        ["cora", "5", "gat", "6", "-0.3", "-2.0", "1", "", ""],
    ]
    assert [row[4].bold for row in table.cells()] == [True, False]
    assert "BGCN" not in result_tables(summarise(records, TABLE1), TABLE1)[-1].heading


def test_what_is_better_decides_the_worst_trial_and_the_bold() -> None:
    experiment = replace(TABLE1, compare="gat", metrics=("brier_score",))
    records = trials(experiment, "gcn", HIGH, metric="brier_score", labels=5)
    records += trials(experiment, "gat", LOW, metric="brier_score", labels=5)
    [row] = result_tables(summarise(records, experiment), experiment)[-1].cells()
    assert [entry.text for entry in row[3:]] == ["-0.045", "-0.041", "0.031"]
    assert row[3].bold
