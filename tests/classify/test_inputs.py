"""What stands in for missing features or a missing graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.classify.inputs import (
    complete_inputs,
    degrees,
    nearest_fitted,
    neighbour_graph,
)
from truegraph.errors import InputError

LINE = np.arange(1.0, 7.0)[:, None]


def test_neighbours_on_a_line() -> None:
    graph, metric = neighbour_graph(csr_array(LINE), k=1)
    assert metric == "Euclidean"
    # ties go to the smaller index: 2 -> 1, 3 -> 2, ...
    expected = np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)
    assert np.array_equal(graph.toarray(), expected)


def test_mostly_zero_features_are_compared_by_angle_in_any_form() -> None:
    words = np.array([[1, 0, 0, 0, 0], [9, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 1, 0, 0, 0.1]])
    graph, metric = neighbour_graph(csr_array(words), k=1)
    assert metric == "cosine"
    assert graph.toarray().nonzero()[0].tolist() == [0, 1, 2, 3]
    assert graph[0, 1] == graph[2, 3] == 1
    assert complete_inputs(words, None, 4).notes == complete_inputs(csr_array(words), None, 4).notes


def test_new_nodes_find_their_neighbours() -> None:
    pairs = nearest_fitted(csr_array(LINE), csr_array(np.array([[5.9], [0.2]])), k=2)
    assert pairs.tolist() == [[6, 5], [6, 4], [7, 0], [7, 1]]


def test_degree_features() -> None:
    star = csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0.0]]))
    expected = np.column_stack([np.log([3, 2, 2]), np.ones(3)])
    np.testing.assert_allclose(degrees(star).toarray(), expected)


def test_rows_are_normalised_by_sum_unless_negative() -> None:
    ring = np.roll(np.eye(4), 1, axis=0)
    counts = complete_inputs([[1, 3]] * 4, ring, 4)
    np.testing.assert_allclose(counts.features.toarray()[0], [0.25, 0.75])
    signed = complete_inputs([[-3, 4]] * 4, ring, 4)
    np.testing.assert_allclose(signed.features.toarray()[0], [-0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(signed.raw.toarray()[0], [-3, 4])
    assert signed.normalised_by == "length"


def test_a_single_node_has_no_neighbours() -> None:
    with pytest.raises(InputError, match="no neighbours"):
        complete_inputs([[1.0]], None, 1)


@pytest.mark.parametrize("features", [np.zeros((3, 0)), np.zeros(3), np.zeros((2, 3))])
def test_bad_shapes_are_named(features: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"features has (shape|0 feature)"):
        complete_inputs(features, np.zeros((3, 3)), 3)
