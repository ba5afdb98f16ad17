"""Classification of few nodes: clock and processor seconds, with and without loading libraries.

    python benchmarks/small_graphs.py

Claim: once the loops are compiled, which happens once per installation, classifying a hundred nodes
takes less than two seconds. Three inputs: the first hundred rows of the table in
`examples/customers` with ten labels per segment, a cycle of six nodes and the karate club of 34,
each with two labels per class. Every input is classified twice in a process of its own, so that the
first time includes reading compiled loops from the cache; the command includes starting Python,
loading NumPy, SciPy, pandas, scikit-learn, numba and torch, and writing table and page.
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
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "customers"
NAMES = ("hundred customers", "cycle of 6", "karate club, 34")


def files(name: str) -> tuple[str, str]:
    """Write the files of an input; return the option for them and the file of labels."""
    if name == NAMES[0]:
        table = pd.read_csv(EXAMPLE / "customers.csv").head(100)
        segment = pd.read_csv(EXAMPLE / "answers.csv").set_index("customer_id")["segment"]
        table.to_csv("input.csv", index=False)
        known = table[["customer_id"]].assign(segment=segment[table["customer_id"]].to_numpy())
        known.groupby("segment").head(10).to_csv("labels.csv", index=False)
        return "--features", "labels.csv"
    graph = nx.cycle_graph(6) if name == NAMES[1] else nx.karate_club_graph()
    pd.DataFrame(list(graph.edges()), columns=["source", "target"]).to_csv("input.csv", index=False)
    nodes = [0, 1, 3, 4] if name == NAMES[1] else [0, 1, 33, 32]
    pd.DataFrame({"node": nodes, "label": list("aabb")}).to_csv("labels.csv", index=False)
    return "--edges", "labels.csv"


def in_process(option: str) -> None:
    """Print the seconds of loading, of a first and of a second classification."""
    laps = [(time.perf_counter(), time.process_time())]

    def lap() -> None:
        laps.append((time.perf_counter(), time.process_time()))

    import sklearn.ensemble  # noqa: F401
    import torch  # noqa: F401

    from truegraph import NodeClassifier
    from truegraph.data import read_node_data

    features, edges = ("input.csv", None) if option == "--features" else (None, "input.csv")
    dataset = read_node_data(edges, features, "labels.csv")
    lap()
    warnings.simplefilter("ignore")
    for _ in range(2):
        model = NodeClassifier(random_state=0)
        model.fit(dataset.features, dataset.labels, graph=dataset.graph)
        lap()
    print(json.dumps(np.diff(np.array(laps), axis=0).tolist()))


def command(option: str) -> tuple[float, float]:
    """Return clock and processor seconds of the whole command."""
    call = [sys.executable, "-m", "truegraph", "classify", option, "input.csv"]
    call += ["--labels", "labels.csv", "--out", "answer.csv", "--quiet"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(call, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, processor


def main() -> None:
    """Run every input twice in fresh processes, the first time to compile."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    inside = parser.parse_args().inside
    if inside is not None:
        in_process(inside)
        return
    print("clock / processor seconds")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in NAMES:
            option, _ = files(name)
            call = [sys.executable, str(Path(__file__).resolve()), f"--inside={option}"]
            subprocess.run(call, check=True, capture_output=True)
            found = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
            found.append(command(option))
            parts = ("loading libraries", "first", "second", "whole command")
            shown = [f"{p} {c:.2f} / {s:.2f}" for p, (c, s) in zip(parts, found, strict=True)]
            print(f"{name}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
