"""``truegraph reproduce``: run an experiment of the paper, or one's own, and show its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.outputs import check_target_folder, print_json
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.experiments import Experiment, TrialRecord
    from truegraph.experiments.runner import RunSummary
    from truegraph.report.tables import Table

_INTERRUPTED = 130


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE.toml",
            help="An experiment of the paper (see --list), or a file with one of your own.",
            show_default=False,
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these data sets of it.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="N,...", help="Only these numbers of labels per class.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these models, by name or label.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials per cell. [default: the experiment's]")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; never changes a result. [default: one per core]"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on the Dask cluster of this scheduler, tcp://HOST:PORT."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Results. [default: runs/NAME]")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Embeddings made before. [default: user's cache]"),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Run trials that failed before again; else they stay failed."
        ),
    ] = False,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the experiments of the paper.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a table.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress and no table; --json still prints.")
    ] = False,
) -> None:
    """Run an experiment of many trials, and continue it where it was stopped.

    Every finished trial is stored at once: the same command continues after any interruption and
    runs nothing twice.
    """
    from truegraph.experiments import find_experiment

    if list_them:
        _list(as_json)
        return
    if name is None:
        raise InputError("NAME is missing. Give an experiment, such as table1 (see --list).")
    experiment = find_experiment(name)
    part = experiment.select(
        datasets=_words(datasets), models=_words(models), trials=trials, **_labels(labels)
    )
    folder = out or Path("runs") / experiment.name
    check_target_folder("--out", folder)
    summary = _run(
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
    for experiment in found.values():
        count = len(experiment.cells()) * experiment.trials
        typer.echo(f"{experiment.name:<10}{count:>6} trials  {experiment.title}")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _labels(text: str | None) -> dict[str, list[int]]:
    if text is None:
        return {}
    try:
        return {"labels": [int(word) for word in text.split(",")]}
    except ValueError as error:
        raise InputError(
            f"--labels {text!r} must be whole numbers with commas, such as 5,10."
        ) from error


def _run(experiment: Experiment, folder: Path, quiet: bool, **options: Any) -> RunSummary:
    from truegraph.experiments.progress import console_watcher
    from truegraph.experiments.runner import run_experiment

    if not quiet and experiment.task != "datasets":
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    try:
        with console_watcher(not quiet) as watcher:
            return run_experiment(experiment, folder, watcher=watcher, **options)
    except KeyboardInterrupt:
        typer.echo(
            f"Finished trials are kept in {folder}. Run the same command to continue.", err=True
        )
        raise typer.Exit(_INTERRUPTED) from None


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
            for record in _failed(records)
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


def _failed(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    return [record for record in records if record.status == "failed"]


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
    from truegraph.report.tables import plain

    if tables:
        typer.echo(f"{tables[0].heading}\n")
        typer.echo(plain(tables[0].rows))
        typer.echo(f"{tables[0].caption}\n")
    line = f"{summary.done} of {summary.wanted} trials done, {summary.run} of them just now"
    typer.echo(f"{line} in {summary.seconds:.0f} s. Everything is in {folder}.")
    for record in _failed(records):
        typer.echo(f"failed: {record.cell}, trial {record.seed}: {record.error}", err=True)
    if summary.failed:
        typer.echo("Run it again with --retry-failed to try these again.", err=True)
    if summary.missing:
        typer.echo(f"{summary.missing} trials were left to other processes that run them.")
    for note in _notes(records):
        typer.echo(f"note: {note}")
