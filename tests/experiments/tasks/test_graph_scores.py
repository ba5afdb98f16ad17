"""Scores of graphs: groups that are plain to see are found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from truegraph.experiments.tasks.graph_scores import (
    LeidenGroups,
    SpectralGroups,
    agreement,
    spreading_accuracy,
)

LABELS = np.repeat([0, 1, 2], 12)


@pytest.fixture(scope="module")
def cliques() -> csr_array:
    """Return three cliques, joined by two weak edges."""
    graph = block_diag([np.ones((12, 12)) - np.eye(12)] * 3).toarray()
    for i, j in ((0, 12), (13, 24)):
        graph[i, j] = graph[j, i] = 0.01
    return csr_array(graph)


def test_cliques_are_found_by_every_method(cliques: csr_array) -> None:
    assert spreading_accuracy(cliques, LABELS, 1, seed=3) == 1.0
    leiden = LeidenGroups(cliques, 3)
    assert agreement(LABELS, leiden.groups(leiden.resolution, 1)) == pytest.approx((1.0, 1.0))
    assert agreement(LABELS, SpectralGroups(cliques, 3).groups(1)) == pytest.approx((1.0, 1.0))


def test_too_few_nodes_of_a_class_give_no_score(cliques: csr_array) -> None:
    assert spreading_accuracy(cliques, LABELS, 12, seed=0) is None


def test_only_drawn_labels_are_read(cliques: csr_array, monkeypatch: pytest.MonkeyPatch) -> None:
    from truegraph.experiments.tasks import graph_scores

    seen = []
    spread = graph_scores.spread_labels

    def listening(graph, known, *rest):
        seen.append(known.copy())
        return spread(graph, known, *rest)

    monkeypatch.setattr(graph_scores, "spread_labels", listening)
    graph_scores.spreading_accuracy(cliques, LABELS, 2, seed=5)
    assert (seen[0] >= 0).sum() == 6
    assert all((seen[0] == label).sum() == 2 for label in range(3))


def test_leiden_seeds_are_repeatable() -> None:
    graph = csr_array(np.triu(np.random.default_rng(0).random((60, 60)) < 0.1, 1).astype(float))
    graph = csr_array(graph + graph.T)
    leiden = LeidenGroups(graph, 6)
    first, again = (leiden.groups(leiden.resolution, 7) for _ in range(2))
    np.testing.assert_array_equal(first, again)
