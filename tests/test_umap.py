"""UMAP's layout of a learned graph."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph import InputError, learn_graph

pytest.importorskip("umap")
from truegraph.umap import embed


@pytest.fixture(scope="module")
def clusters() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)) + 20.0 * np.repeat(np.eye(3, 4), 30, axis=0)


def test_the_layout_keeps_clusters_apart(clusters: np.ndarray) -> None:
    positions = embed(
        learn_graph(clusters, graph_model="paper", degree=8), clusters, random_state=0, n_epochs=100
    )
    assert positions.shape == (90, 2)
    groups = positions.reshape(3, 30, 2)
    within = max(np.linalg.norm(group - group.mean(axis=0), axis=1).max() for group in groups)
    centres = groups.mean(axis=1)
    apart = min(np.linalg.norm(centres[i] - centres[j]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert apart > within


def test_a_seed_gives_the_same_layout(clusters: np.ndarray) -> None:
    graph = learn_graph(clusters, graph_model="paper", degree=8)
    first, second = (embed(graph, clusters, 3, random_state=4, n_epochs=30) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (90, 3)


def test_points_must_be_those_of_the_graph(clusters: np.ndarray) -> None:
    with pytest.raises(InputError, match="90 nodes"):
        embed(learn_graph(clusters, graph_model="paper", degree=8), clusters[:50])
