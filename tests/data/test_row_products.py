"""Inner products of sparse rows, however different their lengths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from truegraph.data.row_products import row_products


@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
def test_the_same_as_dense_products(density: float) -> None:
    rng = np.random.default_rng(0)
    first = csr_array(random_array((30, 200), density=density, rng=rng, format="csr"))
    long = np.ones((1, 200))
    second = csr_array(np.vstack([random_array((40, 200), density=0.05, rng=rng).toarray(), long]))
    pairs = np.array([(i, j) for i in range(30) for j in range(41)])
    dense = first.toarray() @ second.toarray().T
    np.testing.assert_allclose(row_products(first, second, pairs), dense[tuple(pairs.T)])
    np.testing.assert_allclose(row_products(second, first, pairs[:, ::-1]), dense[tuple(pairs.T)])


def test_no_pairs() -> None:
    empty = csr_array((3, 3))
    assert row_products(empty, empty, np.empty((0, 2), dtype=np.int64)).shape == (0,)
