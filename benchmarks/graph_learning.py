r"""How fast the graph learner is, against its rivals, in one run.

    python benchmarks/graph_learning.py                    # everything, about 15 minutes
    python benchmarks/graph_learning.py --only share,rivals --largest 100000

Parts: share (solve time against neighbour search time), slope (time over the number of points,
and memory), rivals (scikit-learn and pynndescent), solvers (Newton against the paper's
primal-dual solver, to a relative gap of 1e-4), engines (exact against approximate search, from
which "auto" chooses), cells (our search in cells against faiss's), stiff (the paper's distance on
Cora and tied features, to a relative gap of 1e-8; run it in an older checkout to compare), million
(one million points against pynndescent and faiss at equal recall), start (import time). Parts that
need MNIST or the Cora distance are left out, with a note, unless TRUEGRAPH_DATA is set.

Machines are noisy: read the ratios; every ratio is of two times from this run, the best of
several repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph

from truegraph import LearnedGraph, learn_graph, load_dataset
from truegraph.data.storage import read_npz
from truegraph.learning import EmbeddingDistance, LabelDisagreement, SumDistance
from truegraph.learning.search.approximate import CellSearch, recall_of, tune
from truegraph.learning.search.neighbours import ExactSearch
from truegraph.learning.solve import primal_dual, solver
from truegraph.learning.solve.dual import Problem
from truegraph.learning.solve.interior import Interior

DEGREE = 10
CORA_DEGREES = (5, 10, 20, 50, 100, 200)
DESCENT_TREES = (12, 16, 20, 24, 32, 48)  # of pynndescent: more trees find more neighbours
Row = dict[str, Any]


def synthetic(count: int, dimension: int = 16) -> np.ndarray:
    """Return points (count, dimension) of intrinsic dimension 8 with a little noise."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(count, 8)).astype(np.float32)
    curved = np.tanh(latent @ rng.normal(size=(8, dimension)).astype(np.float32))
    return curved + np.float32(0.05) * rng.normal(size=(count, dimension)).astype(np.float32)


def mnist() -> np.ndarray:
    """Return MNIST reduced to 50 dimensions (70000, 50)."""
    pixels = np.asarray(load_dataset("mnist").features, dtype=np.float32) / 255.0
    return PCA(50, svd_solver="randomized", random_state=0).fit_transform(pixels)


def cora_distance() -> SumDistance:
    """Return the paper's distance on Cora (2485 nodes)."""
    arrays = read_npz(Path(os.environ["TRUEGRAPH_DATA"]) / "hard" / "cora_distance.npz")
    return SumDistance(EmbeddingDistance(arrays["z"]), LabelDisagreement.from_shares(arrays["p"]))


def best(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of several runs, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def fastest(repeats: int, points: Any, **options: Any) -> LearnedGraph:
    """Learn several times; return the run with the least total time."""
    runs = [
        learn_graph(points, DEGREE, graph_model="paper", random_state=0, **options)
        for _ in range(repeats)
    ]
    return min(runs, key=lambda graph: graph.certificate.seconds["total"])


def share(largest: int) -> list[Row]:
    """Solve time as a share of the neighbour search time."""
    cases: list[tuple[str, Callable[[], np.ndarray], int]] = [
        (f"synthetic {count:,} x 16", lambda count=count: synthetic(count), repeats)
        for count, repeats in ((100_000, 3), (1_000_000, 1))
        if count <= largest
    ]
    if "TRUEGRAPH_DATA" in os.environ:
        cases.append(("MNIST 70,000 x 50", mnist, 2))
    rows = []
    for name, make, repeats in cases:
        certificate = fastest(repeats, make()).certificate
        seconds = certificate.seconds
        rows.append(
            {
                "data": name,
                "engine": certificate.search,
                "recall": round(certificate.recall, 3),
                "search s": round(seconds["search"], 2),
                "candidates s": round(seconds["candidates"], 2),
                "solve s": round(seconds["solve"], 2),
                "solve / search": round(seconds["solve"] / seconds["search"], 3),
                "relative gap": f"{certificate.relative_gap:.0e}",
            }
        )
    return rows


def slope(largest: int) -> list[Row]:
    """Total time and peak memory over the number of points, each in a process of its own."""
    rows: list[Row] = []
    for count in (10_000, 100_000, 1_000_000):
        if count > largest:
            continue
        command = [sys.executable, __file__, "--measure", str(count)]
        runs = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(1 if count == 1_000_000 else 2)
        ]
        row = min(runs, key=lambda run: float(run["total s"]))
        if rows:
            step = np.log(row["total s"] / rows[-1]["total s"])
            row["slope"] = round(float(step / np.log(count / rows[-1]["points"])), 2)
            whole = np.log(row["total s"] / rows[0]["total s"])
            row["slope from the first"] = round(float(whole / np.log(count / rows[0]["points"])), 2)
        rows.append(row)
    return rows


def measure(count: int) -> Row:
    """Learn one graph with approximate search and report its time and this process's memory."""
    learn_graph(
        synthetic(2000), DEGREE, graph_model="paper", candidates="ivf", random_state=0
    )  # compile
    certificate = fastest(1, synthetic(count), candidates="ivf").certificate
    return {
        "points": count,
        "total s": round(certificate.seconds["total"], 3),
        "degree": round(certificate.degree, 2),
        "peak memory GB": round(peak_memory(), 2),
    }


def peak_memory() -> float:
    """Return this process's peak memory in GB; the usual call would count the parent's as well."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def rivals(largest: int) -> list[Row]:
    """Compare a learned graph with plain nearest-neighbour graphs of the same points."""
    from pynndescent import NNDescent

    count = min(100_000, largest)
    points = synthetic(count)
    ours = fastest(3, points).certificate.seconds["total"]
    neighbours, _ = best(1, lambda: kneighbors_graph(points, DEGREE, n_jobs=-1))
    NNDescent(points[:2000], n_neighbors=DEGREE, random_state=0, n_jobs=-1)  # compile
    descent, _ = best(
        2, lambda: NNDescent(points, n_neighbors=3 * DEGREE, random_state=0, n_jobs=-1)
    )
    return [
        {"graph of 100,000 x 16": name, "seconds": round(s, 2), "times ours": round(s / ours, 1)}
        for name, s in (
            ("truegraph, learned, certified", ours),
            ("scikit-learn kneighbors_graph, 10 neighbours", neighbours),
            ("pynndescent, 30 neighbours (compiled before)", descent),
        )
    ]


def solvers(largest: int) -> list[Row]:
    """Newton against the paper's primal-dual solver, both to a relative gap of 1e-4."""
    if "TRUEGRAPH_DATA" not in os.environ:
        return []
    rows = []
    for name, data, degree in (
        ("Cora, paper's distance, degree 100", cora_distance(), 100),
        ("MNIST 70,000 x 50, degree 10", mnist(), DEGREE),
    ):
        learned = learn_graph(data, degree, graph_model="paper", random_state=0)
        candidates, theta = learned.candidates, learned.certificate.theta
        newton, ours = best(3, lambda c=candidates, t=theta: solver.solve(c, t, tol=1e-4))
        paper, theirs = best(
            1,
            lambda c=candidates, t=theta: primal_dual.solve(c, t, tol=1e-4, max_iter=3000),
        )
        rows.append(
            {
                "problem": name,
                "Newton s": round(newton, 3),
                "gap": f"{ours.relative_gap:.0e}",
                "primal-dual s": round(paper, 2),
                "iterations": theirs.iterations,
                "its gap": f"{theirs.relative_gap:.0e}",
                "ratio": round(paper / newton, 1),
            }
        )
    return rows


def engines(largest: int) -> list[Row]:
    """Exact against approximate search, over the number of points."""
    rows = []
    for count in (5_000, 10_000, 20_000, 40_000):
        points = synthetic(count)
        row: Row = {"points": count}
        for engine in ("exact", "ivf"):
            certificate = fastest(2, points, candidates=engine).certificate
            row[f"{engine} s"] = round(certificate.seconds["search"], 2)
            row[f"{engine} recall"] = round(certificate.recall, 3)
        rows.append(row)
    return rows


def cells(largest: int) -> list[Row]:
    """Our search in cells against faiss's inverted file, from points to lists, at equal recall."""
    rows = []
    for count, dimension in ((100_000, 16), (1_000_000, 16), (1_000_000, 32)):
        if count > largest:
            continue
        points = synthetic(count, dimension)
        sample = np.sort(np.random.default_rng(0).choice(count, size=256, replace=False))
        truth = ExactSearch(points).query(points[sample], sample, 30)
        CellSearch(points[:2000], seed=0).query(points[:200], np.arange(200), 30)  # compile
        began = time.perf_counter()
        found = our_lists(points, sample, truth)
        ours, recall = time.perf_counter() - began, recall_of(found[sample], truth)
        began = time.perf_counter()
        index, nprobe = faiss_index(points, sample, truth, recall)
        index.nprobe = nprobe
        index.search(points, 31)
        theirs = time.perf_counter() - began
        rows.append(
            {
                "points": f"{count:,} x {dimension}",
                "recall": round(recall, 4),
                "ours s": round(ours, 2),
                "faiss s": round(theirs, 2),
                "ratio": round(theirs / ours, 2),
            }
        )
    return rows


def our_lists(points: np.ndarray, sample: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return everyone's 30 neighbours, in the caller's order."""
    search = CellSearch(points, seed=0)
    tune(search, points[sample], sample, truth)
    found = np.empty((len(points), 30), dtype=np.int32)
    found[search.order] = search.query(points[search.order], search.order, 30)
    return found


def faiss_index(
    points: np.ndarray, sample: np.ndarray, truth: np.ndarray, recall: float
) -> tuple[Any, int]:
    """Return faiss's inverted file and how many of its cells it must probe for a recall."""
    import faiss

    wanted = int(4 * np.sqrt(len(points)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], wanted)
    index.cp.niter = 5
    index.cp.max_points_per_centroid = 40
    index.train(points)
    index.add(points)
    for nprobe in range(4, wanted, 2):
        index.nprobe = nprobe
        others = index.search(points[sample], 31)[1]
        lists = np.array([row[row != own][:30] for row, own in zip(others, sample, strict=True)])
        if recall_of(lists, truth) >= recall:
            break
    return index, nprobe


def tied(count: int, dimension: int, distinct: int | None) -> np.ndarray:
    """Return rows of small integers: so many distinct ones, or independent skewed columns."""
    rng = np.random.default_rng(0)
    if distinct is None:
        return np.minimum(rng.geometric(0.6, size=(count, dimension)), 5).astype(float)
    rows = rng.integers(0, 5, size=(distinct, dimension))
    return rows[rng.integers(0, distinct, size=count)].astype(float)


def stiff(largest: int) -> list[Row]:
    """Stiff problems and ties, to a relative gap of 1e-8: processor seconds."""
    cases: list[tuple[str, Any, float]] = [
        ("12,000 x 10, 300 distinct rows", tied(12_000, 10, 300), DEGREE),
        ("12,000 x 10, skewed integers", tied(12_000, 10, None), DEGREE),
        ("100,000 x 5, 300 distinct rows", tied(100_000, 5, 300), DEGREE),
        ("100,000 x 5, skewed integers", tied(100_000, 5, None), DEGREE),
        ("100,000 x 5, all distinct", np.random.default_rng(0).normal(size=(100_000, 5)), DEGREE),
    ]
    if "TRUEGRAPH_DATA" in os.environ:
        distance = cora_distance()
        compiling = learn_graph(distance, 5, graph_model="paper", random_state=0).candidates
        Interior(Problem(compiling), 1.0).step(1e-2)
        named = [(f"Cora, degree {degree}", distance, degree) for degree in CORA_DEGREES]
        cases = [*named, *cases]
    rows = []
    for name, data, degree in cases:
        began = time.process_time()
        certificate = learn_graph(
            data, degree, graph_model="paper", random_state=0, options={"tol": 1e-8}
        ).certificate
        rows.append(
            {
                "problem": name,
                "processor s": round(time.process_time() - began, 2),
                "steps": certificate.iterations,
                "CG steps": certificate.inner_iterations,
                "degree": round(certificate.degree, 2),
                "relative gap": f"{certificate.relative_gap:.0e}",
            }
        )
    return rows


def million(largest: int) -> list[Row]:
    """One million points: neighbour lists against pynndescent and faiss at equal recall."""
    points = synthetic(min(1_000_000, largest))
    sample = np.sort(np.random.default_rng(0).choice(len(points), size=256, replace=False))
    truth = ExactSearch(points).query(points[sample], sample, 30)
    CellSearch(points[:2000], seed=0).query(points[:200], np.arange(200), 30)  # compile
    descent_lists(points[:2000])

    def measured(name: str, work: Callable[[], np.ndarray]) -> Row:
        began, busy = time.perf_counter(), time.process_time()
        lists = work()
        row = {
            "lists of 30 neighbours": name,
            "points": len(points),
            "seconds": round(time.perf_counter() - began, 1),
            "processor s": round(time.process_time() - busy, 1),
            "recall": round(recall_of(lists[sample], truth), 4),
        }
        print(row, file=sys.stderr, flush=True)
        return row

    def with_faiss() -> np.ndarray:
        index, index.nprobe = faiss_index(points, sample, truth, ours["recall"])
        return without_self(index.search(points, 31)[1])

    ours = measured("truegraph", lambda: our_lists(points, sample, truth))
    rows = [ours, measured("faiss, inverted file", with_faiss)]
    for trees in DESCENT_TREES:  # until it finds as much; its own settings find more
        work = partial(descent_lists, points, trees)
        theirs = measured(f"pynndescent, {trees} trees, no descent", work)
        if theirs["recall"] >= ours["recall"]:
            break
    own = measured("pynndescent, its own settings", partial(descent_lists, points))
    return [*rows, theirs, own]


def descent_lists(points: np.ndarray, trees: int | None = None) -> np.ndarray:
    """Return pynndescent's lists: of its trees alone, or with its own settings."""
    from pynndescent import NNDescent

    only_trees = {} if trees is None else {"n_trees": trees, "n_iters": 0}
    index = NNDescent(points, n_neighbors=31, random_state=0, n_jobs=-1, **only_trees)
    return without_self(index.neighbor_graph[0])


def without_self(lists: np.ndarray) -> np.ndarray:
    """Return lists (n, 31) without the node itself (n, 30)."""
    own = lists == np.arange(len(lists))[:, None]
    own[~own.any(axis=1), -1] = True
    return lists[~own].reshape(len(lists), -1).astype(np.int32)


def start(largest: int) -> list[Row]:
    """Time to import, in a fresh process."""
    code = "import time; t = time.perf_counter(); import truegraph; print(time.perf_counter() - t)"
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    return [{"import truegraph s": round(min(seconds), 3)}]


PARTS = {
    "start": start,
    "stiff": stiff,
    "million": million,
    "engines": engines,
    "cells": cells,
    "share": share,
    "rivals": rivals,
    "solvers": solvers,
    "slope": slope,
}


def table(rows: list[Row]) -> str:
    """Format rows as a Markdown table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    parser.add_argument("--largest", type=int, default=1_000_000, help="most points")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    learn_graph(
        synthetic(3000), DEGREE, graph_model="paper", candidates="ivf", random_state=0
    )  # compile
    results = {}
    for name in arguments.only.split(","):
        results[name] = PARTS[name](arguments.largest)
        if not arguments.json:
            note = "left out: set TRUEGRAPH_DATA"
            print(f"\n### {PARTS[name].__doc__}\n\n{table(results[name]) or note}", flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
