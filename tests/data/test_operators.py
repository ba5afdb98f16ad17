"""Normalisations of graphs and features, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data.operators import (
    normalise_features,
    normalised_adjacency,
    without_diagonal,
)
from truegraph.errors import InputError

PATH = csr_array(np.array([[5.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))


def test_rows_sum_to_one_and_zero_rows_stay_zero() -> None:
    rows = normalise_features(np.array([[1.0, 3.0], [0.0, 0.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(rows.toarray(), [[0.25, 0.75], [0, 0], [-0.5, 0.5]])
    assert rows.dtype == np.float32


def test_rows_of_length_one() -> None:
    rows = normalise_features(np.array([[3.0, 4.0], [0.0, 0.0]]), by="length")
    np.testing.assert_allclose(rows.toarray(), [[0.6, 0.8], [0, 0]], rtol=1e-6)
    with pytest.raises(InputError, match="'max'"):
        normalise_features(np.eye(2), by="max")


def test_adjacency_with_self_loops() -> None:
    degrees = np.array([2.0, 4.0, 3.0])
    middle = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    expected = middle / np.sqrt(np.outer(degrees, degrees))
    np.testing.assert_allclose(normalised_adjacency(PATH).toarray(), expected)


def test_an_isolated_node_has_itself_or_nothing() -> None:
    lonely = csr_array((2, 2))
    np.testing.assert_allclose(normalised_adjacency(lonely).toarray(), np.eye(2))
    assert normalised_adjacency(lonely, self_loops=False).nnz == 0


def test_diagonal_and_stored_zeros_go() -> None:
    graph = csr_array((np.array([1.0, 0.0, 7.0]), np.array([1, 0, 1]), np.array([0, 1, 3])), (2, 2))
    assert without_diagonal(graph).toarray().tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert without_diagonal(graph).nnz == 1
