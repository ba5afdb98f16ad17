"""The two local scales against their definitions."""

from __future__ import annotations

import numpy as np

from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.links.local_scale import learned_scale, neighbour_scale


def test_slack_is_that_of_the_learned_graph():
    points = np.random.default_rng(0).normal(size=(80, 4))
    scale = learned_scale(points)
    pairs = np.array([[0, 1], [7, 3], [50, 79]])
    wanted = scale.graph.slack(pairs, EmbeddingDistance(points))
    np.testing.assert_allclose(scale.scores(pairs), wanted, rtol=1e-10)
    assert (scale.near[:, 0] < scale.near[:, 1]).all()


def test_control_compares_with_the_nearest_neighbours():
    points = np.random.default_rng(1).normal(size=(50, 3))
    scale = neighbour_scale(points)
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    usual = np.sort(squared, axis=1)[:, 1:11].mean(axis=1)
    np.testing.assert_allclose(scale.usual, usual)
    found = scale.scores(np.array([[4, 9]]))
    np.testing.assert_allclose(found, 0.5 * (usual[4] + usual[9]) - squared[4, 9])
    assert scale.graph is None
