"""Dense inverses of Gram matrices, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.recommend import dense_ridge
from truegraph.recommend.dense_ridge import dense_gram, dense_weights
from truegraph.recommend.ease import EASE


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
    monkeypatch.setattr(dense_ridge, "_DOUBLE_UP_TO", double_up_to)
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


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_ridge, "MOST_ITEMS", 2)
    with pytest.raises(InputError, match="3 x 3 items is too large; up to 2"):
        dense_gram(csr_array(np.eye(3)))
    with pytest.raises(InputError, match=r"penalty=0\.0"):
        EASE.checked({"penalty": 0.0})
