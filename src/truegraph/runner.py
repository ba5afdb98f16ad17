"""Run many trials on all cores, and keep each one in a file as soon as it is finished.

>>> from truegraph.runner import run_trials
>>> def square(job):
...     return {"metrics": {"value": job["seed"] ** 2}}
>>> outcome = run_trials(square, [{"seed": 3}], "squares.jsonl", jobs=1)  # doctest: +SKIP

A trial is described by a mapping of plain values, its *job*, and gives a mapping of plain values.
Both together are one line of JSON in the file. The calling process alone writes, one whole line at
a time, flushed to the disk: whatever is killed, only the trials under way are lost, and the same
call goes on. Neither the number of workers nor the machine shows in a result.
"""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import truegraph
from truegraph.data.storage import PathLike, write_npz
from truegraph.errors import DataError, InputError, TruegraphError
from truegraph.extras import install_command
from truegraph.progress import Progress
from truegraph.runtime.memory import peak_memory_mb
from truegraph.runtime.threads import use_threads

Job = Mapping[str, Any]
Record = dict[str, Any]

_AGAIN = "Finished trials are safe; run the same command to continue."
_MUCH_MEMORY = 4_000_000_000  # bytes
_SCHEDULER_TIMEOUT = 15  # seconds to reach it, and
_WORKERS_TIMEOUT = 60  # until it has a worker


class Outcome:
    """What became of the trials that were asked for.

    Attributes
    ----------
    records : list of dict
        One per finished trial, in the order of the jobs: the job's entries, and ``status`` ("done"
        or "failed"), ``error``, ``seconds``, ``finished``, ``version`` and what the trial gave.
    done, failed : list of dict
        The records by their status.
    wanted : int
        Trials asked for.
    run : int
        Trials that were run just now, failed ones included.
    seconds : float
        How long this took.
    """

    def __init__(self, records: list[Record], wanted: int, run: int, seconds: float) -> None:
        self.records, self.wanted, self.run, self.seconds = records, wanted, run, seconds
        self.done, self.failed = (
            [record for record in records if record["status"] == status]
            for status in ("done", "failed")
        )


def run_trials(
    function: Callable[[Job], Mapping[str, Any]],
    jobs: Sequence[Job],
    file: PathLike,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
    named: Callable[[Record], str] | None = None,
) -> Outcome:
    """Run the trials that a file does not hold yet, and add them to it.

    Parameters
    ----------
    function : callable
        Takes a job and returns what is stored of its trial. Under "arrays" it may give arrays by
        the name of an npz file, which is written beside `file`.
    jobs : sequence of mapping
        Plain values only. Two jobs are the same trial if they are equal.
    file : path-like
        Lines of JSON; made if it is not there.
    workers : int, optional
        Processes on this machine; default: one per core, or those of a backend that the caller
        chose with `joblib.parallel_config`.
    cluster : str, optional
        Address of a Dask scheduler, such as tcp://10.0.0.5:8786, whose workers run the trials.
    retry_failed : bool, default=False
        Whether to run trials again that failed before.
    progress : Progress, optional
    named : callable, optional
        A few words on a finished trial, for the progress.

    Raises
    ------
    DataError
        If the file cannot be written, or a worker or the cluster is lost.
    """
    began = time.perf_counter()
    path, told = Path(file), progress or Progress()
    wanted = {key_of(job): job for job in jobs}
    count = 0
    with _appended(path) as stream:
        held = {record["key"]: record for record in read_trials(path)}
        left = [
            job
            for key, job in wanted.items()
            if key not in held or (retry_failed and held[key]["status"] == "failed")
        ]
        if left:
            told.stage("trials")
            told.update(len(wanted) - len(left), len(wanted))
            for record, arrays in _run_all(function, left, workers, cluster):
                _store(stream, path, record, arrays)
                held[record["key"]] = record
                count += 1
                note = _note(held.values(), record, named)
                told.update(len(wanted) - len(left) + count, len(wanted), note)
    records = [held[key] for key in wanted if key in held]
    return Outcome(records, len(wanted), count, time.perf_counter() - began)


def key_of(job: Job) -> str:
    """Return the text that tells a job from others, whatever the order of its entries."""
    try:
        return json.dumps(job, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"job {job!r} must hold plain texts, finite numbers, lists and mappings: {error}."
        ) from error


def read_trials(file: PathLike) -> list[Record]:
    """Return every trial of a file, the last line of each; lines that were cut off are left out."""
    path = Path(file)
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path.") from error
    found: dict[str, Record] = {}
    for line in lines:
        record = _parsed(line)
        if record is not None:
            found[record["key"]] = record
    return list(found.values())


def _parsed(line: bytes) -> Record | None:
    """Return the record of a line; None for one that a killed process left unfinished."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_trial = isinstance(record, dict) and record.get("status") in ("done", "failed")
    return record if is_trial and isinstance(record.get("key"), str) else None


# --- running --------------------------------------------------------------------------------------


def _run_all(
    function: Callable[[Job], Mapping[str, Any]],
    jobs: Sequence[Job],
    workers: int | None,
    cluster: str | None,
) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """Yield records and arrays of the trials in the order of finishing."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with _backend(len(jobs), workers, cluster) as (count, threads):
        calls = (delayed(_one_trial)(function, dict(job), threads) for job in jobs)
        results = Parallel(count, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls)
        try:
            yield from results
        except TerminatedWorkerError as error:
            raise DataError(
                "a process that ran a trial died, perhaps because memory ran out. "
                f"{_AGAIN} Fewer processes (--jobs 1) need less memory."
            ) from error
        except _cluster_errors(cluster) as error:
            raise DataError(f"cluster {cluster!r} was lost ({error}). {_AGAIN}") from error
        finally:
            results.close()


def _cluster_errors(cluster: str | None) -> tuple[type[BaseException], ...]:
    if cluster is None:
        return ()
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    return (OSError, CancelledError, KilledWorker)


@contextmanager
def _backend(
    trials: int, workers: int | None, cluster: str | None
) -> Iterator[tuple[int | None, int]]:
    """Yield the number of workers as joblib takes it, and the threads of each."""
    import joblib

    if workers is not None and (workers < 1 or cluster is not None):
        raise InputError(
            f"workers={workers} must be at least 1, and left out with a cluster, which has workers "
            "of its own."
        )
    if cluster is not None:
        with _client(cluster), joblib.parallel_config("dask"):
            yield -1, 1
        return
    chosen, _ = joblib.parallel.get_active_backend()
    if workers is None and not isinstance(chosen, joblib.parallel.LokyBackend):
        yield None, 1
        return
    cores = joblib.cpu_count()
    count = min(workers or cores, trials)
    threads = max(1, cores // count)
    begin: dict[str, Any] = {"initializer": _begin_worker, "initargs": (os.getpid(),)}
    with joblib.parallel_config("loky", inner_max_num_threads=threads, **begin):
        yield count, threads


def _begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    from joblib.externals.loky import process_executor

    # loky restarts a worker that has grown by 300 MB, which every trial on a large graph does.
    process_executor._MAX_MEMORY_LEAK_SIZE = _MUCH_MEMORY
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def _client(address: str) -> Iterator[None]:
    """Have joblib use a Dask scheduler during the block."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise DataError(
            f"cluster {address!r} needs Dask; install it with: {install_command('cluster')}"
        ) from error
    try:
        client = Client(address, timeout=_SCHEDULER_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"cluster {address!r} cannot be reached ({error}); give the address that "
            "`dask scheduler` prints, such as tcp://10.0.0.5:8786."
        ) from error
    try:
        client.wait_for_workers(1, timeout=_WORKERS_TIMEOUT)
        yield
    except TimeoutError as error:
        raise DataError(
            f"cluster {address!r} has no workers; start some with: "
            f"dask worker {address} --nthreads 1"
        ) from error
    finally:
        with suppress(OSError, RuntimeError):
            client.close()


def _one_trial(
    function: Callable[[Job], Mapping[str, Any]], job: Record, threads: int
) -> tuple[Record, Mapping[str, Any]]:
    """Run a trial in a worker; one that fails gives a record that says why."""
    began = time.perf_counter()
    outcome: dict[str, Any] = {"status": "done", "error": None}
    arrays: Mapping[str, Any] = {}
    try:
        with use_threads(threads):
            found = dict(function(job))
        arrays = found.pop("arrays", {})
        key_of(found := _finite(found))  # it must be plain
        outcome |= found
    except Exception as error:
        outcome |= {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    outcome |= {
        "seconds": round(time.perf_counter() - began, 4),
        "peak_memory_mb": peak_memory_mb(),
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": truegraph.__version__,
    }
    return {"key": key_of(job), **job, **outcome}, arrays


def _finite(value: Any) -> Any:
    """Return plain values with None for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _note(records: Iterable[Record], last: Record, named: Callable[[Record], str] | None) -> str:
    failed = Counter(record["status"] for record in records)["failed"]
    words = [named(last)] if named is not None and last["status"] == "done" else []
    return ", ".join([*words, *([f"{failed} failed"] if failed else [])])


# --- storing --------------------------------------------------------------------------------------


@contextmanager
def _appended(path: Path) -> Iterator[BinaryIO]:
    """Yield the file to add lines to, held by this process alone."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=0), path.open("ab") as stream:
            if stream.tell() and not _ends_a_line(path):
                stream.write(b"\n")  # a killed process left half a line, which is no trial
                stream.flush()
            yield stream
    except Timeout as error:
        raise DataError(
            f"{path}: another process is adding trials to it; wait for its end, or choose another "
            "folder."
        ) from error
    except OSError as error:
        if isinstance(error, TruegraphError):
            raise
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}). {_AGAIN}"
        ) from error


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


def _store(stream: BinaryIO, path: Path, record: Record, arrays: Mapping[str, Any]) -> None:
    """Write arrays first, so that a stored trial always has its own."""
    for name, content in arrays.items():
        write_npz(path.parent / name, content)
    line = json.dumps(record, allow_nan=False).encode() + b"\n"
    end = stream.tell()
    try:
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())
    except OSError:
        with suppress(OSError):
            stream.truncate(end)
        raise
