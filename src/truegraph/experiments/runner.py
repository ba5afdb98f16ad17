"""Run what is left of an experiment, and store every trial as soon as it is finished.

>>> from truegraph.experiments import find_experiment
>>> from truegraph.experiments.runner import run_experiment
>>> run_experiment(find_experiment("figure2"), "runs/figure2")  # doctest: +SKIP

The process that calls `run_experiment` is the only one of its run that writes; workers hand their
batches back to it. So whatever is killed, only the batches under way are lost, and the same call
continues. Neither the number of workers nor the batches show in a result.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from truegraph.data.nodes.datasets import cache_folder
from truegraph.data.storage import write_npz
from truegraph.errors import DataError, InputError
from truegraph.experiments.claims import Claims
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.jobs import Finished, Job
from truegraph.experiments.plan import Share, batches, left_of, wanted_shares
from truegraph.experiments.progress import Tally, Watcher
from truegraph.experiments.store import TrialStore
from truegraph.experiments.tasks.base import find_task
from truegraph.experiments.workers import Pool, local_pool


@dataclass(frozen=True)
class RunSummary:
    """The outcome of a run.

    Attributes
    ----------
    wanted : int
        Trials that were asked for.
    done, failed : int
        Of these, in the store now.
    run : int
        Trials that were run just now, the failed ones included.
    seconds : float
        How long this took.
    """

    wanted: int
    done: int
    failed: int
    run: int
    seconds: float

    @property
    def missing(self) -> int:
        """Trials left to other processes that were already running them."""
        return self.wanted - self.done - self.failed


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    part: Experiment | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
) -> RunSummary:
    """Run the trials of an experiment that the folder does not hold yet.

    Parameters
    ----------
    experiment : Experiment
    folder : path-like
        Where the store and the artefacts are, or will be.
    part : Experiment, optional
        What to run of it now, see `Experiment.select`; default: everything.
    jobs : int, optional
        Processes on this machine; default: one per core.
    cluster : str, optional
        Address of a Dask scheduler, such as tcp://10.0.0.5:8786, that runs the trials instead.
    cache : path-like, optional
        Folder of work that trials share; default: the user's cache.
    retry_failed : bool
        Whether to run trials again that failed before.
    watcher : Watcher, optional
        Notified of progress.

    Returns
    -------
    RunSummary

    Raises
    ------
    InputError
        Before anything runs, if a model, a setting or a data set is wrong.
    DataError
        If data are missing, the store cannot be written or the cluster is lost.
    """
    began = time.perf_counter()
    wanted = part or experiment
    if jobs is not None and (jobs < 1 or cluster is not None):
        raise InputError(
            f"jobs={jobs} must be at least 1, and left out with a cluster, which has workers "
            "of its own."
        )
    task = find_task(wanted.task)
    shares = wanted_shares(wanted, task)
    place = _made_folder(Path(cache) if cache is not None else cache_folder() / "embeddings")
    tally = Tally(shares, wanted.metrics[0], task.metrics[wanted.metrics[0]])
    count = 0
    with TrialStore.create(folder, experiment) as store:
        tally.add([r for r in store.all_records() if r.status == "done" or not retry_failed])
        left = [left_of(share, store, retry_failed) for share in shares]
        trials = sum(len(share.seeds) for share in left)
        if trials:
            with closing(_pool(jobs, cluster, trials)) as pool:
                tally.slots = pool.slots
                queue = batches(left, task, slots=pool.slots, largest=wanted.batch)
                run = _Run(store, pool, tally, watcher or Watcher(), wanted, str(place))
                count = run.all(queue, retry_failed)
            tally.add(store.all_records())  # what other processes did meanwhile
    seconds = time.perf_counter() - began
    return RunSummary(tally.total, tally.done, tally.failed, count, seconds)


def _pool(jobs: int | None, cluster: str | None, trials: int) -> Pool:
    if cluster is None:
        return local_pool(jobs, trials)
    from truegraph.experiments.cluster import ClusterPool

    return ClusterPool(cluster)


def _made_folder(cache: Path) -> Path:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cache {cache}: cannot be made ({error.strerror}); choose another folder for it."
        ) from error
    return cache.absolute()


@dataclass(frozen=True)
class _Run:
    """Batches on their way from the queue through the pool into the store."""

    _store: TrialStore
    _pool: Pool
    _tally: Tally
    _watcher: Watcher
    _experiment: Experiment
    _cache: str

    def all(self, queue: list[Share], retry_failed: bool) -> int:
        """Run every batch that no other process has claimed, and return how many trials ran."""
        waiting = deque(queue)
        count = 0
        self._watcher.begin(self._tally)
        with Claims(self._store.path.with_suffix(".lock")) as claims:
            while waiting or self._pool.running:
                while waiting and self._pool.free:
                    batch = self._claimed(waiting.popleft(), claims, retry_failed)
                    if batch.seeds:
                        self._start(batch)
                if self._pool.running:
                    for finished in self._pool.wait():
                        self._keep_results(finished, claims)
                        count += len(finished.records)
        return count

    def _claimed(self, batch: Share, claims: Claims, retry_failed: bool) -> Share:
        """Return what of a batch is this process's to run."""
        cell, source = batch.cell, batch.source
        mine = [seed for seed in batch.seeds if claims.take(cell, source.fingerprint, seed)]
        # Only now: another process may have stored a trial just before it gave its claim up.
        left = left_of(Share(cell, source, tuple(mine)), self._store, retry_failed)
        for seed in set(mine) - set(left.seeds):
            claims.release(cell, source.fingerprint, seed)
        return left

    def _start(self, batch: Share) -> None:
        job = Job(
            batch.cell,
            batch.seeds,
            batch.source,
            self._cache,
            self._experiment.keep,
            self._experiment.seed,
            threads=self._pool.threads,
        )
        self._pool.start(job)
        self._tally.cells[batch.cell.key].running += len(batch.seeds)
        self._watcher.started(batch)

    def _keep_results(self, finished: Finished, claims: Claims) -> None:
        """Write artefacts first, so that a stored trial always has its own."""
        folder = self._store.path.parent
        for file, arrays in finished.artefacts.items():
            try:
                write_npz(folder / file, arrays)
            except OSError as error:
                raise DataError(
                    f"{folder / file}: cannot be written ({error.strerror}). Trials stored before "
                    "are safe; run the same command to continue."
                ) from error
        self._store.add(finished.records)
        job = finished.job
        for seed in job.seeds:
            claims.release(job.cell, job.source.fingerprint, seed)
        self._tally.cells[job.cell.key].running -= len(job.seeds)
        self._tally.add(finished.records)
        self._watcher.finished(finished.records)
