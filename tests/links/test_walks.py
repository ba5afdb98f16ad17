"""Walk scores against dense powers of small matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numba import set_num_threads
from scipy.sparse import csr_array

from truegraph.links.walks import (
    WALKS,
    raw_walks,
    two_step_walks,
    walk_graph,
    walk_scores,
)


def random_graph(nodes: int = 40, seed: int = 0, *, weighted: bool = False) -> csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.12, 1).astype(float)
    upper[:, nodes - 1] = 0.0  # the last node has no links
    if weighted:
        upper *= rng.uniform(0.5, 3.0, size=upper.shape)
    return csr_array(upper + upper.T)


def all_pairs(nodes: int) -> np.ndarray:
    return np.column_stack(np.triu_indices(nodes, 1)).astype(np.int64)


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_are_powers_of_the_normalised_matrix(weighted):
    graph = random_graph(weighted=weighted)
    dense, pairs = graph.toarray(), all_pairs(40)
    strength = dense.sum(axis=1)
    root = np.divide(1.0, np.sqrt(strength), out=np.zeros(40), where=strength > 0.0)
    step = dense * root[:, None] * root
    raw = raw_walks(walk_graph(graph), pairs)
    plain = raw_walks(walk_graph(graph, normalised=False), pairs)
    rows, columns = pairs.T
    for power, column in ((2, 3), (3, 4), (4, 5)):
        wanted = np.linalg.matrix_power(step, power)[rows, columns]
        np.testing.assert_allclose(raw[:, column], wanted, atol=1e-14)
        wanted = np.linalg.matrix_power(dense, power)[rows, columns]
        np.testing.assert_allclose(plain[:, column], wanted, atol=1e-9)


def test_shared_neighbours_by_hand():
    # 0 and 1 share 2 (degree 2) and 3 (degree 3: 0, 1 and 4)
    dense = np.zeros((5, 5))
    for i, j in ((0, 2), (1, 2), (0, 3), (1, 3), (3, 4)):
        dense[i, j] = dense[j, i] = 1.0
    raw = raw_walks(walk_graph(csr_array(dense)), np.array([[0, 1], [0, 4], [2, 4]]))
    np.testing.assert_allclose(raw[0, :3], [2.0, 1 / np.log(2) + 1 / np.log(3), 1 / 2 + 1 / 3])
    np.testing.assert_allclose(raw[1, :3], [1.0, 1 / np.log(3), 1 / 3])
    assert (raw[2, :3] == 0.0).all()
    np.testing.assert_array_equal(two_step_walks(csr_array(dense)), [5, 5, 4, 5, 3])


def test_scores_do_not_depend_on_direction_order_company_or_threads():
    graph, pairs = random_graph(weighted=True), all_pairs(40)
    scores = walk_scores(walk_graph(graph), pairs)
    assert scores.shape == (len(pairs), len(WALKS))
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, walk_scores(walk_graph(graph), pairs[:, ::-1]))
    order = np.random.default_rng(0).permutation(len(pairs))[:50]
    set_num_threads(1)
    np.testing.assert_array_equal(scores[order], walk_scores(walk_graph(graph), pairs[order]))
    assert walk_scores(walk_graph(graph), pairs[:0]).shape == (0, len(WALKS))


def test_a_unit_of_weight_does_not_matter():
    graph, pairs = random_graph(weighted=True), all_pairs(40)
    scaled = csr_array(1000.0 * graph)
    np.testing.assert_allclose(
        walk_scores(walk_graph(graph), pairs), walk_scores(walk_graph(scaled), pairs), rtol=1e-9
    )
