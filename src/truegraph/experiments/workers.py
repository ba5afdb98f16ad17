"""Who runs the batches on one machine: this process, or processes beside it.

Cores are never oversubscribed: with J processes on C cores each gets C // J threads. A process that
dies, killed for its memory or by a fault in compiled code, takes no other batch with it: what was
under way is run again one batch at a time, and a trial that kills its process again is reported as
failed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any

from truegraph.experiments.jobs import Finished, Job, failed_records, run_job

_THREAD_VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
_THREAD_VARIABLES += ["NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"]
# loky restarts a worker that has grown by 300 MB, which every trial on a large graph does.
_MUCH_MEMORY = 4_000_000_000
_DIED = "the process of the trial died, perhaps killed because memory ran out"


class Pool(ABC):
    """Where batches run.

    Attributes
    ----------
    slots : int
        Batches that can run at a time.
    threads : int
        Threads of each.
    """

    slots: int
    threads: int

    @property
    @abstractmethod
    def free(self) -> int:
        """How many more batches can be started now."""

    @property
    @abstractmethod
    def running(self) -> int:
        """How many batches are under way."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Start a batch."""

    @abstractmethod
    def wait(self) -> list[Finished]:
        """Wait until at least one batch is finished, and return those that are."""

    @abstractmethod
    def close(self) -> None:
        """End the workers, in the middle of a batch if there is one."""


class InlinePool(Pool):
    """The present process, one batch at a time."""

    slots = 1

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._jobs: list[Job] = []

    @property
    def free(self) -> int:
        """One, or none while a batch waits."""
        return 1 - len(self._jobs)

    @property
    def running(self) -> int:
        """Batches that wait."""
        return len(self._jobs)

    def start(self, job: Job) -> None:
        """Take a batch; `wait` runs it."""
        self._jobs.append(job)

    def wait(self) -> list[Finished]:
        """Run the batch."""
        return [run_job(self._jobs.pop())]

    def close(self) -> None:
        """Do nothing: there are no workers to end."""


class ProcessPool(Pool):
    """Processes on this machine (joblib's loky).

    Parameters
    ----------
    jobs : int
        Number of processes.
    threads : int
        Threads of each.
    """

    def __init__(self, jobs: int, threads: int) -> None:
        self.slots = jobs
        self.threads = threads
        self._running: dict[Future[Finished], Job] = {}
        self._suspects: deque[Job] = deque()
        self._executor = self._new_executor()

    def _new_executor(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(
            self.slots,
            initializer=_begin_worker,
            initargs=(os.getpid(),),
            env=dict.fromkeys(_THREAD_VARIABLES, str(self.threads)),
        )

    @property
    def free(self) -> int:
        """Idle processes; none while batches whose process died are run again."""
        return 0 if self._suspects else self.slots - len(self._running)

    @property
    def running(self) -> int:
        """Batches under way or to be run again."""
        return len(self._running) + len(self._suspects)

    def start(self, job: Job) -> None:
        """Give a batch to an idle process."""
        self._running[self._executor.submit(run_job, job)] = job

    def wait(self) -> list[Finished]:
        """Wait for a batch; see to those whose process died."""
        finished: list[Finished] = []
        while not finished:
            if not self._running:
                self.start(self._suspects.popleft())
            ready, _ = wait(self._running, return_when=FIRST_COMPLETED)
            finished = self._collect(ready)
        return finished

    def _collect(self, ready: set[Future[Finished]]) -> list[Finished]:
        from joblib.externals.loky import BrokenProcessPool

        finished, dead = [], []
        alone = len(self._running) == 1
        for future in ready:
            job = self._running.pop(future)
            try:
                finished.append(future.result())
            except BrokenProcessPool:
                dead.append(job)
        if dead:
            dead += self._running.values()
            self._running.clear()
            self._executor.shutdown(wait=False, kill_workers=True)
            self._executor = self._new_executor()
            finished += self._suspect(dead, alone)
        return finished

    def _suspect(self, dead: list[Job], alone: bool) -> list[Finished]:
        """Let batches be run again alone; the trial that was alone before has failed."""
        if not alone:
            self._suspects.extend(dead)
            return []
        if len(dead[0].seeds) == 1:
            return [Finished(dead[0], failed_records(dead[0], _DIED, 0.0))]
        self._suspects.extend(replace(dead[0], seeds=(seed,)) for seed in dead[0].seeds)
        return []

    def close(self) -> None:
        """Kill the processes."""
        self._executor.shutdown(wait=False, kill_workers=True)


def _begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = _MUCH_MEMORY
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def local_pool(jobs: int | None, trials: int) -> Pool:
    """Return a pool of processes, by default one per core, and at most one per trial."""
    import joblib

    cores = joblib.cpu_count()
    count = min(cores if jobs is None else jobs, trials)
    threads = max(1, cores // count)
    return InlinePool(threads) if count == 1 else ProcessPool(count, threads)
