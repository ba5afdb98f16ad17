"""The search in cells finds what brute force finds among the points of the cells it was told."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from truegraph.learning.search.cells import cell_tiles, padded, search_cells

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=40)


def lists(
    points: np.ndarray, cells: np.ndarray, n_cells: int, wanted: np.ndarray, own: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and ids of every point's list."""
    ready = padded(points.astype(np.float32))
    nearest = np.full((len(points), k), np.inf, dtype=np.float32)
    found = np.full((len(points), k), len(points), dtype=np.int32)
    order = np.argsort(wanted[:, 0], kind="stable")
    search_cells(ready, own, order, wanted, cell_tiles(ready, cells, n_cells), nearest, found)
    return nearest, found


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 400),
    dimension=st.integers(1, 9),
    n_cells=st.integers(1, 12),
    width=st.integers(1, 12),
    leave_out=st.booleans(),
)
@REPEATABLE
def test_lists_are_those_of_brute_force_in_the_wanted_cells(
    seed: int, count: int, dimension: int, n_cells: int, width: int, leave_out: bool
) -> None:
    """On a small grid of integers: many duplicates, many ties, empty cells, and no rounding."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, size=(count, dimension)).astype(float)
    cells = rng.integers(0, n_cells, size=count)
    width = min(width, n_cells)
    wanted = np.array([rng.permutation(n_cells)[:width] for _ in range(count)])
    own = np.arange(count) if leave_out else np.full(count, -1)
    k = int(rng.integers(1, count + 1))
    nearest, found = lists(points, cells, n_cells, wanted, own, k)
    for i in range(count):
        allowed = np.flatnonzero(np.isin(cells, wanted[i]))
        allowed = allowed[allowed != own[i]]
        values = ((points[allowed] - points[i]) ** 2).sum(axis=1)
        best = np.argsort(values, kind="stable")[:k]
        np.testing.assert_array_equal(found[i, : len(best)], allowed[best])
        np.testing.assert_array_equal(nearest[i, : len(best)], values[best])
        assert (found[i, len(best) :] == count).all()


def test_every_point_is_in_a_tile_of_its_cell_once() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 8)).astype(np.float32)
    cells = rng.choice([0, 1, 1, 1, 4], size=1000)
    tiles, ids, first_tiles = cell_tiles(points, cells, 6)
    assert sorted(ids[ids >= 0]) == list(range(1000))
    for cell in range(6):
        part = slice(first_tiles[cell], first_tiles[cell + 1])
        assert sorted(ids[part][ids[part] >= 0]) == np.flatnonzero(cells == cell).tolist()
    np.testing.assert_array_equal(tiles.transpose(0, 2, 1)[ids >= 0], points[ids[ids >= 0]])
    assert np.isinf(tiles.transpose(0, 2, 1)[ids < 0]).all()
