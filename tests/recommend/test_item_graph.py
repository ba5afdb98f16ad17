"""Similarity of items and the graphs made of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions
from truegraph.recommend.ease import (
    GraphKind,
    item_graph,
    leading_item_vectors,
    nearest_items,
    normalised,
)

DATA = load_interactions("planted").matrix


def test_leading_vectors_are_those_of_the_full_decomposition() -> None:
    vectors, values = leading_item_vectors(DATA, 6)
    _, exact, right = np.linalg.svd(normalised(DATA).toarray(), full_matrices=False)
    assert values == pytest.approx(exact[:6], rel=1e-3)
    assert np.abs(np.sum(vectors[:, :1] * right[:1].T)) == pytest.approx(1.0, abs=1e-4)


def test_similarity_by_its_definition() -> None:
    items, similarity = nearest_items(DATA, 20, rank=8)
    table = DATA.toarray().astype(np.float64)
    unit = table / np.linalg.norm(table, axis=0)
    vectors, values = leading_item_vectors(DATA, 8)
    points = vectors * values / np.linalg.norm(vectors * values, axis=1, keepdims=True)
    whole = (unit.T @ unit + points @ points.T) / 2
    np.fill_diagonal(whole, -np.inf)
    order = np.argsort(-whole, axis=1)[:, :20]
    taken = np.take_along_axis(whole, order, axis=1)
    assert similarity == pytest.approx(taken, abs=1e-5)
    assert not (items == np.arange(180)[:, None]).any()


@pytest.mark.parametrize("kind", ["map", "knn", "soft-knn"])
def test_graphs_are_symmetric_and_join_items_of_one_taste(kind: GraphKind) -> None:
    operator, learned = item_graph(nearest_items(DATA, 31), 10, kind)
    assert abs(operator - operator.T).max() < 1e-6
    assert operator.diagonal().max() == 0.0
    row, column = operator.nonzero()
    names = load_interactions("planted").item_ids
    taste = np.array([int(str(name).split()[1]) % 6 for name in names])
    assert np.mean(taste[row] == taste[column]) > 0.9
    assert (learned is not None) == (kind == "map")
    if learned is not None:
        assert learned.certificate.converged
        assert learned.certificate.degree == pytest.approx(10, rel=0.02)


def test_items_without_interactions_have_no_edges() -> None:
    table = np.hstack([DATA.toarray(), np.zeros((240, 2), dtype=np.float32)])
    operator, learned = item_graph(nearest_items(csr_array(table), 31), 10)
    assert learned is not None
    assert learned.adjacency.shape == (182, 182)
    assert np.diff(operator.indptr)[-2:].tolist() == [0, 0]
