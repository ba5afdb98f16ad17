"""Who runs the tasks of a stage: this process, one after another, or the workers of a cluster.

Tasks are functions of the module level whose results are in the storage folder, or small. They
may be run twice, in any order, on any worker, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from truegraph.errors import DataError, TruegraphError
from truegraph.learning.partitioned.sources import ArraySource, Source, checked_rows
from truegraph.progress import Progress
from truegraph.runtime.threads import thread_limit

_WORKERS_TIMEOUT = 60  # seconds until a cluster has a worker
_WAITING_PER_THREAD = 2  # tasks handed over before those before them are done
_KEPT = "What is in the storage is kept: run the same again to continue."

Task = Callable[..., Any]


class InProcess:
    """Runs tasks here, one after another; each may use all threads."""

    def run(
        self, task: Task, arguments: Sequence[tuple[Any, ...]], progress: Progress, note: str = ""
    ) -> list[Any]:
        """Return the results of task(*arguments[0]), task(*arguments[1]), ... in order."""
        results = []
        for number, given in enumerate(arguments):
            results.append(task(*given))
            progress.update(number + 1, len(arguments), note)
        return results

    def rows(self, source: Source, start: int, stop: int) -> Any:
        """Return what a task takes for some rows of a source: see `given_rows`."""
        return (source, start, stop)


class OnCluster(InProcess):
    """Runs tasks on the workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        with self._reached():
            try:
                client.wait_for_workers(1, timeout=_WORKERS_TIMEOUT)
            except TimeoutError as error:
                raise DataError(
                    "the cluster has no workers. Start some with: dask worker ADDRESS --nthreads 1"
                ) from error

    def run(
        self, task: Task, arguments: Sequence[tuple[Any, ...]], progress: Progress, note: str = ""
    ) -> list[Any]:
        """Return the results of task(*arguments[0]), task(*arguments[1]), ... in order."""
        from distributed import as_completed

        results: list[Any] = [None] * len(arguments)
        numbers: dict[Any, int] = {}
        todo = iter(enumerate(arguments))
        with self._reached():
            threads = max(1, sum(self._client.nthreads().values()))
            waiting = as_completed(loop=self._client.loop)
            for number, given in todo:
                self._submit(task, number, given, numbers, waiting)
                if len(numbers) >= _WAITING_PER_THREAD * threads:
                    break
            for done, future in enumerate(waiting, start=1):
                results[numbers.pop(future)] = _result_of(future)
                progress.update(done, len(arguments), note)
                for number, given in todo:
                    self._submit(task, number, given, numbers, waiting)
                    break
        return results

    def _submit(
        self, task: Task, number: int, given: tuple[Any, ...], numbers: dict[Any, int], waiting: Any
    ) -> None:
        # One thread per task: results do not depend on it, and workers run several.
        future = self._client.submit(run_task, task, *given, pure=False, retries=2)
        numbers[future] = number
        waiting.add(future)

    def rows(self, source: Source, start: int, stop: int) -> Any:
        """Return what a task takes for some rows: a future of them, if Dask computes them."""
        if isinstance(source, ArraySource) and source.is_lazy:
            with self._reached():
                return self._client.compute(source.array[start:stop])
        return (source, start, stop)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn the errors of a cluster that is gone into one that says what to do."""
        from distributed import KilledWorker

        try:
            yield
        except KilledWorker as error:
            raise DataError(f"every worker that ran a task died: {error}. {_KEPT}") from error
        except TruegraphError:  # of a task
            raise
        except (CancelledError, OSError) as error:
            raise DataError(f"the cluster was lost ({error!r}). {_KEPT}") from error


def _result_of(future: Any) -> Any:
    if future.status == "cancelled" or future.status == "lost":
        raise CancelledError("its scheduler is gone")
    return future.result()


def run_task(task: Task, *arguments: Any) -> Any:
    """Run a task in a worker with one thread."""
    with thread_limit(1):
        return task(*arguments)


def given_rows(given: Any, name: str) -> Any:
    """Return the rows that `rows` of an executor stands for, checked."""
    if isinstance(given, tuple):
        source, start, stop = given
        return source.read(start, stop)
    return checked_rows(name, given, 0)
