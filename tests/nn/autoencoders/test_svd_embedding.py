"""The embedding without training, against a dense SVD."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from truegraph.errors import InputError
from truegraph.nn.autoencoders.svd_embedding import embed_svd
from truegraph.nn.graph_operators import normalise_features, normalised_adjacency


def _data(nodes: int = 60, features: int = 40) -> tuple[csr_array, csr_array]:
    generator = np.random.default_rng(0)
    table = csr_array(random_array((nodes, features), density=0.2, rng=generator))
    links = np.triu(generator.random((nodes, nodes)) < 0.08, 1)
    return table, csr_array((links | links.T).astype(float))


def test_inner_products_are_those_of_the_dense_svd() -> None:
    table, graph = _data()
    operator = normalised_adjacency(graph).toarray()
    spread = operator @ operator @ normalise_features(table, by="length").toarray().astype(float)
    left, values, _ = np.linalg.svd(spread, full_matrices=False)
    expected = left[:, :8] * values[:8]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = embed_svd(table, graph, dimension=8)
    assert found.shape == (60, 8)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)


def test_all_dimensions_are_exact() -> None:
    table, graph = _data()
    operator = normalised_adjacency(graph).toarray()
    spread = operator @ operator @ normalise_features(table, by="length").toarray().astype(float)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True)
    found = embed_svd(table, graph, dimension=500)
    assert found.shape == (60, 40)
    np.testing.assert_allclose(found @ found.T, spread @ spread.T, atol=1e-9)


def test_seeds_repeat_and_nodes_without_features_are_zero() -> None:
    table, _ = _data()
    table = csr_array(table.toarray() * (np.arange(60) != 7)[:, None])
    alone = csr_array((60, 60))
    found = embed_svd(table, alone, dimension=5)
    assert np.array_equal(found, embed_svd(table, alone, dimension=5))
    assert not found[7].any()
    np.testing.assert_allclose(np.delete(np.linalg.norm(found, axis=1), 7), 1.0)


def test_dimension_is_checked() -> None:
    with pytest.raises(InputError, match="dimension=0"):
        embed_svd(*_data(), dimension=0)
