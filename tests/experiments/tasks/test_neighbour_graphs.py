"""The graphs that learned ones are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from truegraph.experiments.tasks.neighbour_graphs import knn_graph, umap_graph

POINTS = np.random.default_rng(0).normal(size=(60, 3))
LISTED = kneighbors_graph(POINTS, 8).toarray() > 0
LENGTHS = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)


def test_either_list_makes_an_edge() -> None:
    np.testing.assert_array_equal(knn_graph(POINTS, 8, "binary").toarray(), LISTED | LISTED.T)


def test_a_mutual_edge_needs_both_lists() -> None:
    found = knn_graph(POINTS, 3, "binary", is_mutual=True).toarray() > 0
    listed = kneighbors_graph(POINTS, 3).toarray() > 0
    expected = listed & listed.T
    lonely = np.flatnonzero(~expected.any(axis=1))
    assert lonely.size
    nearest = np.where(np.eye(60, dtype=bool), np.inf, LENGTHS).argmin(axis=1)
    expected[lonely, nearest[lonely]] = expected[nearest[lonely], lonely] = True
    np.testing.assert_array_equal(found, expected)


def test_gaussian_weights_by_hand() -> None:
    found = knn_graph(POINTS, 8, "gaussian").toarray()
    width = np.median(np.sort(LENGTHS, axis=1)[:, 8])
    expected = np.where(LISTED | LISTED.T, np.exp(-0.5 * (LENGTHS / width) ** 2), 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_self_tuned_weights_by_hand() -> None:
    found = knn_graph(POINTS, 8, "self-tuned").toarray()
    scale = np.sort(LENGTHS, axis=1)[:, 7]
    expected = np.where(LISTED | LISTED.T, np.exp(-(LENGTHS**2) / np.outer(scale, scale)), 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("weights", ["binary", "gaussian", "self-tuned"])
def test_copies_of_a_point_are_no_trouble(weights: str) -> None:
    graph = knn_graph(np.repeat(POINTS[:6], 10, axis=0), 8, weights)
    assert np.isfinite(graph.data).all()
    assert (graph != graph.T).nnz == 0


def test_umaps_graph_is_umaps() -> None:
    umap = pytest.importorskip("umap")
    theirs = umap.UMAP(n_neighbors=10, random_state=0, n_epochs=1, init="random").fit(POINTS).graph_
    np.testing.assert_allclose(umap_graph(POINTS, 10).toarray(), theirs.toarray(), atol=1e-4)
