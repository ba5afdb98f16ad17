"""Labelled nodes without any."""

from __future__ import annotations

import numpy as np

from truegraph.tasks.classify.trust.left_out import LeftOutLabels, joined, nobody


def test_nobody_has_the_shapes_of_somebody() -> None:
    found = nobody(4)
    assert found.nodes.shape == found.labels.shape == (0,)
    assert found.probabilities.shape == (0, 4)


def test_nodes_of_both() -> None:
    first = LeftOutLabels(np.array([3]), np.array([1]), np.array([[0.2, 0.8]]))
    second = LeftOutLabels(np.array([5, 6]), np.array([0, 1]), np.full((2, 2), 0.5))
    found = joined(first, second)
    assert found.nodes.tolist() == [3, 5, 6]
    assert found.labels.tolist() == [1, 0, 1]
    assert found.probabilities[:, 1].tolist() == [0.8, 0.5, 0.5]
