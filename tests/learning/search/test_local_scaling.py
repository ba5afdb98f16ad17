"""Distances relative to those of near neighbours."""

from __future__ import annotations

import numpy as np
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.learning.search.candidates import local_scales, scaled


def stored(matrix: list[list[float]]) -> csr_array:
    dense = np.array(matrix)
    rows, columns = np.nonzero(~np.eye(len(dense), dtype=bool))
    return csr_array((dense[rows, columns], (rows, columns)), shape=dense.shape)


def test_scales_by_hand() -> None:
    candidates = stored([[0, 4, 9], [4, 0, 16], [9, 16, 0]])
    np.testing.assert_allclose(local_scales(candidates, 1), [2, 2, 3])
    np.testing.assert_allclose(local_scales(candidates, 2), [3, 4, 4])
    np.testing.assert_allclose(local_scales(candidates, 9), [3, 4, 4])
    found = scaled(candidates, local_scales(candidates, 1)).toarray()
    np.testing.assert_allclose(found, [[0, 1, 1.5], [1, 0, 16 / 6], [1.5, 16 / 6, 0]])


def test_copies_of_a_node_have_a_scale_all_the_same() -> None:
    candidates = stored([[0, 0, 9], [0, 0, 9], [9, 9, 0]])
    np.testing.assert_allclose(local_scales(candidates, 1), [3, 3, 3])
    np.testing.assert_allclose(local_scales(stored([[0, 0], [0, 0]]), 1), [1, 1])


def test_dense_and_sparse_regions_are_treated_alike() -> None:
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(60, 2))
    points = np.concatenate([shape, 10.0 * shape + 1000.0])
    graph = paper_graph(points, degree=6, local_scaling=7)
    weights = graph.adjacency.toarray()
    np.testing.assert_allclose(weights[:60, :60], weights[60:, 60:], rtol=1e-4, atol=1e-6)
    plain = paper_graph(points, degree=6).adjacency.toarray()
    assert np.count_nonzero(plain[:60, :60]) > 2 * np.count_nonzero(plain[60:, 60:])
    assert graph.certificate.scope == "candidates"
