"""Two levels of cells: every point in one cell, cells of constant size, the nearest ones ranked."""

from __future__ import annotations

import numpy as np

from truegraph.learning.search.approximate import (
    CellSearch,
    LargeCells,
    SmallCells,
    bisection_order,
    rank_cells,
    recalls,
    sampled_rows,
    tune,
)
from truegraph.learning.search.cells import padded
from truegraph.learning.search.neighbours import ExactSearch

SIZES = (400, 25)


def points(count: int, dimension: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dimension))


def test_every_point_is_in_one_small_cell_of_about_the_size() -> None:
    search = CellSearch(points(8000), 0, SIZES)
    assert sorted(search.order) == list(range(8000))
    small = search._small
    assert small.starts[0] == 0
    assert small.starts[-1] == 8000
    assert len(small.of_large) == len(search._large) + 1 == 21
    sizes = np.diff(small.starts)
    assert 20 < np.median(sizes) < 30
    assert sizes.max() <= 4 * 25
    np.testing.assert_array_equal(small.of_points(small.starts[:-1]), np.arange(len(small)))


def test_a_large_cell_is_split_in_the_same_way_wherever_that_is_done() -> None:
    rounded = padded(points(2000).astype(np.float32))
    large = LargeCells.of(rounded[sampled_rows(2000, SIZES, 3)], 2000, SIZES, 3)
    own = large.nearest(rounded, 1)[:, 0]
    alone = [large.nearest(row[None], 1)[0, 0] for row in rounded[:50]]
    np.testing.assert_array_equal(own[:50], alone)
    inside = rounded[own == 2]
    first, again = large.split(2, inside), large.split(2, inside.copy())
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1].centres, again[1].centres)


def test_cells_are_ranked_by_the_distance_of_their_centres() -> None:
    rounded = padded(points(2000).astype(np.float32))
    large = LargeCells.of(rounded[sampled_rows(2000, SIZES, 3)], 2000, SIZES, 3)
    own = large.nearest(rounded, 1)[:, 0]
    small = SmallCells.joined([large.split(g, rounded[own == g])[1] for g in range(len(large))])
    queries = rounded[:40]
    near = large.nearest(queries, 2)
    ranked = rank_cells(queries, near, small.tiles(), 6)
    for q in range(40):
        allowed = np.concatenate([np.arange(*small.of_large[g : g + 2]) for g in near[q]])
        values = ((small.centres[allowed] - queries[q]) ** 2).sum(axis=1)
        assert set(ranked[q]) == set(allowed[np.argsort(values)[:6]])
    everything = rank_cells(queries, near[:, :1], small.tiles(), 1000)
    assert (everything[:, 999] == len(small)).all()  # there are not so many


def test_equal_points_are_cut_into_cells_of_constant_size() -> None:
    many = np.vstack([np.zeros((3000, 3)), points(500, 3)])
    search = CellSearch(many, 0, SIZES)
    assert np.diff(search._small.starts).max() <= 100
    sample = np.arange(0, 3500, 20)
    truth = ExactSearch(many[search.order]).query(many[search.order][sample], sample, 10)
    ordered = search.in_order()
    tune(ordered, many[search.order][sample], sample, truth)
    found = ordered.query(many[search.order][sample], sample, 10)
    assert recalls(found, truth).mean() >= 0.98
    assert search.width < 64


def test_of_many_large_cells_those_nearby_are_compared() -> None:
    """Nearly always the nearest are found, whichever other points are asked for with one."""
    rounded = padded(points(12_000, 6).astype(np.float32))
    large = LargeCells(rounded[bisection_order(rounded[:900])], SIZES, 0)
    queries = rounded[2000:5000]
    found = large.nearest(queries, 8)
    values = ((queries[:, None] - large.centres) ** 2).sum(axis=2)
    truth = np.argsort(values, axis=1, kind="stable")[:, :8]
    assert recalls(found.astype(np.int32), truth.astype(np.int32)).mean() > 0.97
    assert np.mean(found[:, 0] == truth[:, 0]) > 0.98
    assert all(np.unique(row).size == 8 for row in found)
    np.testing.assert_array_equal(found[::7], large.nearest(queries[::7], 8))
    every = large.nearest(queries[:50], 200)  # more than are nearby: all are compared
    np.testing.assert_array_equal(np.sort(every[:, :8]), np.sort(truth[:50]))
