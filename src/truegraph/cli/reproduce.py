"""``truegraph reproduce``: run an experiment of the paper, or one's own, and show its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.options import INPUT, MODEL, OUTPUT, RUNNING, flag, option
from truegraph.cli.common.outputs import announce, check_target_folder, print_json
from truegraph.cli.common.running import failed_trials, print_table, print_trials, run_stored
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.experiments import Experiment, TrialRecord
    from truegraph.experiments.runner import RunSummary
    from truegraph.report.tables import Table


def reproduce(
    name: str | None = typer.Argument(
        None,
        metavar="NAME|FILE.toml",
        help="A built-in experiment (see --list), or a file with one of your own.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
    list_them: bool = flag(INPUT, "List the built-in experiments.", "--list"),
    datasets: str | None = option(MODEL, "Only these of its data sets.", metavar="NAME,..."),
    labels: str | None = option(MODEL, "Only these numbers of labels per class.", metavar="N,..."),
    models: str | None = option(MODEL, "Only these models, by label or name.", metavar="NAME,..."),
    trials: int | None = option(MODEL, "Trials per cell.", default="the experiment's", least=1),
    out: Path | None = option(
        OUTPUT, "Folder of trials and tables.", metavar="FOLDER", default="runs/NAME"
    ),
    as_json: bool = cli.JSON,
    cache: Path | None = cli.CACHE,
    jobs: int | None = cli.PROCESSES,
    cluster: str | None = option(
        RUNNING, "Run on the Dask cluster of this scheduler, tcp://HOST:PORT.", metavar="ADDRESS"
    ),
    retry_failed: bool = cli.RETRY_FAILED,
    quiet: bool = cli.QUIET,
) -> None:
    """Run an experiment of many trials, and continue it where it was stopped.

    Every finished trial is stored at once: the same command continues after any interruption and
    runs nothing twice.
    """
    if list_them:
        _list(as_json)
        return
    if name is None:
        raise InputError("NAME is missing; give an experiment, such as table1 (see --list).")
    if not quiet:
        announce(f"Running {name} ...")
    from truegraph.experiments import find_experiment

    experiment = find_experiment(name)
    part = experiment.select(
        datasets=_words(datasets), models=_words(models), trials=trials, **_labels(labels)
    )
    folder = out or Path("runs") / experiment.name
    check_target_folder("--out", folder)
    summary = run_stored(
        experiment,
        folder,
        quiet,
        part=part,
        jobs=jobs,
        cluster=cluster,
        cache=cache,
        retry_failed=retry_failed,
    )
    _show(experiment, folder, summary, as_json, quiet)
    if summary.failed:
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    from truegraph.experiments import builtin_experiments

    found = builtin_experiments()
    if as_json:
        print_json({"experiments": [experiment.to_dict() for experiment in found.values()]})
        return
    width = max(map(len, found))
    for experiment in found.values():
        count = len(experiment.cells()) * experiment.trials
        typer.echo(f"{experiment.name:<{width}}  {count:>6} trials  {experiment.title}")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _labels(text: str | None) -> dict[str, list[int]]:
    if text is None:
        return {}
    try:
        return {"labels": [int(word) for word in text.split(",")]}
    except ValueError as error:
        raise InputError(
            f"--labels {text!r} must be whole numbers separated by commas, such as 5,10."
        ) from error


def _show(
    experiment: Experiment, folder: Path, summary: RunSummary, as_json: bool, quiet: bool
) -> None:
    """Write the tables of everything that the folder holds, and print the first one."""
    from truegraph.experiments import TrialStore
    from truegraph.report.summary import write_tables

    with TrialStore.open(folder) as store:
        records = store.records()
    tables = write_tables(folder, records, experiment)
    if as_json:
        print_json(_document(experiment, folder, summary, records))
    elif not quiet:
        _print_summary(folder, summary, records, tables)


def _document(
    experiment: Experiment, folder: Path, summary: RunSummary, records: Sequence[TrialRecord]
) -> dict[str, Any]:
    from truegraph.report.cell_summary import summarise

    return {
        "experiment": experiment.to_dict(),
        "out": str(folder),
        "trials": {
            "wanted": summary.wanted,
            "done": summary.done,
            "failed": summary.failed,
            "missing": summary.missing,
            "run": summary.run,
        },
        "seconds": round(summary.seconds, 3),
        "cells": [_cell(cell) for cell in summarise(records, experiment)],
        "failures": [
            {"cell": str(record.cell), "seed": record.seed, "error": record.error}
            for record in failed_trials(records)
        ],
        "notes": _notes(records),
        "files": ["trials.sqlite", "table.md", "table.csv", "trials.csv"],
    }


def _cell(cell: Any) -> dict[str, Any]:
    found, paper = cell.summary, cell.paper
    return {
        "dataset": cell.dataset,
        "conditions": cell.conditions,
        "model": cell.model,
        "label": cell.label,
        "metric": cell.metric,
        "trials": len(cell.values),
        "failed": cell.failed,
        "mean": None if found is None else found.mean,
        "std": None if found is None else found.std,
        "standard_error": None if found is None else found.standard_error,
        "paper": None if paper is None else paper.mean,
        "difference": cell.difference,
        "p_value": cell.p_value,
        "bold": cell.bold,
    }


def _notes(records: Sequence[TrialRecord]) -> list[str]:
    notes = [f"{record.dataset}: {note}" for record in records for note in record.notes]
    versions = sorted({record.versions.get("truegraph", "unknown") for record in records})
    if len(versions) > 1:
        notes.append(f"trials come from different versions of truegraph: {', '.join(versions)}")
    return list(dict.fromkeys(notes))


def _print_summary(
    folder: Path,
    summary: RunSummary,
    records: Sequence[TrialRecord],
    tables: Sequence[Table],
) -> None:
    if tables:
        typer.echo(f"{tables[0].heading}\n")
        print_table(tables[0].rows)
        typer.echo(f"{tables[0].caption}\n")
    print_trials(folder, summary, records)
    for note in _notes(records):
        typer.echo(f"note: {note}")
