"""The rebuilding: the same work done by an older version and by this one, in turns, on one machine.

    git archive 4948f9e src | tar -x -C /tmp/old          # version 0.2.0
    python benchmarks/rebuilding.py --before /tmp/old/src [--parts calls compiling pubmed]

Every measurement is a process of its own, with one version or the other on PYTHONPATH; processor
seconds of all threads and child processes, the best of several. "calls" are four calls with
default options, compiled before; claim: at most 1.2 times the older version. "compiling" is the
first `truegraph compare` with GCN, the paper's Bayesian GCN and "auto" (`make run` with one trial
of each, in one process) with an empty cache of numba, less the same with a full one; aim: 10
seconds. "pubmed" is the whole Bayesian pipeline on Pubmed, nothing cached; claim: at most 1.5
times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "src"
FIRST_RUN = ("compare", "classify", "cora", "--per-class", "5", "--trials", "1", "--jobs", "1")
FIRST_RUN += ("--models", "gcn,bgcn,auto", "--quiet")
PROGRAM = "from truegraph.cli import main; main()"


def labels_of(data: Any, per_class: int) -> np.ndarray:
    from truegraph.data import random_split

    train = random_split(data.labels, per_class, random_state=0).train
    y = np.full(data.n_nodes, -1)
    y[train] = data.labels[train]
    return y


def calls() -> dict[str, Callable[[], object]]:
    from truegraph import LinkPredictor, NodeClassifier, Recommender, learn_graph, load_dataset
    from truegraph.data import load_interactions

    digits, cora = load_dataset("digits"), load_dataset("cora")
    shop, y = load_interactions("planted"), labels_of(cora, 5)
    return {
        "learn_graph, digits": lambda: learn_graph(digits.features),
        "NodeClassifier().fit, Cora": lambda: NodeClassifier(random_state=0).fit(
            cora.features, y, graph=cora.graph
        ),
        "LinkPredictor().fit, Cora": lambda: LinkPredictor(random_state=0).fit(
            cora.graph, cora.features
        ),
        "Recommender().fit, planted": lambda: Recommender(random_state=0).fit(shop),
    }


def pubmed() -> dict[str, Callable[[], object]]:
    from truegraph import NodeClassifier, load_dataset

    data = load_dataset("pubmed")
    y = labels_of(data, 20)

    def fit() -> object:
        with tempfile.TemporaryDirectory() as cache:
            model = NodeClassifier("bgcn", random_state=0, cache=cache)
            return model.fit(data.features, y, graph=data.graph)

    return {"NodeClassifier('bgcn').fit, Pubmed": fit}


def measured(part: str) -> dict[str, float]:
    """Return processor seconds of each call of a part, the best of three after a first one."""
    found = {}
    for name, call in {"calls": calls, "pubmed": pubmed}[part]().items():
        times = []
        for _ in range(4 if part == "calls" else 1):
            began = time.process_time()
            call()
            times.append(time.process_time() - began)
        found[name] = min(times)
    return found


def in_version(source: Path, part: str) -> dict[str, float]:
    """Return what a process with a version of the package measures."""
    command = [sys.executable, __file__, "--measure", part]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def seconds_of_compiling(source: Path) -> dict[str, float]:
    """Return processor seconds of the first run with an empty cache of numba, less a full one."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"NUMBA_CACHE_DIR": f"{folder}/numba", "TRUEGRAPH_CACHE": f"{folder}/cache"}
        environment = os.environ | {"PYTHONPATH": str(source)} | places
        times = []
        for number in range(2):
            command = [sys.executable, "-c", PROGRAM, *FIRST_RUN, "--out", f"{folder}/{number}"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            for file in Path(folder, "cache").rglob("*.npz"):  # embeddings are trained again
                file.unlink()
    return {"compiling of the first run": times[0] - times[1]}


def main() -> None:
    """Print a table of both versions."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--before", type=Path, help="folder src of the older version")
    parser.add_argument("--parts", nargs="+", default=["calls", "compiling", "pubmed"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure)))
        return
    print("| processor seconds | before | now | ratio |\n|---|---|---|---|")
    for part in options.parts:
        best: list[dict[str, float]] = [{}, {}]
        for _ in range(options.repeats):  # in turns, so that other work slows both
            for place, source in enumerate((options.before, HERE)):
                is_first = part == "compiling"
                found = seconds_of_compiling(source) if is_first else in_version(source, part)
                for name, value in found.items():
                    best[place][name] = min(value, best[place].get(name, np.inf))
        for name, value in best[1].items():
            before = best[0][name]
            print(f"| {name} | {before:.2f} | {value:.2f} | {value / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
