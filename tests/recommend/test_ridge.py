"""Ridge regressions of items: dense inverses, and on candidates, for any number of threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from truegraph.errors import InputError
from truegraph.recommend import ridge
from truegraph.recommend.ease import EASE
from truegraph.recommend.ridge import (
    dense_gram,
    dense_weights,
    local_weights,
    strongest_entries,
)

RNG = np.random.default_rng(0)
TABLE = csr_array((RNG.random((80, 25)) < 0.3).astype(np.float32))
USERS = RNG.random(80) + 0.5


def test_gram_matrix_with_weights_and_mixing() -> None:
    rng = np.random.default_rng(1)
    table = (rng.random((40, 15)) < 0.3).astype(np.float32)
    weights = rng.random(40)
    mixing = csr_array(np.eye(15) + 0.5 * (rng.random((15, 15)) < 0.2))
    found = dense_gram(csr_array(table), weights, mixing)
    mixed = table @ mixing.toarray()
    assert found == pytest.approx(mixed.T @ (weights[:, None] * mixed), abs=1e-9)


@pytest.mark.parametrize("double_up_to", [0, 4000])
def test_single_precision_is_close_to_double(
    double_up_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = csr_array((rng.random((200, 60)) < 0.2).astype(np.float32))
    exact = np.linalg.inv((table.T @ table).toarray() + 50.0 * np.eye(60))
    exact = -exact / np.diag(exact)
    np.fill_diagonal(exact, 0.0)
    monkeypatch.setattr(ridge, "_DOUBLE_UP_TO", double_up_to)
    gram = dense_gram(table)
    assert gram.dtype == (np.float32 if double_up_to == 0 else np.float64)
    found = dense_weights(gram, np.full(60, 50.0))
    assert found == pytest.approx(exact, abs=1e-5)


def test_an_ill_conditioned_matrix_is_solved_in_double_precision() -> None:
    table = np.repeat(np.eye(6, dtype=np.float32), 2, axis=1) * 300.0  # twins, large counts
    gram = (table.T @ table).astype(np.float32)
    exact = np.linalg.inv(gram.astype(np.float64) + 0.1 * np.eye(12))
    exact = -exact / np.diag(exact)
    np.fill_diagonal(exact, 0.0)
    assert dense_weights(gram, np.full(12, 0.1)) == pytest.approx(exact, abs=1e-6)


def test_a_penalty_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match=r"penalty=0\.0"):
        EASE.checked({"penalty": 0.0})


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
