"""Labelled nodes without any."""

from __future__ import annotations

from truegraph.tasks.classify.trust.left_out import nobody


def test_nobody_has_the_shapes_of_somebody() -> None:
    found = nobody(4)
    assert found.nodes.shape == found.labels.shape == (0,)
    assert found.probabilities.shape == (0, 4)
