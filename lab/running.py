"""Run what is missing of an experiment, with the runner of the library."""

from __future__ import annotations

from collections.abc import Container
from functools import partial

from lab import tasks
from lab.experiment import Experiment
from lab.store import Key, runs
from truegraph.progress import Progress
from truegraph.runner import Job, Outcome, Record, run_trials


def jobs_of(experiment: Experiment, only: Container[Key] | None = None) -> dict[str, list[Job]]:
    """Return the trials of an experiment, or some of them, by the experiment that keeps them.

    All models of a split come first, so that a run that was stopped has pairs to compare.
    """
    marks: dict[str, str] = {}
    found: dict[str, list[Job]] = {}
    cells = list(experiment.cells())
    for cell in cells:
        if cell.dataset not in marks:
            marks[cell.dataset] = tasks.fingerprint(cell.job(0, ""))
    for seed in experiment.seeds:
        for cell in cells:
            if only is not None and (cell.key, seed) not in only:
                continue
            job = cell.job(seed, marks[cell.dataset])
            found.setdefault(cell.source, []).append(job)
    return found


def run(
    experiment: Experiment,
    *,
    only: Container[Key] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run the trials that runs/ does not hold yet; one outcome per file of trials."""
    main = experiment.metrics[0]
    return [
        run_trials(
            tasks.run,
            wanted,
            runs() / source / "trials.jsonl",
            workers=jobs,
            cluster=cluster,
            retry_failed=retry_failed,
            progress=progress,
            named=partial(_named, main),
        )
        for source, wanted in jobs_of(experiment, only).items()
    ]


def _named(metric: str, record: Record) -> str:
    value = record["metrics"].get(metric)
    return record["model"] + ("" if value is None else f" {value:.3f}")
