"""Approximate search: what it finds, and what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.learning.search.approximate import CellSearch, recall_of
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.progress import Progress


def search(points: np.ndarray | csr_array, engine: str, k: int, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    return all_neighbours(
        points, points, k, engine=engine, same=True, random_state=rng, progress=Progress()
    )


def low_dimensional(count: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.tanh(rng.normal(size=(count, 4)) @ rng.normal(size=(4, 16)))


@pytest.mark.parametrize("engine", ["ivf", "sketch"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_measured_recall_is_honest(engine: str, form: type) -> None:
    points = low_dimensional(4000)
    found, recall = search(form(points), engine, 20)
    truth, exact = search(points, "exact", 20)
    assert exact == 1.0
    assert recall_of(found, truth) == pytest.approx(recall, abs=0.01)
    assert recall >= 0.98
    assert not (found == np.arange(4000)[:, None]).any()
    assert all(len(set(row)) == 20 for row in found[::50])


def test_recall_is_a_share_of_the_truth() -> None:
    truth = np.array([[1, 2], [3, 4]], dtype=np.int32)
    assert recall_of(np.array([[2, 1], [4, 9]], dtype=np.int32), truth) == 0.75
    assert recall_of(np.array([[-1, -1], [-1, -1]], dtype=np.int32), truth) == 0.0


@pytest.mark.parametrize("engine", ["ivf", "sketch"])
def test_the_point_itself_is_dropped_by_id_among_duplicates(engine: str) -> None:
    points = np.repeat(low_dimensional(400), 8, axis=0)
    found, recall = search(points, engine, 7)
    assert recall >= 0.98
    assert not (found == np.arange(3200)[:, None]).any()
    # The seven nearest are the seven copies.
    assert (found // 8 == np.arange(3200)[:, None] // 8).mean() >= 0.98


@pytest.mark.parametrize("engine", ["ivf", "sketch"])
@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_the_unit_of_the_points_does_not_matter(engine: str, scale: float) -> None:
    """Squares of such numbers are beyond float32."""
    points = low_dimensional(1500)
    _, recall = search(points * scale, engine, 10)
    assert recall >= 0.98


@pytest.mark.parametrize("same", [True, False])
def test_neighbours_that_were_not_found_are_marked(same: bool) -> None:
    """An inverted file whose probed lists hold fewer than k points cannot fill the answer."""
    rng = np.random.default_rng(4)
    points = rng.normal(size=(400, 2)) + 100.0 * rng.integers(0, 2, size=(400, 1))
    own = np.arange(400) if same else np.full(400, -1)
    index = CellSearch(points, seed=0)
    index.width = 1
    found = index.query(points, own, 399)
    assert found.min() == -1
    for i, row in enumerate(found):
        real = row[row >= 0]
        assert len(set(real)) == len(real)
        assert not same or i not in real
