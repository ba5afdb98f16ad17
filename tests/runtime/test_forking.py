"""Graph learning in forked processes, after it has run in the process that forks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

COMMON = """
import multiprocessing
import numpy as np
import truegraph

X = np.random.default_rng(0).normal(size=(2500, 3))

def learn(_):
    return float(truegraph.learn_graph(X, degree=5, n_jobs=2).adjacency.sum())

expected = learn(0)
"""
WAYS = {
    "Pool": """
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map(learn, range(3))
""",
    "ProcessPoolExecutor": """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
    found = list(pool.map(learn, range(3)))
""",
    "joblib": """
from joblib import Parallel, delayed
found = Parallel(2, backend="multiprocessing")(delayed(learn)(i) for i in range(3))
found += Parallel(2, backend="loky")(delayed(learn)(i) for i in range(2))
""",
    "DataLoader": """
from torch.utils.data import DataLoader, Dataset

class Graphs(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return learn(index)

loader = DataLoader(Graphs(), batch_size=1, num_workers=2, multiprocessing_context="fork")
found = [float(batch[0]) for batch in loader]
""",
    "threads at the same time": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    found = list(pool.map(learn, range(3)))
""",
}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"NUMBA_NUM_THREADS": "2"} | environment,
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_same_graph_in_every_process(way: str) -> None:
    done = run(COMMON + WAYS[way] + "\nprint(set(found) == {expected})\n")
    assert done.stdout.strip() == "True", done.stderr


def test_without_tbb_the_child_is_told_what_to_do() -> None:
    code = COMMON + WAYS["ProcessPoolExecutor"]
    done = run(code, NUMBA_THREADING_LAYER="omp")
    assert done.returncode == 1
    assert "start processes with multiprocessing's 'spawn'" in done.stderr


def test_a_child_forked_before_the_first_loop_learns() -> None:
    code = COMMON.replace("expected = learn(0)\n", "") + WAYS["Pool"] + "\nprint(len(set(found)))\n"
    done = run(code, NUMBA_THREADING_LAYER="omp")
    assert done.stdout.strip() == "1", done.stderr
