"""A real Dask scheduler and workers on this machine give the same numbers, also when one dies."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from truegraph.errors import DataError
from truegraph.experiments import Experiment, TrialRecord, TrialStore
from truegraph.experiments.cluster import ClusterPool
from truegraph.experiments.progress import Watcher
from truegraph.experiments.runner import run_experiment

Pretend = Callable[..., Experiment]


class Cluster:
    """A scheduler and two workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self.processes = [self._start("scheduler", "--host", "127.0.0.1", "--port", "0")]
        self.workers = [self._start("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
        self.processes += self.workers

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", f"distributed.cli.dask_{program}", *options]
        words += ["--scheduler-file", str(self._file), "--no-dashboard"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(words, stdout=quiet, stderr=quiet, cwd=self._file.parent)

    def address(self) -> str:
        """Wait for both workers and return the scheduler's address."""
        from distributed import Client

        end = time.monotonic() + 60
        while not self._file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        with Client(scheduler_file=str(self._file), set_as_default=False, timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            return str(client.scheduler.address)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path, pretend: Pretend) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    made = Cluster(tmp_path)
    yield made
    made.stop()


def table(folder: Path) -> dict[tuple[Any, ...], dict[str, float | None]]:
    with TrialStore.open(folder) as store:
        records = store.records()
    return {(r.label, r.conditions["labels"], r.seed): r.metrics for r in records}


def test_the_same_table_with_one_job_with_two_continued_and_on_a_cluster(
    tmp_path: Path, cluster: Cluster
) -> None:
    experiment = Experiment.from_dict(
        {
            "name": "same",
            "task": "classification",
            "datasets": ["cora"],
            "labels": [5, 20],
            "trials": 5,
            "models": ["label-propagation", {"name": "gcn", "epochs": 8}],
        }
    )
    run_experiment(experiment, tmp_path / "one", jobs=1)
    run_experiment(experiment, tmp_path / "two", jobs=2)
    address = cluster.address()
    run_experiment(experiment, tmp_path / "dask", cluster=address)
    begun = experiment.select(trials=2)
    run_experiment(experiment, tmp_path / "later", part=begun, cluster=address)
    assert run_experiment(experiment, tmp_path / "later", jobs=1).run == 12
    expected = table(tmp_path / "one")
    assert len(expected) == 20
    assert table(tmp_path / "two") == expected
    assert table(tmp_path / "dask") == expected
    assert table(tmp_path / "later") == expected


class Killer(Watcher):
    """Kills a process of the cluster once some trials are done."""

    def __init__(self, victim: subprocess.Popen[bytes]) -> None:
        self.victim = victim
        self.seen: list[TrialRecord] = []

    def finished(self, records: Any) -> None:
        self.seen += records
        if len(self.seen) >= 4 and self.victim.poll() is None:
            self.victim.kill()
            self.victim.wait()


def test_a_worker_killed_midway_costs_only_its_batch(
    tmp_path: Path, cluster: Cluster, pretend: Pretend
) -> None:
    log = tmp_path / "log"
    experiment = pretend(16, changes={"batch": 1}, seconds=0.3, log=str(log))
    watcher = Killer(cluster.workers[0])
    summary = run_experiment(
        experiment, tmp_path / "run", cluster=cluster.address(), watcher=watcher
    )
    assert cluster.workers[0].returncode == -9
    assert (summary.done, summary.failed) == (16, 0)
    with TrialStore.open(tmp_path / "run") as store:
        assert [record.seed for record in store.records()] == list(range(16))
    ran = [line.split() for line in log.read_text().splitlines()]
    assert {int(pid) for pid, *_ in ran} == {worker.pid for worker in cluster.workers}
    assert 16 <= len(ran) <= 17
    assert psutil.pid_exists(cluster.workers[1].pid)


def test_a_lost_scheduler_is_told_and_finished_trials_are_kept(
    tmp_path: Path, cluster: Cluster, pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.address()
    monkeypatch.setattr("truegraph.experiments.cluster._TIMEOUT", 3)
    watcher = Killer(cluster.processes[0])
    experiment = pretend(16, changes={"batch": 1}, seconds=0.2)
    with pytest.raises(DataError, match=r"cluster 'tcp:.*' was lost. Trials stored before are"):
        run_experiment(experiment, tmp_path / "run", cluster=address, watcher=watcher)
    with TrialStore.open(tmp_path / "run") as store:
        kept = len(store.records())
    assert 4 <= kept < 16
    assert run_experiment(experiment, tmp_path / "run", jobs=1).run == 16 - kept


def test_closing_does_not_hide_what_went_wrong(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask may fail while it closes, where it is just trying to reach a lost scheduler."""
    pool = ClusterPool(cluster.address())
    really_close, closed = pool._client.close, []

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Cannot change state of expiring Timeout")

    def closes_and_fails() -> None:
        closed.append(True)
        really_close()
        fails()

    monkeypatch.setattr(pool._client, "cancel", fails)
    monkeypatch.setattr(pool._client, "close", closes_and_fails)
    pool.close()
    assert closed


def test_a_cluster_without_workers(
    tmp_path: Path, cluster: Cluster, pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.address()
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    monkeypatch.setattr("truegraph.experiments.cluster._WORKERS_TIMEOUT", 1)
    time.sleep(1.0)  # until the scheduler has noticed
    with pytest.raises(DataError, match=r"has no workers; start some with: dask worker tcp"):
        run_experiment(pretend(), tmp_path / "run", cluster=address)


def test_without_dask(tmp_path: Path, pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DataError, match=r"pip install 'truegraph\[cluster\]'"):
        run_experiment(pretend(), tmp_path / "run", cluster="tcp://127.0.0.1:9")


def test_nobody_there(tmp_path: Path, pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("truegraph.experiments.cluster._TIMEOUT", 1)
    with pytest.raises(DataError, match=r"cluster 'tcp://127.0.0.1:9' cannot be reached"):
        run_experiment(pretend(), tmp_path / "run", cluster="tcp://127.0.0.1:9")
    with pytest.raises(DataError, match="cluster 'nonsense' cannot be reached"):
        run_experiment(pretend(), tmp_path / "run", cluster="nonsense")
