"""Near pairs that join the components of large graphs."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from truegraph.learning import CosineDistance, EmbeddingDistance
from truegraph.learning.completion import near_pairs

CENTRES = 12.0 * np.eye(4, 5)
COMPONENT = np.repeat(np.arange(4), [400, 150, 120, 5])
POINTS = CENTRES[COMPONENT] + np.random.default_rng(0).normal(size=(675, 5))


def _pairs(points, kind=EmbeddingDistance) -> set[tuple[int, int]]:
    return near_pairs(kind(points), COMPONENT, np.random.default_rng(1))


def test_each_component_but_the_largest_gets_a_pair_with_another() -> None:
    pairs = _pairs(POINTS)
    ends = np.array([(COMPONENT[first], COMPONENT[second]) for first, second in pairs])
    assert (ends[:, 0] != ends[:, 1]).all()
    assert {1, 2, 3} <= set(ends.ravel())
    assert all(first < second for first, second in pairs)


def test_the_pairs_are_nearly_the_nearest() -> None:
    found = np.array(sorted(_pairs(POINTS)))
    lengths = np.linalg.norm(POINTS[found[:, 0]] - POINTS[found[:, 1]], axis=1)
    every = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    every[COMPONENT[:, None] == COMPONENT] = np.inf
    best = [every[number == COMPONENT].min() for number in (1, 2, 3)]
    assert max(lengths) <= 1.2 * max(best)


@pytest.mark.parametrize("kind", [EmbeddingDistance, CosineDistance])
def test_sparse_points_have_the_same_pairs(kind: type) -> None:
    assert _pairs(csr_array(POINTS), kind) == _pairs(POINTS, kind)


def test_large_graphs_are_joined_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("truegraph.learning.search.candidates.LARGEST_EXACT", 300)
    graph = paper_graph(POINTS, 3, random_state=0, connected=True)
    assert graph.certificate.search == "ivf"
    assert graph.certificate.added_edges >= 1
    assert connected_components(graph.adjacency)[0] == 1
