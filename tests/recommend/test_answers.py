"""The tables that a recommender answers with, by hand."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.recommend.answers import explanation, most_similar, named, stored

IDS = ("tea", "milk", "rum", "ale")


def test_numbers_become_ids() -> None:
    assert named(IDS, np.array([2, 0])) == ["rum", "tea"]


def test_stored_pairs_are_found() -> None:
    matrix = csr_array(np.array([[1, 0, 1], [0, 1, 0]]))
    found = stored(matrix, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
    assert found.tolist() == [True, False, True, False]


def test_the_largest_contribution_comes_first() -> None:
    direct, graph = np.array([0.1, 0.5, -0.2]), np.array([0.6, 0.0, 0.1])
    table = explanation(IDS, np.array([3, 1, 0]), direct, graph)
    assert table["item"].tolist() == ["ale", "milk", "tea"]
    assert np.allclose(table["contribution"], table["direct"] + table["graph"])
    assert np.allclose(table["contribution"], [0.7, 0.5, -0.1])


def test_nothing_is_most_similar_to_itself() -> None:
    similarity = np.array([0.2, 1.0, 0.9, 0.4], dtype=np.float32)
    table = most_similar("item", IDS, similarity, 1, 2)
    assert table["item"].tolist() == ["rum", "ale"]
    assert table["rank"].tolist() == [1, 2]
    assert np.allclose(table["similarity"], [0.9, 0.4])
