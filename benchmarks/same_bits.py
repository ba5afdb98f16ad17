"""Whether repeated runs with 1, 2 and 8 threads give the same bits, above the switch to threads.

    python benchmarks/same_bits.py
    python benchmarks/same_bits.py --repeats 25 --nodes 100000

Claim: always. Conjugate gradients and the learner on a problem whose candidate pairs are more than
those from which several threads work, and 30,000 x 8 points in partitions.
"""

from __future__ import annotations

import argparse
import hashlib

import numpy as np
from scipy.sparse import csr_array

from truegraph import learn_graph
from truegraph.distributed import learn_graph as learn_in_partitions
from truegraph.learning.solve import kernels
from truegraph.runtime.threads import thread_limit


def digest(*arrays: np.ndarray) -> str:
    """Return what tells arrays from others by a single bit."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def gradients(nodes: int, threads: int) -> str:
    """Return the bits of a solution by conjugate gradients on a ring."""
    rng = np.random.default_rng(0)
    start, ring = 2 * np.arange(nodes + 1), np.arange(nodes)
    columns = np.stack([np.roll(ring, 1), np.roll(ring, -1)], axis=1).ravel()
    diagonal, right = 2.1 + rng.random(nodes), rng.normal(size=nodes)
    matrix = (start, np.full(nodes, 2), columns, -np.ones(2 * nodes), diagonal)
    found = np.empty(nodes)
    with thread_limit(threads):
        kernels.conjugate_gradients(matrix, right, 1e-10, found)
    return digest(found)


def whole(nodes: int, threads: int) -> str:
    """Return the bits of a graph learned in one piece."""
    points = np.random.default_rng(1).normal(size=(nodes, 8)).astype(np.float32)
    graph = learn_graph(points, random_state=0, options={"n_jobs": threads})
    return digest(graph.adjacency.data, graph.adjacency.indices, graph.multipliers)


def partitioned(threads: int) -> str:
    """Return the bits of a graph learned in partitions."""
    points = np.random.default_rng(2).normal(size=(30_000, 8)).astype(np.float32)
    graph = learn_in_partitions(
        points, 25, memory="0.4GB", random_state=0, options={"n_jobs": threads}
    )
    parts: list[csr_array] = [part.adjacency for part in graph]
    assert len(parts) > 1
    return digest(*(array for part in parts for array in (part.data, part.indices)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=80_000)
    options = parser.parse_args()
    cases = {
        "conjugate gradients": lambda threads: gradients(1_200_000, threads),
        f"learn_graph, {options.nodes:,} x 8": lambda threads: whole(options.nodes, threads),
        "in partitions, 30,000 x 8": partitioned,
    }
    for name, run in cases.items():
        found = {run(threads) for _ in range(options.repeats) for threads in (1, 2, 8)}
        print(f"{name}: {len(found)} different results of {3 * options.repeats} runs", flush=True)


if __name__ == "__main__":
    main()
