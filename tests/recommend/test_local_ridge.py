"""Local regressions against the dense solution, for any number of threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from truegraph.recommend.dense_ridge import dense_gram, dense_weights
from truegraph.recommend.local_ridge import local_weights, strongest_entries

RNG = np.random.default_rng(0)
TABLE = csr_array((RNG.random((80, 25)) < 0.3).astype(np.float32))
USERS = RNG.random(80) + 0.5


def test_with_all_items_as_candidates_it_is_the_dense_solution() -> None:
    everyone = np.array([[j for j in range(25) if j != i] for i in range(25)])
    found = local_weights(csc_array(TABLE), USERS, everyone, np.array([5.0, 50.0]), 1.0)
    for penalty, weights in zip((5.0, 50.0), found, strict=True):
        gram = dense_gram(TABLE, USERS)
        exact = dense_weights(gram, penalty + np.diag(gram).copy())
        assert weights.toarray() == pytest.approx(exact, abs=1e-5)


def test_each_item_uses_its_own_candidates_only() -> None:
    candidates = np.full((25, 4), -1)
    for item in range(25):
        candidates[item, : 1 + item % 4] = [(item + step) % 25 for step in range(1, 2 + item % 4)]
    (found,) = local_weights(csc_array(TABLE), USERS, candidates, np.array([10.0]), 0.0)
    gram = TABLE.toarray().T @ (USERS[:, None] * TABLE.toarray())
    for item in range(25):
        own = candidates[item][candidates[item] >= 0]
        exact = np.linalg.solve(gram[np.ix_(own, own)] + 10 * np.eye(len(own)), gram[own, item])
        column = found[:, [item]].toarray().ravel()
        assert column[own] == pytest.approx(exact, abs=1e-5)
        assert np.count_nonzero(column) <= len(own)


def test_the_number_of_threads_does_not_show() -> None:
    candidates = np.array([[(i + s) % 25 for s in (1, 2, 3)] for i in range(25)])
    before, found = numba.get_num_threads(), []
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            numba.set_num_threads(threads)
            found.append(local_weights(csc_array(TABLE), USERS, candidates, np.array([1.0]), 1.0))
    finally:
        numba.set_num_threads(before)
    assert (found[0][0] != found[-1][0]).nnz == 0


def test_the_strongest_entries_of_each_row_stay() -> None:
    table = csr_array(np.array([[5.0, 1.0, 3.0, 0.0], [2.0, 2.0, 1.0, 4.0], [0.0, 0.0, 0.0, 7.0]]))
    kept = strongest_entries(table, np.array([2, 2, 5])).toarray().tolist()
    assert kept == [[5, 0, 3, 0], [2, 2, 0, 4], [0, 0, 0, 7]]  # equal ones at the end all stay
