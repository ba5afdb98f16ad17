"""What a worker does: run a batch of trials, and let none that fails harm the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import truegraph
from truegraph.data.nodes.datasets import cache_folder
from truegraph.errors import DataError
from truegraph.experiments import provenance
from truegraph.experiments.store import TrialRecord
from truegraph.experiments.tasks.base import Cell, Context, Source, Task, TrialResult, find_task
from truegraph.runtime.memory import peak_memory_mb

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Job:
    """A batch of trials.

    Attributes
    ----------
    cell : Cell
    seeds : tuple of int
    source : Source
        Of the data that the trials must be run on.
    cache : str
        Folder of shared work; a worker that does not have it uses the user's own.
    keep : tuple of str
        Artefacts to keep.
    first_seed : int
        Seed of the experiment's first trial.
    threads : int
        Threads that torch and the compiled loops may use.
    version : str
        Of truegraph, which must be the same wherever trials run.
    """

    cell: Cell
    seeds: tuple[int, ...]
    source: Source
    cache: str
    keep: tuple[str, ...] = ()
    first_seed: int = 0
    threads: int = 1
    version: str = truegraph.__version__


@dataclass(frozen=True)
class Finished:
    """A batch that was run.

    Attributes
    ----------
    job : Job
    records : list of TrialRecord
        One per seed, done or failed.
    artefacts : dict
        Arrays by the name of the file that they belong in.
    """

    job: Job
    records: list[TrialRecord]
    artefacts: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)


def run_job(job: Job) -> Finished:
    """Run a batch together; if that fails, run its trials one by one."""
    if job.version != truegraph.__version__:
        raise DataError(
            f"a worker has truegraph {truegraph.__version__}, but the run was started with "
            f"{job.version}; install the same version everywhere."
        )
    return _run(find_task(job.cell.task), job)


def _run(task: Task, job: Job) -> Finished:
    began = time.perf_counter()
    context = _context(job)
    try:
        results = task.run(job.cell, job.seeds, context)
    except Exception as error:
        if len(job.seeds) == 1:
            seconds = time.perf_counter() - began
            return Finished(job, failed_records(job, _told(error), seconds))
        alone = [_run(task, replace(job, seeds=(seed,))) for seed in job.seeds]
        return Finished(
            job,
            [record for one in alone for record in one.records],
            {file: arrays for one in alone for file, arrays in one.artefacts.items()},
        )
    seconds = (time.perf_counter() - began) / len(results)
    records = [_record(job, result, seconds, context.notes) for result in results]
    return Finished(job, records, context.artefacts)


def _context(job: Job) -> Context:
    is_here = Path(job.cache).is_dir()
    cache = Path(job.cache) if is_here else cache_folder() / "embeddings"
    return Context(
        cache,
        job.source.fingerprint,
        job.keep,
        first_seed=job.first_seed,
        threads=job.threads,
    )


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _record(job: Job, result: TrialResult, seconds: float, notes: Sequence[str]) -> TrialRecord:
    cell, source = job.cell, job.source
    return TrialRecord(
        task=cell.task,
        dataset=cell.dataset,
        model=cell.model,
        label=cell.label,
        settings=cell.settings,
        conditions=cell.conditions,
        seed=result.seed,
        status="done",
        metrics=result.metrics,
        details=result.details,
        seconds=round(seconds, 4),
        peak_memory_mb=peak_memory_mb(),
        versions=provenance.versions(),
        fingerprint=source.fingerprint,
        source=source.source,
        notes=(*source.notes, *notes),
        commit=provenance.commit(),
        error=None,
        finished=provenance.now(),
    )


def failed_records(job: Job, error: str, seconds: float) -> list[TrialRecord]:
    """Return the records of a batch that failed."""
    share = seconds / len(job.seeds)
    records = [_record(job, TrialResult(seed, {}), share, ()) for seed in job.seeds]
    return [replace(record, status="failed", error=error) for record in records]
