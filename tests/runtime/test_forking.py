"""Estimators in threads at the same time and in forked processes, on every threading layer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

COMMON = """
import multiprocessing, os, warnings
import numpy as np
from scipy import sparse
import truegraph

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(2500, 3))
part = X[:400]
labels = np.where(part[:, 0] > 0, "a", "b").astype(object)
labels[40:] = None
upper = sparse.triu(sparse.random_array((400, 400), density=0.02, rng=rng), 1)
A = sparse.csr_array(((upper + upper.T) > 0).astype(float))
M = sparse.csr_array((rng.random((200, 80)) < 0.1).astype(float))
pairs = np.array([[0, 1], [2, 3]])

def ranked(model):
    return truegraph.Recommender(model, random_state=0).fit(M).rank_all(M, 5)

JOBS = {
    "learn": lambda: truegraph.learn_graph(X, 5).adjacency.data,
    "posterior": lambda: truegraph.learn_graph(part, 5).posterior().mean.data,
    "classifier": lambda: truegraph.NodeClassifier("bgcn-fast", random_state=0)
        .fit(part, labels, graph=A).predict_proba(),
    "links": lambda: truegraph.LinkPredictor(random_state=0).fit(A, part).predict_proba(pairs),
    "ials": lambda: ranked("ials"),
    "recommender": lambda: ranked("auto"),
}

def run(name):
    return np.ascontiguousarray(JOBS[name]()).tobytes()
"""
FORKS = {
    "ProcessPoolExecutor": """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
    found = list(pool.map(run, names))
""",
    "joblib": """
from joblib import Parallel, delayed
found = Parallel(2, backend="multiprocessing")(delayed(run)(name) for name in names)
""",
    "DataLoader": """
from torch.utils.data import DataLoader, Dataset

class Results(Dataset):
    def __len__(self):
        return len(names)

    def __getitem__(self, index):
        return run(names[index])

found = list(DataLoader(
    Results(), batch_size=None, num_workers=2, multiprocessing_context="fork"
))
""",
}
THREADS = """
from concurrent.futures import ThreadPoolExecutor
names = [*JOBS] * 2  # two callers of each
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(run, names))
"""
SAME = "\nprint([name for name, one in zip(names, found) if expected[name] != one])\n"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMON + code],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"NUMBA_NUM_THREADS": "2"} | environment,
    )


@pytest.mark.parametrize("way", FORKS)
def test_the_same_results_in_forked_processes(way: str) -> None:
    """Of everything in the first way to fork, of graphs in the others."""
    names = "[*JOBS]" if way == "ProcessPoolExecutor" else "['learn'] * 3"
    expected = f"names = {names}\nexpected = {{name: run(name) for name in names}}\n"
    done = run(expected + FORKS[way] + SAME)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
def test_the_same_results_in_threads_at_the_same_time(layer: str) -> None:
    expected = "\nexpected = {name: run(name) for name in names}\n"
    done = run(THREADS + expected + SAME, NUMBA_THREADING_LAYER=layer)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("name", ["learn", "ials"])
def test_without_tbb_the_child_is_told_what_to_do(name: str) -> None:
    code = f"names = ['{name}']\nrun('{name}')\n" + FORKS["ProcessPoolExecutor"]
    done = run(code, NUMBA_THREADING_LAYER="omp")
    assert done.returncode == 1
    assert "start processes with multiprocessing's 'spawn'" in done.stderr


def test_a_child_forked_before_the_first_loop_learns() -> None:
    code = "names = ['learn'] * 2\n" + FORKS["ProcessPoolExecutor"] + "print(len(set(found)))\n"
    done = run(code, NUMBA_THREADING_LAYER="omp")
    assert done.stdout.strip() == "1", done.stderr
