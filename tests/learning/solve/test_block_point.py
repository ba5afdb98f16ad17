"""The dual of some of the nodes, the others fixed, against the dual of all."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.learning.solve.dual import BlockPoint, DualPoint, Problem, block_candidates

NODES = np.array([3, 4, 10, 57, 120])


@pytest.fixture(scope="module")
def candidates() -> csr_array:
    return paper_graph(np.random.default_rng(6).normal(size=(150, 3)), degree=6).candidates


def block_of(candidates: csr_array) -> tuple[csr_array, np.ndarray]:
    rows = [slice(candidates.indptr[i], candidates.indptr[i + 1]) for i in NODES]
    columns = np.concatenate([candidates.indices[row] for row in rows])
    distances = np.concatenate([candidates.data[row] for row in rows])
    return block_candidates(NODES, np.diff(candidates.indptr)[NODES], columns, distances)


def test_rows_keep_their_pairs_and_the_halo_comes_last(candidates: csr_array) -> None:
    block, halo = block_of(candidates)
    assert not np.isin(halo, NODES).any()
    assert block.shape == (NODES.size, NODES.size + halo.size)
    everyone = np.concatenate([NODES, halo])
    np.testing.assert_array_equal(block.toarray(), candidates.toarray()[NODES][:, everyone])


def test_degrees_gradient_and_value_are_those_of_the_whole(candidates: csr_array) -> None:
    rng = np.random.default_rng(7)
    pairs = np.column_stack([rng.uniform(0.5, 2.0, size=150), np.zeros(150)])
    block, halo = block_of(candidates)
    whole = DualPoint(Problem(candidates), 1.0, pairs)
    part = BlockPoint(Problem(block), 1.0, np.concatenate([pairs[NODES], pairs[halo]]))
    np.testing.assert_allclose(part.gradient, whole.gradient[NODES], rtol=1e-13)
    np.testing.assert_array_equal(part.active + part.cut, whole.active[NODES])
    step = rng.uniform(-0.1, 0.1, size=NODES.size)
    longer = np.zeros(150)
    longer[NODES] = step
    gained = part.moved(step, 1.0).value - part.value
    assert gained == pytest.approx(whole.moved(longer, 1.0).value - whole.value, rel=1e-9)
