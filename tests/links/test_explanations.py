"""Explanations of a small graph, by hand."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.links.explanations import explain


def test_shared_neighbours_and_features_are_named():
    dense = np.zeros((6, 6))
    for i, j in (
        (0, 2),
        (1, 2),
        (0, 3),
        (1, 3),
        (3, 4),
        (0, 5),
        (5, 1),
        (5, 4),
        (5, 2),
        (0, 4),
        (4, 1),
    ):
        dense[i, j] = dense[j, i] = 1.0
    features = csr_array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1.0]])
    found = explain(np.array([[0, 1], [2, 4]]), csr_array(dense), features)
    assert found["common_neighbours"].tolist() == [4, 3]
    assert found["through"] == [[2, 3, 4], [0, 1, 5]]  # fewest links first, three at most
    assert found["shared_features"] == [[0, 1], []]  # the rarer one first


def test_without_features():
    found = explain(np.array([[0, 1]]), csr_array((3, 3)), None)
    assert found["shared_features"] == [[]]
    empty = explain(np.zeros((0, 2), dtype=np.int64), csr_array((3, 3)), None)
    assert len(empty["through"]) == 0


def test_columns_that_all_have_or_that_were_centred_are_no_reasons():
    features = csr_array([[5.0, -1.0, 1.0], [7.0, 0.5, 1.0], [2.0, 0.5, 0.0]])
    found = explain(np.array([[0, 1], [1, 2]]), csr_array((3, 3)), features)
    assert found["shared_features"] == [[2], []]


def test_in_a_bipartite_graph_partners_of_the_target_are_named():
    dense = np.zeros((16, 16))
    dense[:8, 8:] = 1.0
    dense[0, 8:] = dense[1:8, 8] = 0.0
    dense[0, 9] = dense[1, 8] = dense[2, 8] = 1.0
    found = explain(np.array([[0, 8], [8, 0]]), csr_array(dense + dense.T), None)
    assert found["common_neighbours"].tolist() == [0, 0]
    # 0 - 9 - 1 - 8: 1 and 2 have 9 in common with 0, and 9 has 1 in common with 8.
    assert found["through"] == [[1, 2], [9]]
