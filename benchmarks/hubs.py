"""Time and memory of every model on graphs with hubs.

    python benchmarks/hubs.py                         # everything, an hour or two
    python benchmarks/hubs.py links star              # cases whose names hold all these words
    python benchmarks/hubs.py --out hubs.csv          # goes on where it stopped

Claim: memory is bounded by edges, whatever the degrees. Two shapes of a million edges or fewer: a
star, whose centre has 100,000 neighbours, and a graph of 1,000,000 edges among 200,000 nodes whose
degrees follow a power law (the largest has tens of thousands). Each case runs in a process of its
own, which is ended where it holds more than `--memory`; what it held before the fit (the
interpreter, the libraries and the input) counts too. Processor seconds are of that process alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

from truegraph.classify.models import MODELS as CLASSIFIERS
from truegraph.links.names import MODELS as LINK_PREDICTORS
from truegraph.recommend.names import MODELS as RECOMMENDERS

SHAPES = ("star", "power law")
LEARNERS = ("learn", "partitions", "distances", "posterior", "spreading", "regressor")
EFFORTS = ("low", "high")

COMMON = r"""
import json, os, resource, sys, threading, time, warnings
import numpy as np
from scipy import sparse
warnings.simplefilter("ignore")
task, name, shape, memory = sys.argv[1:]

def watch():
    while True:
        with open("/proc/self/statm") as statm:
            held = int(statm.read().split()[1]) * resource.getpagesize()
        if held > float(memory) * 1e9:
            print(json.dumps({"outcome": f"more than {memory} GB"}), flush=True)
            os._exit(1)
        time.sleep(0.05)

threading.Thread(target=watch, daemon=True).start()
rng = np.random.default_rng(0)

def graph():
    if shape == "star":
        n = 100_001
        i, j = np.zeros(n - 1, int), np.arange(1, n)
    else:
        n, m = 200_000, 1_000_000
        chances = np.arange(1, n + 1) ** -0.8
        i, j = rng.choice(n, (2, m), p=chances / chances.sum())
        i, j = i[i != j], j[i != j]
    A = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    A = sparse.csr_array(A + A.T)
    A.data[:] = 1.0
    return A

def interactions():
    if shape == "star":  # an item that everybody has, each with one more
        users = np.arange(100_000)
        parts = np.r_[users, users], np.r_[np.zeros(100_000, int), 1 + users % 1000]
        return sparse.csr_array((np.ones(200_000), parts), shape=(100_000, 1001))
    users, items, m = 50_000, 20_000, 1_000_000
    chances = [np.arange(1, n + 1) ** -0.8 for n in (users, items)]
    ends = tuple(rng.choice(one.size, m, p=one / one.sum()) for one in chances)
    M = sparse.csr_array((np.ones(m), ends), shape=(users, items))
    M.data[:] = 1.0
    return M

def points(n):
    if shape == "star":  # the centre of a sphere is every point's nearest neighbour
        sphere = rng.normal(size=(n, 24))
        sphere /= np.linalg.norm(sphere, axis=1)[:, None]
        return np.vstack([np.zeros((1, 24)), sphere])
    return rng.standard_t(1.2, size=(n, 8))
"""
RUN = r"""
import truegraph

def labelled(n):
    y = np.full(n, None, dtype=object)
    some = rng.choice(n, 200, replace=False)
    y[some] = np.where(some % 2, "a", "b")
    return y

def classifier():
    A = graph()
    X = rng.normal(size=(A.shape[0], 8))
    model, _, effort = name.partition(" ")
    options = {"effort": effort} if effort else {}
    fit = truegraph.NodeClassifier(model, random_state=0, **options).fit
    return lambda: fit(X, labelled(len(X)), graph=A).predict_proba()

def links():
    A = graph()
    pairs = rng.integers(0, A.shape[0] // 2, (1000, 2)) * 2 + [0, 1]
    def run():
        fitted = truegraph.LinkPredictor(name, random_state=0).fit(A)
        fitted.predict_proba(pairs)
        fitted.suggest(10)
    return run

def recommender():
    M = interactions()
    return lambda: truegraph.Recommender(name, random_state=0).fit(M).rank_all(M[:1000], 10)

def learner():
    if name in ("learn", "partitions", "posterior"):
        X = points(100_000)
        if name == "partitions":
            from truegraph import distributed
            return lambda: distributed.learn_graph(X, 8, memory="1GB", random_state=0)
        learn = lambda: truegraph.learn_graph(X, 8, random_state=0)
        return (lambda: learn().posterior().mean) if name == "posterior" else learn
    A = graph()
    if name == "distances":
        A.data[:] = rng.random(A.nnz) + 0.5
        A = sparse.csr_array(A.maximum(A.T))
        return lambda: truegraph.learn_graph(A, 1.5, metric="precomputed", random_state=0)
    X, n = rng.normal(size=(A.shape[0], 8)), A.shape[0]
    if name == "spreading":
        y = np.where(np.arange(n) < 100, np.arange(n) % 2, -1)
        return lambda: truegraph.GraphLabelSpreading(graph=A).fit(X, y).predict()
    y = np.where(np.arange(n) < 200, X[:, 0], np.nan)
    return lambda: truegraph.NodeRegressor(random_state=0).fit(X, y, graph=A).predict()

run = {"classify": classifier, "links": links, "recommend": recommender, "learn": learner}[task]()
began, cpu = time.perf_counter(), time.process_time()
try:
    run()
    outcome = "ok"
except truegraph.TruegraphError as error:
    outcome = f"{type(error).__name__}: {error}"
print(json.dumps({
    "outcome": outcome[:200],
    "seconds": round(time.perf_counter() - began, 1),
    "processor_s": round(time.process_time() - cpu, 1),
    "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
}), flush=True)
os._exit(0)
"""


def cases() -> list[tuple[str, str, str]]:
    """Return every (task, name, shape)."""
    names = {
        "learn": LEARNERS,
        "links": LINK_PREDICTORS,
        "recommend": RECOMMENDERS,
        "classify": (*(f"auto {effort}" for effort in EFFORTS), *CLASSIFIERS),
    }
    return [(task, name, shape) for task in names for name in names[task] for shape in SHAPES]


def measured(case: tuple[str, str, str], memory: float, limit: float) -> dict[str, object]:
    """Run one case; return its row of the table."""
    named: dict[str, object] = dict(zip(("task", "model", "shape"), case, strict=True))
    words = [sys.executable, "-c", COMMON + RUN, *case, str(memory)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return named | {"outcome": f"longer than {limit:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if not lines:
        return named | {"outcome": (done.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    return named | json.loads(lines[-1])


def main() -> None:
    """Measure the cases that are wanted and not yet in the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="run only cases whose names hold all of these")
    parser.add_argument("--out", type=Path, help="CSV file that rows are appended to")
    parser.add_argument("--memory", type=float, default=2.0, help="GB that a case may hold")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a case may take")
    options = parser.parse_args()
    columns = ["task", "model", "shape", "seconds", "processor_s", "peak_gb", "outcome"]
    rows: list[dict[str, object]] = []
    if options.out and options.out.exists():
        rows = list(csv.DictReader(options.out.open()))
    known = {(row["task"], row["model"], row["shape"]) for row in rows}
    for case in cases():
        if case in known or not all(word in " ".join(case) for word in options.words):
            continue
        rows.append(measured(case, options.memory, options.limit))
        print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
        if options.out:
            with options.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
