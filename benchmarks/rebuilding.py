"""The rebuilding: the same work done by an older version and by this one, side by side.

    git archive 4948f9e src | tar -x -C /tmp/old          # version 0.2.0
    python benchmarks/rebuilding.py --before /tmp/old/src [--parts calls compiling pubmed]

Both versions run at the same time, each in a process of its own, so that other work on the machine
slows both; processor seconds of all threads, the best of several. "calls" are four calls with
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
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "src"
FIRST_RUN = ("compare", "classify", "cora", "--per-class", "5", "--trials", "1", "--jobs", "1")
FIRST_RUN += ("--models", "gcn,bgcn,auto", "--quiet")
PROGRAM = "from truegraph.cli import main; main()"

Sources = tuple[Path, Path]  # of the older version and of this one


def labels_of(data: Any, per_class: int) -> np.ndarray:
    from truegraph.data import random_split

    train = random_split(data.labels, per_class, random_state=0).train
    y = np.full(data.n_nodes, -1)
    y[train] = data.labels[train]
    return y


def classifier(is_paper: bool = False) -> Any:
    """Return the recommended classifier or the paper's, under its name in either version."""
    import truegraph

    if (older := getattr(truegraph, "BayesianNodeClassifier", None)) is not None:
        return older(random_state=0, **({"recipe": "paper"} if is_paper else {}))
    return truegraph.NodeClassifier("bgcn" if is_paper else "auto", random_state=0)


def graph_ease() -> Any:
    """Return the default recommender of 0.2.0, of which that of this version is a part."""
    import truegraph

    is_older = hasattr(truegraph, "BayesianNodeClassifier")
    return truegraph.Recommender("refined" if is_older else "graph-ease", random_state=0)


def calls() -> dict[str, Callable[[], object]]:
    from truegraph import LinkPredictor, Recommender, learn_graph, load_dataset
    from truegraph.data import load_interactions

    digits, cora = load_dataset("digits"), load_dataset("cora")
    shop, y = load_interactions("planted"), labels_of(cora, 5)
    return {
        "learn_graph, digits": lambda: learn_graph(digits.features),
        "NodeClassifier().fit, Cora": lambda: classifier().fit(cora.features, y, graph=cora.graph),
        "LinkPredictor().fit, Cora": lambda: LinkPredictor(random_state=0).fit(
            cora.graph, cora.features
        ),
        "Recommender().fit, planted": lambda: Recommender(random_state=0).fit(shop),
        "graph-ease as the older default, planted": lambda: graph_ease().fit(shop),
    }


def pubmed() -> dict[str, Callable[[], object]]:
    from truegraph import load_dataset

    data = load_dataset("pubmed")
    y = labels_of(data, 20)

    def fit() -> object:
        with tempfile.TemporaryDirectory() as cache:
            model = classifier(is_paper=True).set_params(cache=cache)
            return model.fit(data.features, y, graph=data.graph)

    return {"NodeClassifier('bgcn').fit, Pubmed": fit}


def measured(part: str) -> dict[str, float]:
    """Return processor seconds of each call of a part, the best after a first one.

    Of quick calls the best of thirty, of the pipeline on Pubmed the only one.
    """
    found = {}
    for name, call in {"calls": calls, "pubmed": pubmed}[part]().items():
        times: list[float] = []
        while not times or (part == "calls" and len(times) < (31 if times[-1] < 0.5 else 4)):
            began = time.process_time()
            call()
            times.append(time.process_time() - began)
        found[name] = min(times)
    return found


def side_by_side(sources: Sources, part: str) -> list[dict[str, float]]:
    """Return what a process with each version measures, both at once."""
    command = [sys.executable, __file__, "--measure", part]
    started = [
        subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(source)}, stdout=PIPE)
        for source in sources
    ]
    return [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]


def seconds_of_compiling(sources: Sources) -> list[dict[str, float]]:
    """Return processor seconds of the first run with an empty cache of numba, less a full one."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (first_runs(sources, Path(folder), number) for number in range(2))
    name = "compiling of the first run"
    return [{name: one - other} for one, other in zip(first, second, strict=True)]


def first_runs(sources: Sources, folder: Path, number: int) -> list[float]:
    """Return processor seconds of `truegraph compare` in each version, both at once."""
    started = []
    for place, source in enumerate(sources):
        own = folder / str(place)
        for file in own.rglob("embeddings/*"):  # they are trained again
            file.unlink()
        places = {"NUMBA_CACHE_DIR": f"{own}/numba", "TRUEGRAPH_CACHE": f"{own}/cache"}
        environment = os.environ | {"PYTHONPATH": str(source)} | places
        command = [sys.executable, "-c", PROGRAM, *FIRST_RUN, "--out", f"{own}/{number}"]
        started.append(subprocess.Popen(command, env=environment, stdout=DEVNULL))
    found = []
    for process in started:
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit("a run failed")
        found.append(usage.ru_utime + usage.ru_stime)
    return found


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
    print("| processor seconds | before | now | ratio |\n|---|---|---|---|", flush=True)
    sources = (options.before, HERE)
    for part in options.parts:
        best: list[dict[str, float]] = [{}, {}]
        for _ in range(options.repeats):
            is_first = part == "compiling"
            found = seconds_of_compiling(sources) if is_first else side_by_side(sources, part)
            for own, kept in zip(found, best, strict=True):
                kept |= {name: min(own[name], kept.get(name, np.inf)) for name in own}
        for name, value in best[1].items():
            before = best[0][name]
            print(f"| {name} | {before:.3g} | {value:.3g} | {value / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
