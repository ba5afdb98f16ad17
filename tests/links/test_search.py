"""Search for the best unlinked pairs: against all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.links import vectors as module
from truegraph.links.vectors import LinkSearch


def random_case(n_nodes: int, density: float, seed: int):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_nodes, 6)) * rng.gamma(1.0, 1.0, size=(n_nodes, 1))
    links = np.triu(rng.random((n_nodes, n_nodes)) < density, 1)
    return vectors.astype(np.float32), csr_array((links | links.T).astype(float))


def all_unlinked(vectors, known):
    exact = vectors.astype(np.float64)
    first, second = np.triu_indices(len(vectors), 1)
    free = np.asarray(known[first, second]).ravel() == 0.0
    scores = (exact @ exact.T)[first, second]
    order = np.lexsort((second[free], first[free], -scores[free]))
    return np.column_stack([first[free], second[free]])[order], scores[free][order]


@pytest.mark.parametrize("cells", [1, 1000, 10**6])
@pytest.mark.parametrize("k", [1, 7, 60, 500])
@pytest.mark.parametrize(("n_nodes", "density"), [(40, 0.0), (40, 0.6), (150, 0.05)])
def test_best_pairs_are_those_of_the_full_table(n_nodes, density, k, cells, monkeypatch):
    monkeypatch.setattr(module, "_CELLS", cells)  # held at a time
    vectors, known = random_case(n_nodes, density, seed=k)
    pairs, scores = all_unlinked(vectors, known)
    found, their_scores = LinkSearch(vectors, known).best(k)
    np.testing.assert_allclose(their_scores, scores[:k], rtol=1e-9)
    np.testing.assert_array_equal(found, pairs[:k])


def test_partners_of_one_node():
    vectors, known = random_case(80, 0.3, seed=2)
    scores = vectors.astype(np.float64) @ vectors[5].astype(np.float64)
    scores[5] = -np.inf
    scores[known[[5]].indices] = -np.inf
    found, _ = LinkSearch(vectors, known).best_of(5, 10)
    assert set(found[:, 0]) == {5}
    np.testing.assert_array_equal(found[:, 1], np.argsort(-scores)[:10])


def test_fewer_pairs_than_asked_for():
    known = csr_array(np.ones((6, 6)) - np.eye(6))
    vectors = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    assert len(LinkSearch(vectors, known).best(10)[0]) == 0
    known = known.tolil()
    known[1, 4] = known[4, 1] = 0.0
    search = LinkSearch(vectors, csr_array(known))
    np.testing.assert_array_equal(search.best(10)[0], [[1, 4]])
    np.testing.assert_array_equal(search.best_of(4, 3)[0], [[4, 1]])
    assert len(search.best_of(0, 3)[0]) == 0
