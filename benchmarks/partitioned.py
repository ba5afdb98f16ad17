r"""What a graph learned in partitions costs, against the learner in one process.

    python benchmarks/partitioned.py                          # one million points, some minutes
    python benchmarks/partitioned.py --points 10000000 --memory 2GB --only here --storage DIR
    python benchmarks/partitioned.py --sweeps                 # sweeps over the number of partitions

Every way runs in a process of its own on the same file of points: "one" (truegraph.learn_graph),
"here" (in partitions, in one process) and "cluster" (two Dask workers of one thread). Processor
seconds are those of all processes; on a busy machine read these, and ratios within one run. With
--storage a run that was killed goes on from there, and its figures are of the last part only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from truegraph import load_dataset
from truegraph.learning.learner import GraphLearner
from truegraph.learning.partitioned.executors import InProcess
from truegraph.learning.partitioned.learn import PartitionedRun, check_parameters
from truegraph.learning.partitioned.plan import make_plan
from truegraph.learning.partitioned.sources import as_source
from truegraph.progress import Progress
from truegraph.runtime.memory import peak_memory_mb

WAYS = ("one", "here", "cluster")
DEGREE = 10
LEARNER = GraphLearner(DEGREE, graph_model="paper", random_state=0)


def synthetic(count: int, dimension: int = 16) -> np.ndarray:
    """Return points (count, dimension) of intrinsic dimension 8 with a little noise."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(8, dimension)).astype(np.float32)
    points = np.empty((count, dimension), dtype=np.float32)
    for first in range(0, count, 1_000_000):
        part = points[first : first + 1_000_000]
        latent = rng.standard_normal(size=(len(part), 8), dtype=np.float32)
        noise = rng.standard_normal(size=part.shape, dtype=np.float32)
        part[:] = np.tanh(latent @ mixing) + np.float32(0.05) * noise
    return points


def measure(way: str, path: str, memory: str, storage: str | None = None) -> dict[str, Any]:
    """Learn one graph in this process, or from it, and say what that took."""
    from truegraph import distributed, learn_graph

    if way == "one":
        points = np.load(path)
        began = time.perf_counter()
        graph: Any = learn_graph(
            points, DEGREE, graph_model="paper", candidates="ivf", random_state=0
        )
        return _row(way, began, graph.certificate, 1, None)
    if way == "here":
        began = time.perf_counter()
        graph = distributed.learn_graph(
            path, DEGREE, memory=memory, storage=storage, random_state=0
        )
        return _row(way, began, graph.certificate, len(graph), None)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        began = time.perf_counter()
        with OwnMemory(list(client.run(os.getpid).values())) as own:
            graph = distributed.learn_graph(
                path, DEGREE, client=client, memory=memory, random_state=0
            )
        workers = max(client.run(peak_memory_mb).values())
        row = _row(way, began, graph.certificate, len(graph), workers)
        return row | {"own MB of a worker": own.largest_mb}


class OwnMemory:
    """Watches how much memory processes have for themselves, without pages of mapped files.

    The system takes pages of files back when it needs them; these it cannot. Linux only.
    """

    def __init__(self, processes: list[int]) -> None:
        self.largest_mb = 0.0
        self._files = [Path(f"/proc/{process}/status") for process in processes]
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> OwnMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            for file in self._files:
                kilobytes = re.search(r"RssAnon:\s*(\d+)", file.read_text())
                if kilobytes:
                    self.largest_mb = max(self.largest_mb, round(int(kilobytes[1]) / 1024, 1))


def _row(
    way: str, began: float, certificate: Any, partitions: int, workers: float | None
) -> dict[str, Any]:
    wall = time.perf_counter() - began
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "way": way,
        "partitions": partitions,
        "wall s": round(wall, 1),
        "processor s": round(sum(u.ru_utime + u.ru_stime for u in usage), 1),
        "peak MB": peak_memory_mb(),
        "peak MB of a worker": workers,
        "recall": round(certificate.recall, 4),
        "relative gap": f"{certificate.relative_gap:.0e}",
        "sweeps": certificate.iterations if partitions > 1 else None,
        "seconds": {name: round(s, 1) for name, s in certificate.seconds.items()},
    }


def count_sweeps() -> None:
    """Print how many sweeps runs with 16 to 256 partitions take, in cells small enough for them."""
    for name, points in (("synthetic", synthetic(100_000)), ("MNIST", _mnist())):
        for partitions in (16, 64, 256):
            with tempfile.TemporaryDirectory() as folder:
                sources, settings = [as_source("X", points)], check_parameters(LEARNER)
                size = len(points) // partitions
                plan = make_plan(
                    sources, settings, "sqeuclidean", 0, 1e9, Path(folder), (256, 64), size
                )
                run = PartitionedRun(plan, sources, settings, 1e9, InProcess(), Progress())
                graph = run.run()
                certificate = graph.certificate
                row = {
                    "data": f"{name} {len(points):,} x {points.shape[1]}",
                    "partitions": len(graph),
                    "sweeps": certificate.iterations,
                    "relative gap": f"{certificate.relative_gap:.0e}",
                    "degree": round(certificate.degree, 3),
                    "recall": round(certificate.recall, 4),
                }
            print(json.dumps(row), flush=True)


def _mnist() -> np.ndarray:
    """Return MNIST reduced to 50 dimensions (70000, 50)."""
    pixels = np.asarray(load_dataset("mnist").features, dtype=np.float32) / 255.0
    return PCA(50, svd_solver="randomized", random_state=0).fit_transform(pixels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--memory", default="0.5GB")
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--storage", type=Path, help="where points and runs are kept")
    parser.add_argument("--sweeps", action="store_true", help="count sweeps instead")
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FILE"))
    arguments = parser.parse_args()
    if arguments.sweeps:
        count_sweeps()
        return
    if arguments.measure:
        way, path = arguments.measure
        # Compile first, on a few points.
        with tempfile.TemporaryDirectory() as folder:
            few = Path(folder) / "few.npy"
            np.save(few, synthetic(3000))
            measure("one" if way == "one" else "here", str(few), "0.5GB")
        storage = None if arguments.storage is None else str(arguments.storage / "run")
        print(json.dumps(measure(way, path, arguments.memory, storage)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = (arguments.storage or Path(temporary)) / "points.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            np.save(path, synthetic(arguments.points))
        for way in arguments.only.split(","):
            words = [sys.executable, __file__, "--measure", way, str(path)]
            words += ["--memory", arguments.memory]
            if arguments.storage is not None:
                words += ["--storage", str(arguments.storage)]
            print(subprocess.run(words, check=True, capture_output=True, text=True).stdout, end="")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
