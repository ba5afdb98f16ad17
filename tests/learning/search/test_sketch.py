"""Search in a sketch: sparse rows stay sparse, and a flat spectrum is recognised."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import GraphLearner, learn_graph
from truegraph.learning.search import candidates


def documents(count: int, words: int = 20_000, each: int = 20) -> csr_array:
    """Return counts of words of which every document has a few, most of them of its topic."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 40, count)
    drawn = (words * rng.random((count, each)) ** 3).astype(int)
    drawn[:, ::2] = 200 * topic[:, None] + rng.integers(0, 200, (count, each // 2))
    rows = np.repeat(np.arange(count), each)
    return csr_array((np.ones(rows.size), (rows, drawn.ravel())), shape=(count, words))


@pytest.mark.parametrize("engine", ["sketch", "ivf"])
def test_sparse_rows_are_never_made_dense(engine: str) -> None:
    """Neither by the search nor by adding rows; float32 would take 480 MB."""
    points = documents(6000)
    tracemalloc.start()
    learner = GraphLearner(metric="cosine", candidates=engine, random_state=0).fit(points[:5800])
    found = learner.update(points[5800:]).certificate_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.search == "sketch"
    assert found.converged
    assert peak < 250e6


def test_the_certificate_says_how_many_axes_there_are() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, 12)) @ rng.normal(size=(12, 150))
    found = learn_graph(points, candidates="sketch", random_state=0).certificate
    assert (found.search, found.axes) == ("sketch", 32)
    assert found.recall >= 0.98
    assert learn_graph(points, candidates="ivf", random_state=0).certificate.axes is None


def test_a_flat_spectrum_is_searched_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leading axes say little of points that spread along all: "auto" does without."""
    monkeypatch.setattr(candidates, "LARGEST_EXACT", 1000)
    points = np.random.default_rng(0).normal(size=(2000, 1000)).astype(np.float32)
    found = learn_graph(points, random_state=0).certificate
    assert found.search == "ivf"
    assert found.recall >= 0.97
