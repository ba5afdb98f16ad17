"""Graphs of points in many columns, and of documents: seconds, recall and memory, beside rivals.

    TRUEGRAPH_DATA=... python benchmarks/many_columns.py [DATA ...] [--methods NAME ...]

DATA are mnist (70,000 x 784 pixels), embeddings (100,000 x 768, made: 400 groups on a curved
24-dimensional surface, noise, unit length), million (1,000,000 x 384, made alike), words
(32,000 x 256, made: a flat spectrum) and documents (25,000 x 30,000 counts, made: planted topics,
words by Zipf's law). Methods are sketch and cells (the whole certified graph, 10 edges per node,
candidates="sketch" and "ivf"), pynndescent and, if asked, hnsw of faiss (lists of 30 neighbours).
Every method runs in a process of its own after a small run that compiles; seconds are those of the
processor, recall is of 30 neighbours of 500 points, memory is the highest of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

K, CHECKED = 30, 500
DATA = ("mnist", "embeddings", "million", "words", "documents")
METHODS = ("sketch", "pynndescent")


def curved(count: int, columns: int, groups: int = 400, seed: int = 0) -> NDArray[np.float32]:
    """Return points like embeddings: groups on a curved surface, noise, unit length."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(24, 96)), rng.normal(size=(96, columns)) / np.sqrt(96)
    centres = rng.normal(size=(groups, 24)) * 1.5
    out = np.empty((count, columns), np.float32)
    for start in range(0, count, 50_000):
        rows = min(50_000, count - start)
        inner = centres[rng.integers(groups, size=rows)] + 0.6 * rng.normal(size=(rows, 24))
        block = np.tanh(inner @ first / 5.0) @ second + 0.05 * rng.normal(size=(rows, columns))
        out[start : start + rows] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return out


def flat(count: int = 32_000, columns: int = 256) -> NDArray[np.float32]:
    """Return points like word vectors: many axes matter, groups are loose."""
    rng = np.random.default_rng(0)
    scale = (1.0 + np.arange(columns)) ** -0.25
    centres = rng.normal(size=(2000, columns)) * scale
    points = centres[rng.integers(2000, size=count)] + rng.normal(size=(count, columns)) * scale
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), np.float32)


def documents(
    count: int = 25_000, words: int = 30_000, topics: int = 100, length: int = 80
) -> tuple[csr_array, NDArray[np.int64]]:
    """Return counts of words, and the topic of each document: half its words are the topic's."""
    rng = np.random.default_rng(0)
    shares = 1.0 / (1.0 + np.arange(words))
    cumulated = np.cumsum(shares / shares.sum())
    topic = rng.integers(topics, size=count)
    own = rng.permutation(words)[: topics * 200].reshape(topics, 200)
    common = np.searchsorted(cumulated, rng.random((count, length // 2)))
    special = own[topic[:, None], rng.integers(200, size=(count, length - length // 2))]
    columns = np.concatenate([np.minimum(common, words - 1), special], axis=1).ravel()
    rows = np.repeat(np.arange(count), length)
    matrix = csr_array((np.ones(rows.size), (rows, columns)), shape=(count, words))
    matrix.sum_duplicates()
    return matrix, topic


def load(name: str) -> Any:
    """Return the points of a data set."""
    if name == "mnist":
        with np.load(Path(os.environ["TRUEGRAPH_DATA"]) / "mnist" / "mnist.npz") as arrays:
            key = "x" if "x" in arrays else arrays.files[0]
            return np.ascontiguousarray(arrays[key], dtype=np.float32)
    if name == "documents":
        return documents()[0]
    if name == "words":
        return flat()
    return curved(1_000_000, 384) if name == "million" else curved(100_000, 768)


def true_lists(points: Any, sample: NDArray[np.int64], is_cosine: bool) -> NDArray[np.int64]:
    """Return the 30 nearest others of a sample, by products of all rows."""
    if isinstance(points, csr_array):
        rows = points / np.sqrt((points**2).sum(axis=1))[:, None]
        near = -(rows[sample] @ rows.T).toarray()
        near[np.arange(len(sample)), sample] = np.inf
        return np.argsort(near, axis=1, kind="stable")[:, :K]
    queries = points[sample].astype(np.float64)
    blocks = []
    for first in range(0, len(points), 20_000):
        block = points[first : first + 20_000].astype(np.float64)
        blocks.append((block**2).sum(axis=1) - 2.0 * queries @ block.T)
    near = np.concatenate(blocks, axis=1)
    near[np.arange(len(sample)), sample] = np.inf
    return np.argsort(near, axis=1, kind="stable")[:, :K]


def ours(points: Any, candidates: str, is_cosine: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the candidates of every node, and what the certificate says."""
    from truegraph import learn_graph

    metric = "cosine" if is_cosine else "sqeuclidean"
    graph = learn_graph(points, 10, metric=metric, candidates=candidates, random_state=0)
    c = graph.certificate
    said = {"recall said": c.recall, "low": c.low_recall, "missed": c.missed_objective}
    said |= {"gap": c.relative_gap, "seconds by stage": c.seconds, "search": c.search}
    rows = np.split(graph.candidates.indices, graph.candidates.indptr[1:-1])
    return rows, said


def theirs(points: Any, method: str, is_cosine: bool) -> tuple[Any, dict[str, Any]]:
    """Return the lists of another library."""
    if method == "pynndescent":
        import pynndescent

        metric = "cosine" if is_cosine else "euclidean"
        if isinstance(points, csr_array):
            from scipy.sparse import csr_matrix

            points = csr_matrix(points)
        index = pynndescent.NNDescent(points, metric, n_neighbors=K + 1, random_state=0)
        return index.neighbor_graph[0][:, 1:], {}
    import faiss

    index = faiss.IndexHNSWFlat(points.shape[1], 32)
    index.hnsw.efConstruction, index.hnsw.efSearch = 80, 64
    index.add(points)
    return index.search(points, K + 1)[1][:, 1:], {}


def run(name: str, method: str) -> dict[str, Any]:
    """Run one method on one data set in this process."""
    points, is_cosine = load(name), name == "documents"
    small = points[:: max(1, points.shape[0] // 3000)]

    def found(rows: Any) -> tuple[Any, dict[str, Any]]:
        if method in ("sketch", "cells"):
            return ours(rows, "ivf" if method == "cells" else method, is_cosine)
        return theirs(rows, method, is_cosine)

    found(small)
    before, began = os.times(), time.perf_counter()
    lists, said = found(points)
    after, wall = os.times(), time.perf_counter() - began
    spent = after.user + after.system - before.user - before.system
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sample = np.sort(np.random.default_rng(1).choice(points.shape[0], CHECKED, replace=False))
    truth = true_lists(points, sample, is_cosine)
    recall = np.mean([np.isin(t, lists[i]).mean() for i, t in zip(sample, truth, strict=True)])
    facts = {"processor seconds": spent, "wall seconds": wall, "recall": float(recall)}
    return facts | {"peak GB": peak} | said


def main() -> None:
    """Print a line for every data set and method."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("data", nargs="*", default=["mnist", "embeddings", "words", "documents"])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    asked = parser.parse_args()
    for name in asked.data:
        for method in asked.methods:
            if asked.here:
                print(json.dumps(run(name, method)))
                continue
            command = [sys.executable, __file__, name, "--methods", method, "--here"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{name:12} {method:12} failed: {done.stderr.splitlines()[-1:]}", flush=True)
                continue
            facts = json.loads(done.stdout.splitlines()[-1])
            shown = (
                f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in facts.items()
            )
            print(f"{name:12} {method:12} " + ", ".join(shown), flush=True)


if __name__ == "__main__":
    main()
