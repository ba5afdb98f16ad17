"""Graphs of points: degrees, ties, new points, walks."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.classify.spaces import (
    PointGraph,
    allowed_degree,
    can_learn_from,
    pagerank,
    row_operator,
    structure_axes,
    structure_rows,
    walk_operator,
)


def test_degrees_follow_the_number_of_nodes() -> None:
    assert allowed_degree(80.0, 2000) == 80.0
    assert allowed_degree(80.0, 183) == 10.0
    assert allowed_degree(80.0, 20_000) == 30.0
    assert allowed_degree(30.0, 5) == 4.0


def test_nodes_with_equal_features_are_not_joined_by_chance() -> None:
    kinds = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    assert can_learn_from(kinds)
    assert not can_learn_from(kinds[np.arange(400) % 10])
    assert not can_learn_from(np.zeros((50, 0), np.float32))


def test_new_points_join_the_group_they_lie_in() -> None:
    generator = np.random.default_rng(0)
    centres = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 30, axis=0)
    points = (centres + generator.normal(size=(60, 2))).astype(np.float32)
    for degree in (5.0, None):
        graph = PointGraph(points, degree, has_directions=False)
        assert (graph.learned is None) == (degree is None)
        joined = graph.joined(np.vstack([points, points[:1] + 0.1, points[-1:]]))
        assert joined.shape == (62, 62)
        assert joined[:60][:, 60:].nnz == 0  # fitted nodes learn nothing from new ones
        assert (joined[[60]].indices < 30).all()
        assert (joined[[61]].indices >= 30).all()
        assert (joined[:60][:, :60] != graph.adjacency).nnz == 0


def test_walks() -> None:
    path = csr_array(np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1))
    np.testing.assert_allclose(row_operator(path).toarray()[1], [0.5, 0.0, 0.5])
    start = np.eye(3, dtype=np.float32)
    operator = walk_operator(path)
    one = pagerank(operator, start, restart=0.25, steps=1)
    np.testing.assert_allclose(one, 0.75 * operator.toarray() + 0.25 * np.eye(3), rtol=1e-6)


def test_nodes_with_the_same_links_have_the_same_structure() -> None:
    graph = csr_array(np.kron([[0, 1], [1, 0]], np.ones((3, 3))))
    rows = structure_rows(graph) @ structure_axes(graph)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    assert abs(rows[0] @ rows[3]) < 1e-6
