"""The results of an experiment as tables: Markdown, CSV, and rows for a page or a terminal.

Nothing here knows a task: metrics, conditions and models are those of the experiment.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truegraph.data.storage import write_text
from truegraph.evaluation import Metric, Summary
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.naming import Naming
from truegraph.experiments.store import TrialRecord
from truegraph.experiments.tasks.base import find_task
from truegraph.report.cell_summary import CellSummary, summarise
from truegraph.report.comparison import comparison_table
from truegraph.report.paper import rivals
from truegraph.report.tables import Entry, Table, markdown, sentence


def write_tables(
    folder: str | Path, records: Sequence[TrialRecord], experiment: Experiment
) -> list[Table]:
    """Write table.md, table.csv (every cell) and trials.csv (every trial) to a folder.

    Parameters
    ----------
    folder : path-like
    records : sequence of TrialRecord
        As `TrialStore.records` gives them.
    experiment : Experiment

    Returns
    -------
    tables : list of Table
        Those of table.md, the most important one first; `truegraph.report.tables.plain` shows
        one on a terminal.
    """
    cells = summarise(records, experiment)
    tables = result_tables(cells, experiment)
    write_text(Path(folder) / "table.md", markdown_document(tables, experiment))
    write_text(Path(folder) / "table.csv", cells_csv(cells, experiment))
    write_text(Path(folder) / "trials.csv", trials_csv(records, experiment))
    return tables


def result_tables(cells: Sequence[CellSummary], experiment: Experiment) -> list[Table]:
    """Return the tables of an experiment, none of them empty.

    For each main metric (those that the paper prints, or else the first) models against data sets
    and conditions, then the same cells one by one in full; then all metrics of every model; at
    last the model that the experiment names against each of the others.
    """
    if not cells:
        return []
    layout = _Layout(cells, experiment)
    tables = []
    if len({cell.label for cell in cells}) > 1:
        for metric in main_metrics(cells, experiment):
            shown = [cell for cell in cells if cell.metric == metric]
            tables += [layout.overview(shown), layout.in_full(shown)]
    if not tables or len(experiment.metrics) > len(main_metrics(cells, experiment)):
        # The paper's figures stand in the tables above, if there are any.
        shown = [replace(cell, paper=None) for cell in cells] if tables else list(cells)
        tables.append(layout.all_metrics(shown))
    compared = comparison_table(cells, experiment)
    return tables if compared is None else [*tables, compared]


def metrics_table(cells: Sequence[CellSummary], experiment: Experiment) -> Table:
    """Return all metrics of every model: data set, conditions that vary, model, metrics."""
    return _Layout(cells, experiment).all_metrics([replace(cell, paper=None) for cell in cells])


def main_metrics(cells: Sequence[CellSummary], experiment: Experiment) -> list[str]:
    """Return the metrics that the paper prints, or else the first one of the experiment."""
    printed = {cell.metric for cell in cells if cell.paper is not None}
    found = [name for name in experiment.metrics if name in printed]
    return found or [experiment.metrics[0]]


class _Layout:
    """Turns the cells of one experiment into tables."""

    def __init__(self, cells: Sequence[CellSummary], experiment: Experiment) -> None:
        self.experiment = experiment
        self.metrics = find_task(experiment.task).metrics
        self.naming = Naming(cells)

    def overview(self, cells: Sequence[CellSummary]) -> Table:
        """Return one metric, models against settings, as the paper prints it."""
        places = {(cell.label, self.naming.heading(cell)): cell for cell in cells}
        settings = list(dict.fromkeys(setting for _, setting in places))
        rows: list[list[str | Entry]] = [["model", *settings]]
        for label in dict.fromkeys(label for label, _ in places):
            found = [places.get((label, setting)) for setting in settings]
            rows.append([label, *("" if cell is None else self._entry(cell) for cell in found)])
        heading = sentence(self.metrics[cells[0].metric].heading)
        return Table(heading, self._caption(cells), rows)

    def in_full(self, cells: Sequence[CellSummary]) -> Table:
        """Return one metric, one row per cell: mean, spread, trials, the paper's, the test."""
        shown = self.metrics[cells[0].metric]
        heading = ["data set", *self.naming.swept, "model", shown.heading, "std", "s.e.", "trials"]
        rows: list[list[str | Entry]] = [[*heading, "paper", "difference", "tested against", "p"]]
        rows += [
            [
                *self.naming.columns(cell),
                cell.label,
                *_figures(cell, shown),
                *_comparison(cell, shown),
            ]
            for cell in cells
        ]
        caption = (
            "Mean, population standard deviation (std) and standard error (s.e.) over the trials; "
            "the paper's mean ± spread, and ours less the paper's; p-value of Wilcoxon's "
            "signed-rank test, two-sided, on the seeds that both models have."
        )
        title = f"{sentence(shown.heading)}, in full"
        return Table(title, caption + self.naming.fixed_text(), rows)

    def all_metrics(self, cells: Sequence[CellSummary]) -> Table:
        """Return one row per model and setting, one column per metric that has a value."""
        known = {cell.metric for cell in cells if cell.values} or set(self.experiment.metrics)
        shown = [name for name in self.experiment.metrics if name in known]
        headings = [self.metrics[name].heading for name in shown]
        models: dict[tuple[Any, ...], list[CellSummary]] = {}
        for cell in cells:  # one after the other, the metrics of a model in their order
            if cell.metric in known:
                models.setdefault((*cell.setting, cell.label), []).append(cell)
        rows: list[list[str | Entry]] = [["data set", *self.naming.swept, "model", *headings]]
        rows += [
            [*self.naming.columns(found[0]), found[0].label, *(self._entry(cell) for cell in found)]
            for found in models.values()
        ]
        return Table("All metrics", self._caption(cells) + self._directions(shown), rows)

    def _directions(self, names: Sequence[str]) -> str:
        """Return a sentence that says what is better, after a blank."""
        shown = [self.metrics[name] for name in names]
        sides = {
            side: ", ".join(metric.heading for metric in shown if metric.better == side)
            for side in ("higher", "lower")
        }
        parts = [f"{side} is better for {names}" for side, names in sides.items() if names]
        return f" {sentence('; '.join(parts))}." if parts else ""

    def _entry(self, cell: CellSummary) -> Entry:
        """Return mean ± standard deviation, the paper's mean as a note."""
        metric, found = self.metrics[cell.metric], cell.summary
        note = "" if cell.paper is None else f"paper {metric.shown(cell.paper.mean)}"
        if found is None:
            return Entry("failed" if cell.failed else "-", note=note)
        text = metric.shown(found.mean)
        if found.n > 1:
            text += f" ± {metric.shown(found.std)}"
        return Entry(text, value=found.mean, bold=cell.bold, note=note)

    def _caption(self, cells: Sequence[CellSummary]) -> str:
        counts = sorted({len(cell.values) for cell in cells})
        trials = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts = [f"Mean ± standard deviation over {trials} trials per cell."]
        if counts[-1] <= 1:
            parts = ["One trial per cell."]
        if any(cell.p_value is not None for cell in cells):
            rule = (
                "a Bayesian model that is significantly better than its base model"
                if rivals(self.experiment.task)
                else "the best model, where it is significantly better than the second best"
            )
            parts.append(f"Bold: {rule} (Wilcoxon's signed ranks on the same seeds, 5 %).")
        if any(cell.paper is not None for cell in cells):
            parts.append("“paper”: the mean that the paper prints.")
        return " ".join(parts) + self.naming.fixed_text()


def _figures(cell: CellSummary, metric: Metric) -> list[str | Entry]:
    found, failed = cell.summary, f"{cell.failed} failed" if cell.failed else ""
    if found is None:
        return ["-", "", "", Entry("0", note=failed)]
    return [
        Entry(metric.shown(found.mean), value=found.mean, bold=cell.bold),
        *(_spread(found, metric) if found.n > 1 else ("", "")),
        Entry(str(found.n), note=failed),
    ]


def _spread(found: Summary, metric: Metric) -> tuple[str, str]:
    """Return standard deviation and standard error, the latter with a digit more."""
    unit = 100 if metric.percent else 1
    return metric.shown(found.std), f"{unit * found.standard_error:.{metric.digits + 1}f}"


def _comparison(cell: CellSummary, metric: Metric) -> list[str | Entry]:
    paper, difference = "", ""
    if cell.paper is not None:
        spread = "" if cell.paper.std is None else f" ± {metric.shown(cell.paper.std)}"
        paper = metric.shown(cell.paper.mean) + spread
    if cell.difference is not None:
        difference = metric.signed(cell.difference)
    p_value = "" if cell.p_value is None else f"{cell.p_value:.2g}"
    return [paper, difference, cell.against or "", p_value]


def markdown_document(tables: Sequence[Table], experiment: Experiment) -> str:
    """Return tables with their headings and captions as one Markdown document."""
    parts = [f"# {experiment.title}\n"]
    if not tables:
        parts.append("No trial is done yet.\n")
    for table in tables:
        parts += [f"## {table.heading}\n", markdown(table.rows), f"{table.caption}\n"]
    return "\n".join(parts)


def cells_csv(cells: Sequence[CellSummary], experiment: Experiment) -> str:
    """Return one line per cell and metric; shares are shares, not per cent."""
    conditions = list(experiment.conditions)
    heading = ["task", "dataset", *conditions, "model", "label", "metric", "mean", "std"]
    heading += ["standard_error", "trials", "failed", "paper_mean", "paper_std", "paper_bold"]
    heading += ["difference", "tested_against", "p_value", "bold"]
    rows: list[list[Any]] = []
    for cell in cells:
        found, paper = cell.summary, cell.paper
        place = [cell.dataset, *(cell.conditions[name] for name in conditions), cell.model]
        ours = [found.mean, found.std, found.standard_error] if found else [None] * 3
        theirs = [paper.mean, paper.std, paper.bold] if paper else [None] * 3
        counts = [len(cell.values), cell.failed]
        test = [cell.difference, cell.against, cell.p_value, cell.bold]
        rows.append([experiment.task, *place, cell.label, cell.metric, *ours, *counts])
        rows[-1] += [*theirs, *test]
    return _csv([heading, *rows])


def trials_csv(records: Sequence[TrialRecord], experiment: Experiment) -> str:
    """Return one line per trial, done or failed, with every metric that the task has."""
    conditions, metrics = list(experiment.conditions), list(find_task(experiment.task).metrics)
    rest = ["status", "seconds", "peak_memory_mb", "fingerprint", "commit", "finished", "error"]
    heading = ["task", "dataset", *conditions, "model", "label", "settings", "seed"]
    rows = [
        [
            record.task,
            record.dataset,
            *(record.conditions[name] for name in conditions),
            record.model,
            record.label,
            json.dumps(record.settings, sort_keys=True),
            record.seed,
            *(record.metrics.get(name) for name in metrics),
            *(getattr(record, name) for name in rest),
        ]
        for record in records
    ]
    return _csv([[*heading, *metrics, *rest], *rows])


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [_text(value) for value in row] for row in rows
    )
    return stream.getvalue()


def _text(value: Any) -> Any:
    if isinstance(value, float):
        return "" if value != value else f"{value:.10g}"
    return value  # None becomes an empty field
