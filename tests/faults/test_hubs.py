"""A node with 100,000 neighbours: memory grows with the edges, not with the square of a degree."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource")  # Windows has none

MOST_GB = 1.5  # of which the libraries and the input hold about 0.4
STAR = """
import warnings
import numpy as np, truegraph
from scipy.sparse import csr_array
from truegraph.runtime.memory import peak_memory_mb
warnings.simplefilter("ignore")
rng, leaves = np.random.default_rng(0), np.arange(1, 100_001)
n = len(leaves) + 1
A = csr_array((np.ones(n - 1), (0 * leaves, leaves)), shape=(n, n))
A = csr_array(A + A.T)
everybody = np.r_[leaves - 1, leaves - 1], np.r_[0 * leaves, leaves % 1000 + 1]
M = csr_array((np.ones(2 * n - 2), everybody), shape=(n - 1, 1001))
X, y = rng.normal(size=(n, 4)), np.full(n, None, dtype=object)
y[:200] = np.where(np.arange(200) % 2, "a", "b")
"""
PEAK = "print(peak_memory_mb() / 1e3)"
CASES = {
    "edges that look false": """
from truegraph.classify.edges import edge_model
edge_model(A, X).cleaned(A, X)
""",
    "shared neighbours": """
truegraph.LinkPredictor("adamic-adar").fit(A).predict_proba(np.stack([0 * leaves, leaves], 1))
""",
    "recommender": 'truegraph.Recommender("item-knn").fit(M).recommend([0])',
}


@pytest.mark.parametrize("case", CASES)
def test_memory_is_that_of_the_edges(case: str) -> None:
    words = [sys.executable, "-c", STAR + CASES[case] + "\n" + PEAK]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < MOST_GB
