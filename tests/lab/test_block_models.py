"""Contextual block models have the edges and the features that they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from lab.block_models import contextual_blocks


@pytest.mark.parametrize("alike", [0.02, 0.2, 0.8])
def test_share_of_edges_within_classes(alike: float) -> None:
    made = contextual_blocks("made", alike=alike, signal=3.0, n_nodes=1000)
    assert made.graph is not None
    ends = made.graph.tocoo()
    assert np.mean(made.labels[ends.row] == made.labels[ends.col]) == pytest.approx(alike, abs=0.02)
    assert made.graph.sum() / 1000 == pytest.approx(10.0, abs=0.5)
    assert np.bincount(made.labels).tolist() == [200] * 5


def test_classes_lie_apart_by_the_signal() -> None:
    made = contextual_blocks("made", alike=0.5, signal=4.0, n_nodes=5000)
    means = np.array([np.asarray(made.features)[made.labels == k].mean(axis=0) for k in range(5)])
    assert np.linalg.norm(means, axis=1) == pytest.approx(np.full(5, 4.0), abs=0.2)
