"""The same seed gives the same bits for any number of threads; memory stays linear."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from lab.known_problems import paper_graph

PRELUDE = """
import hashlib, json, resource, sys
import numpy as np
from truegraph import learn_graph, learn_bipartite_graph

def digest(graph):
    sha = hashlib.sha256()
    for matrix in (graph.adjacency, graph.candidates):
        for part in (matrix.data, matrix.indices, matrix.indptr):
            sha.update(np.ascontiguousarray(part).tobytes())
    sha.update(graph.multipliers.tobytes())
    return sha.hexdigest()

rng = np.random.default_rng(0)
points = np.tanh(rng.normal(size=(2500, 4)) @ rng.normal(size=(4, 12)))
points = np.concatenate([points, np.repeat(points[:100], 5, axis=0), np.zeros((50, 12))])
"""


def run(code: str, threads: int = 4) -> dict:
    """Run code in a fresh process with so many threads at hand; return the JSON it prints."""
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def digests() -> dict[str, dict[str, str]]:
    """The bits of every engine's graph for 1, 2 and 4 threads, in one process with four."""
    return run("""
out = {}
for name in ("exact", "ivf", "sketch", "cosine", "users", "primal-dual"):
    out[name] = {}
    for n_jobs in (1, 2, 4):
        options = {"degree": 8, "random_state": 5, "options": {"n_jobs": n_jobs}}
        if name == "users":
            graph = learn_bipartite_graph(points[:900], points[900:], candidates="ivf", **options)
        elif name == "cosine":
            graph = learn_graph(points, metric="cosine", **options)
        elif name == "primal-dual":
            options["options"] |= {"solver": "primal-dual", "tol": 1e-2}
            graph = learn_graph(points, **options)
        else:
            graph = learn_graph(points, candidates=name, **options)
        out[name][str(n_jobs)] = digest(graph)
print(json.dumps(out))
""")


@pytest.mark.parametrize("name", ["exact", "ivf", "sketch", "cosine", "users", "primal-dual"])
def test_the_bits_do_not_depend_on_the_threads(
    digests: dict[str, dict[str, str]], name: str
) -> None:
    assert set(digests[name]) == {"1", "2", "4"}
    assert len(set(digests[name].values())) == 1


def test_the_bits_do_not_depend_on_the_process(digests: dict[str, dict[str, str]]) -> None:
    """Another process that has one thread only finds the same graphs."""
    again = run(
        """
options = {"degree": 8, "random_state": 5}
print(json.dumps({
    name: digest(learn_graph(points, candidates=name, **options))
    for name in ("exact", "ivf", "sketch")
}))
""",
        threads=1,
    )
    for name, found in again.items():
        assert found == digests[name]["1"]


LARGE = """
from truegraph.distributed import learn_graph as learn_in_parts
from truegraph.learning.solve import kernels, solver, stiff_part
from truegraph.runtime.threads import thread_limit
solver.SMALL = stiff_part.SMALL = 0  # problems of all sizes take all threads
nodes, out = 60_000, set()
start = np.arange(nodes + 1) * 2
columns = np.stack([np.roll(np.arange(nodes), 1), np.roll(np.arange(nodes), -1)], axis=1).ravel()
diagonal = 2.5 + rng.random(nodes)
matrix = (start, np.full(nodes, 2), columns, -np.ones(2 * nodes), diagonal)
right, found = rng.normal(size=nodes), np.empty(nodes)
for threads in 25 * (1, 2, 8):
    with thread_limit(threads):
        kernels.conjugate_gradients(matrix, right, 1e-8, found)
    out.add(found.tobytes())
graphs, parts = set(), set()
for threads in 2 * (1, 2, 8):
    given = {"random_state": 0, "options": {"n_jobs": threads}}
    graphs.add(digest(learn_graph(points, 8, **given)))
    parts.add(digest(learn_in_parts(points, 8, **given).load()))
print(json.dumps([len(out), len(graphs), len(parts)]))
"""


@pytest.mark.parametrize("layer", ["tbb", "omp", "workqueue"])
def test_large_problems_have_the_same_bits_on_every_threading_layer(
    layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_THREADING_LAYER", layer)
    assert run(LARGE, threads=8) == [1, 1, 1]


def test_two_seeds_may_differ_and_one_seed_may_not() -> None:
    points = np.random.default_rng(1).normal(size=(800, 8))

    def ivf(seed: int) -> tuple[float, bytes]:
        graph = paper_graph(points, 5, candidates="ivf", random_state=seed)
        return graph.certificate.recall, graph.adjacency.data.tobytes()

    assert ivf(3) == ivf(3)
    assert len({ivf(seed) for seed in range(4)}) > 1


def test_the_global_random_state_is_neither_used_nor_changed() -> None:
    points = np.random.default_rng(2).normal(size=(300, 3))
    np.random.seed(1)  # noqa: NPY002
    first = paper_graph(points, 5, candidates="ivf", random_state=0).adjacency
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    second = paper_graph(points, 5, candidates="ivf", random_state=0).adjacency
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert (first != second).nnz == 0


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_is_left_as_it_was(n_jobs: int) -> None:
    import numba

    before = numba.get_num_threads()
    paper_graph(np.random.default_rng(3).normal(size=(50, 2)), 5, n_jobs=n_jobs)
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("engine", ["exact", "ivf"])
def test_memory_is_linear_in_the_points(engine: str) -> None:
    """30,000 nodes: one N x N array of float64 would be 7.2 GB, of booleans 900 MB."""
    found = run(f"""
learn_graph(points[:200], degree=5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
big = np.random.default_rng(1).normal(size=(30_000, 3))
graph = learn_graph(big, degree=5, candidates={engine!r}, random_state=0)
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({{"megabytes": more / 1024, "converged": graph.certificate.converged}}))
""")
    assert found["converged"]
    assert found["megabytes"] < 300.0
