"""Feature scores against dense arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.links.similarities import (
    SIMILARITIES,
    graph_vectors,
    node_features,
    similarity_scores,
    smoothed_vectors,
    smoothing,
)


@pytest.fixture
def graph() -> csr_array:
    rng = np.random.default_rng(1)
    upper = np.triu(rng.random((30, 30)) < 0.15, 1).astype(float)
    upper[:, 29] = 0.0
    return csr_array(upper + upper.T)


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0.0)


def test_smoothing_is_the_normalised_matrix_with_loops(graph):
    looped = graph.toarray() + np.eye(30)
    root = 1.0 / np.sqrt(looped.sum(axis=1))
    wanted = looped * root[:, None] * root
    np.testing.assert_allclose(smoothing(graph).toarray(), wanted, rtol=1e-6)
    np.testing.assert_allclose(smoothing(csr_array(7.0 * graph)).toarray(), wanted, rtol=1e-6)


def test_counts_are_weighed_by_rarity_and_other_numbers_are_not(graph):
    rng = np.random.default_rng(0)
    counts = csr_array((rng.random((30, 12)) < 0.3).astype(float))
    found = node_features(counts, 5, 0)
    present = counts.toarray().sum(axis=0)
    np.testing.assert_allclose(found.rarity, np.log(31 / (1 + present)) + 1)
    rows = found.rows
    np.testing.assert_allclose(rows.toarray(), unit(counts.toarray() * found.rarity), rtol=1e-6)
    left = np.linalg.svd(rows.toarray(), full_matrices=False)[2][:5]
    reduced = found.reduced
    np.testing.assert_allclose(reduced @ reduced.T, rows @ left.T @ left @ rows.T, atol=1e-4)
    assert (node_features(csr_array(rng.normal(size=(30, 4))), 5, 0).rarity == 1.0).all()


def test_columns_are_cosines(graph):
    rng = np.random.default_rng(2)
    features = csr_array(rng.random((30, 8)) * (rng.random((30, 8)) < 0.5))
    nodes = node_features(features, 4, 0)
    rows, first = nodes.rows, nodes.reduced
    smoother = smoothing(graph)
    vectors = smoothed_vectors(first, smoother)
    pairs = np.column_stack(np.triu_indices(30, 1)).astype(np.int64)
    scores = similarity_scores(rows, vectors, graph, pairs)
    assert scores.shape == (len(pairs), len(SIMILARITIES))
    steps = [unit(np.linalg.matrix_power(smoother.toarray(), k) @ first) for k in range(4)]
    i, j = pairs.T

    def both(a: int, b: int) -> np.ndarray:
        products = steps[a] @ steps[b].T
        return 0.5 * (products[i, j] + products[j, i])

    wanted = [(rows @ rows.T).toarray()[i, j], *(both(a, a) for a in range(3))]
    wanted += [both(0, 1), both(0, 2), both(1, 3)]
    np.testing.assert_allclose(scores[:, :7], np.column_stack(wanted), atol=1e-5)
    cosine, dense = steps[0] @ steps[0].T, graph.toarray()
    for place, (a, b) in enumerate(pairs):
        ends = []
        for node, other in ((a, b), (b, a)):
            near = [u for u in np.flatnonzero(dense[other]) if u != node]
            ends.append(max([cosine[node, u] for u in near] + [0.0]))
        np.testing.assert_allclose(scores[place, 7:], sorted(ends, reverse=True), atol=1e-5)


def test_a_graph_without_features_gives_its_leading_vectors(graph):
    smoother = smoothing(graph)
    found = graph_vectors(smoother, 6, 0)
    values = np.linalg.svd(smoother.toarray())[1][:6]
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), values, rtol=1e-2)
    vectors = smoothed_vectors(found, smoother)
    pairs = np.array([[0, 1], [5, 29]])
    assert similarity_scores(None, vectors, graph, pairs).shape == (2, len(SIMILARITIES) - 1)
