"""A real scheduler with worker processes gives the same bits, also when one of them is killed."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import distributed
from truegraph.errors import DataError, WriteError
from truegraph.learning.partitioned.executors import OnCluster
from truegraph.progress import Progress

Prepared = Callable[..., Any]

POINTS = np.random.default_rng(0).normal(size=(900, 3))


class Cluster:
    """A scheduler and two workers, each a process."""

    def __init__(self, folder: Path, largest_file: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self._file = folder / "scheduler.json"
        self._largest_file = largest_file
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> None:
        self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny"))

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", f"distributed.cli.dask_{program}", *options]
        words += ["--scheduler-file", str(self._file), "--no-dashboard"]
        quiet = subprocess.DEVNULL
        limit = self._limited if program == "worker" and self._largest_file is not None else None
        return subprocess.Popen(
            words, stdout=quiet, stderr=quiet, cwd=self._file.parent, preexec_fn=limit
        )

    def _limited(self) -> None:
        assert self._largest_file is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._largest_file, self._largest_file))

    def client(self) -> Any:
        from distributed import Client

        end = time.monotonic() + 120
        while not self._file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        client = Client(scheduler_file=str(self._file), set_as_default=False, timeout=5)
        client.wait_for_workers(2, timeout=120)
        return client

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    made = Cluster(tmp_path)
    yield made
    made.stop()


def bits(graph: distributed.PartitionedGraph) -> list[bytes]:
    return [part for p in graph for part in (p.nodes.tobytes(), p.adjacency.data.tobytes())]


def test_workers_give_the_same_bits_and_a_lost_cluster_loses_nothing(
    prepared: Prepared, tmp_path: Path, cluster: Cluster
) -> None:
    expected = bits(prepared(tmp_path / "here", POINTS, degree=5, size=300).run())
    storage = tmp_path / "s"

    def kill_one() -> None:
        while not (storage / "search-15.json").exists():
            time.sleep(0.01)
        cluster.workers[0].kill()

    with cluster.client() as client:
        threading.Thread(target=kill_one, daemon=True).start()
        run = prepared(storage, POINTS, degree=5, size=300, executor=OnCluster(client))
        assert bits(run.run()) == expected
        assert cluster.workers[0].wait(timeout=60) != 0

        dask_array = pytest.importorskip("dask.array")
        lazy = dask_array.from_array(POINTS, chunks=(200, 3))
        other = prepared(tmp_path / "lazy", lazy, degree=5, size=300, executor=OnCluster(client))
        assert bits(other.run()) == expected


class Killing(Progress):
    """Kills the scheduler when a stage begins."""

    def __init__(self, cluster: Cluster, stage: str) -> None:
        self._cluster, self._stage = cluster, stage

    def stage(self, name: str) -> None:
        if name == self._stage:
            self._cluster.stop()


def test_a_cluster_that_is_gone_is_named_and_the_run_continues(
    prepared: Prepared, tmp_path: Path, cluster: Cluster
) -> None:
    expected = bits(prepared(tmp_path / "here", POINTS, degree=5, size=300).run())
    with cluster.client() as client:
        progress = Killing(cluster, "solve")
        run = prepared(
            tmp_path / "s",
            POINTS,
            degree=5,
            size=300,
            executor=OnCluster(client),
            progress=progress,
        )
        with pytest.raises(DataError, match="run the same again to continue"):
            run.run()
    assert bits(prepared(tmp_path / "s", POINTS, degree=5, size=300).run()) == expected


def test_a_full_disk_and_another_scheduler_lose_nothing(prepared: Prepared, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    options = {"degree": 5, "size": 300}
    expected = bits(prepared(tmp_path / "here", POINTS, **options).run())
    full = Cluster(tmp_path / "full", largest_file=20_000)  # lists do not fit, points do
    try:
        with full.client() as client:
            run = prepared(tmp_path / "s", POINTS, executor=OnCluster(client), **options)
            with pytest.raises(WriteError, match="is kept: run the same again to continue"):
                run.run()
    finally:
        full.stop()
    assert not list((tmp_path / "s").glob("search-*.json"))
    another = Cluster(tmp_path / "another")
    try:
        with another.client() as client:
            run = prepared(tmp_path / "s", POINTS, executor=OnCluster(client), **options)
            assert bits(run.run()) == expected
    finally:
        another.stop()
