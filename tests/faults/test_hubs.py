"""A node with 100,000 neighbours: memory grows with the edges, not with the square of a degree.

`benchmarks/hubs.py` measures every model; here are those that take seconds.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource")  # Windows has none

MOST_GB = 1.5  # of which the libraries and the input hold about 0.4
SHAPES = {
    "star": """
i, j = 0 * np.arange(100_000), np.arange(1, 100_001)
everybody = np.r_[j - 1, j - 1], np.r_[0 * j, j % 1000 + 1]
""",
    "power law": """
chances = np.arange(1, 50_001) ** -0.9
i, j = rng.choice(50_000, (2, 250_000), p=chances / chances.sum())
i, j = i[i != j], j[i != j]
everybody = i, j % 1000
""",
}
CODE = """
import warnings
import numpy as np, truegraph
from scipy.sparse import csr_array
from truegraph.runtime.memory import peak_memory_mb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
{shape}
n = int(max(i.max(), j.max())) + 1
A = csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
A = csr_array(A + A.T)
A.data[:] = 1.0
M = csr_array((np.ones(len(everybody[0])), everybody))
X, y = rng.normal(size=(n, 4)), np.full(n, None, dtype=object)
y[:200] = np.where(np.arange(200) % 2, "a", "b")
pairs = np.stack([0 * np.arange(1, 5001), np.arange(1, 5001)], 1)
{call}
print(peak_memory_mb() / 1e3)
"""
CALLS = {
    "edges that look false": """
from truegraph.classify.edges import edge_model
edge_model(A, X).cleaned(A, X)
""",
    "links": """
for name in ("common-neighbours", "adamic-adar", "resource-allocation"):
    truegraph.LinkPredictor(name, random_state=0).fit(A).predict_proba(pairs)
""",
    "recommenders": """
for name in ("item-knn", "popularity"):
    truegraph.Recommender(name, random_state=0).fit(M).recommend([0])
""",
    "classifiers": """
for name in ("label-propagation", "logistic-regression"):
    truegraph.NodeClassifier(name, random_state=0).fit(X, y, graph=A).predict_proba()
truegraph.GraphLabelSpreading(A).fit(None, y).predict()
""",
}


CASES = [*((name, "star") for name in CALLS), ("all", "power law")]


@pytest.mark.parametrize(("call", "shape"), CASES)
def test_memory_is_that_of_the_edges(call: str, shape: str) -> None:
    calls = "".join(CALLS.values()) if call == "all" else CALLS[call]
    code = CODE.format(shape=SHAPES[shape], call=calls)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < MOST_GB
