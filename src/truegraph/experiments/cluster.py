"""Batches on a Dask cluster: any machines whose workers have truegraph and the same data.

A worker that dies is no loss: the scheduler gives its batches to others. Start workers with one
thread each and one process per core (``dask worker ADDRESS --nthreads 1``).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from truegraph.errors import DataError
from truegraph.experiments.jobs import Finished, Job, failed_records, run_job
from truegraph.experiments.workers import Pool

if TYPE_CHECKING:
    from distributed import Future

_TIMEOUT = 15  # seconds to reach the scheduler
_WORKERS_TIMEOUT = 60  # seconds until it has a worker
_AGAIN = "Trials stored before are safe; run the same command to continue."


class ClusterPool(Pool):
    """The workers of a Dask scheduler.

    Parameters
    ----------
    address : str
        Of the scheduler, such as tcp://10.0.0.5:8786.
    """

    threads = 1

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise DataError(
                f"cluster {address!r} needs Dask; install it with: pip install 'truegraph[cluster]'"
            ) from error
        self.address = address
        try:
            self._client = Client(address, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise DataError(
                f"cluster {address!r} cannot be reached ({error}); give the address that "
                "`dask scheduler` prints, such as tcp://10.0.0.5:8786."
            ) from error
        self._running: dict[Future, Job] = {}
        self._await_workers()

    def _await_workers(self) -> None:
        """Give workers that are just being started some time."""
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS_TIMEOUT)
        except OSError as error:
            self.close()
            raise DataError(
                f"cluster {self.address!r} has no workers; start some with: "
                f"dask worker {self.address} --nthreads 1"
            ) from error

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Threads of all workers that there are now, or 1 while there are none."""
        with self._reached():
            return max(1, sum(self._client.nthreads().values()))

    @property
    def free(self) -> int:
        """Threads that have nothing to do."""
        return max(0, self.slots - len(self._running))

    @property
    def running(self) -> int:
        """Batches that the scheduler has."""
        return len(self._running)

    def start(self, job: Job) -> None:
        """Hand a batch to the scheduler."""
        with self._reached():
            self._running[self._client.submit(run_job, job, pure=False)] = job

    def wait(self) -> list[Finished]:
        """Wait for a batch."""
        from distributed import wait

        with self._reached(), self._client.as_current():
            ready = wait(list(self._running), return_when="FIRST_COMPLETED").done
        return [self._result(future, self._running.pop(future)) for future in ready]

    def _result(self, future: Future, job: Job) -> Finished:
        from distributed import KilledWorker

        if future.status == "finished":
            with self._reached():
                finished: Finished = future.result()
            return finished
        if future.status != "error":
            raise DataError(self._lost)
        error: Any = future.exception()
        if isinstance(error, KilledWorker):
            return Finished(job, failed_records(job, f"every worker that ran it died: {error}", 0))
        raise DataError(
            f"the workers of cluster {self.address!r} cannot run trials: {error}. {_AGAIN}"
        ) from error

    @property
    def _lost(self) -> str:
        return f"cluster {self.address!r} was lost. {_AGAIN}"

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn the errors of a scheduler that is gone into one that says what to do."""
        try:
            yield
        except (OSError, CancelledError) as error:  # TimeoutError is an OSError
            raise DataError(self._lost) from error

    def close(self) -> None:
        """Take back what is under way, and leave the workers to others."""
        # With a scheduler that is gone both may fail; Dask's RuntimeError is that of an attempt to
        # reach it which times out at this very moment. Nothing of it may hide what went wrong.
        with suppress(OSError, CancelledError, RuntimeError):
            self._client.cancel(list(self._running), force=True)
        with suppress(OSError, CancelledError, RuntimeError):
            self._client.close()
