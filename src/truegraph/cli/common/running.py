"""Run an experiment from the command line, and show what its store holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common.compilation import announce_compilation

if TYPE_CHECKING:
    from truegraph.experiments import Experiment, TrialRecord
    from truegraph.experiments.runner import RunSummary
    from truegraph.report.tables import Row

_INTERRUPTED = 130


def run_stored(experiment: Experiment, folder: Path, quiet: bool, **options: Any) -> RunSummary:
    """Run what the folder does not hold yet; options as in `run_experiment`."""
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


def print_table(rows: Sequence[Row]) -> None:
    """Print a table, in parts if it is wider than the terminal."""
    import shutil

    from truegraph.report.tables import plain

    typer.echo(plain(rows, shutil.get_terminal_size().columns))


def print_trials(folder: Path, summary: RunSummary, records: Sequence[TrialRecord]) -> None:
    """Print how many trials are done, which failed, and how to retry them."""
    from truegraph.wording import counted

    line = f"{summary.done:,} of {counted(summary.wanted, 'trial')} done, {summary.run:,} just now"
    typer.echo(f"{line} in {summary.seconds:.0f} s. Everything is in {folder}.")
    for record in failed_trials(records):
        typer.echo(f"failed: {record.cell}, trial {record.seed}: {record.error}", err=True)
    if summary.failed:
        typer.echo("Run it again with --retry-failed to retry these.", err=True)
    if summary.missing:
        verb = "was" if summary.missing == 1 else "were"
        left = counted(summary.missing, "trial")
        typer.echo(f"{left} {verb} left to other processes, which are running them.")


def failed_trials(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Return the trials that failed."""
    return [record for record in records if record.status == "failed"]
