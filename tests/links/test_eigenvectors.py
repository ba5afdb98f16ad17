"""Leading eigenvectors against dense arithmetic and against scikit-learn's randomised SVD."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

from truegraph.links.eigenvectors import leading_vectors, times
from truegraph.links.similarities import smoothing


@pytest.fixture
def smoother(teams) -> csr_array:
    return smoothing(teams)


def values_of(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=0)


def test_product_is_that_of_the_matrix(smoother):
    block = np.random.default_rng(0).normal(size=(400, 7)).astype(np.float32)
    out = np.full_like(block, np.nan)
    times(smoother, block, out)
    np.testing.assert_allclose(out, smoother.toarray() @ block, rtol=1e-4, atol=1e-6)


def test_vectors_are_eigenvectors_times_the_size_of_their_eigenvalues():
    rng = np.random.default_rng(1)
    directions = np.linalg.qr(rng.normal(size=(80, 80)))[0]
    values = np.concatenate([[1.0, -0.9, 0.8, -0.7], rng.uniform(-0.2, 0.2, 76)])
    matrix = csr_array(((directions * values) @ directions.T).astype(np.float32))
    found = leading_vectors(matrix, 4, 0)
    np.testing.assert_allclose(values_of(found), [1.0, 0.9, 0.8, 0.7], rtol=1e-5)
    wanted = directions[:, :4] * np.abs(values[:4])
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-5)


def test_as_much_is_found_as_by_a_randomised_svd(smoother):
    _, theirs, _ = randomized_svd(smoother, 12, n_iter=4, random_state=0)
    assert values_of(leading_vectors(smoother, 12, 0)).sum() >= 0.999 * theirs.sum()


def test_all_vectors_of_a_small_or_singular_matrix():
    ones = csr_array(np.ones((9, 9), dtype=np.float32) / 9.0)
    found = leading_vectors(ones, 8, 0)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found @ found.T, ones.toarray(), atol=1e-5)
    nothing = leading_vectors(csr_array((5, 5), dtype=np.float32), 3, 0)
    np.testing.assert_array_equal(nothing, np.zeros((5, 3)))


def test_same_bits_for_any_number_of_threads(smoother):
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            found.append(leading_vectors(smoother, 8, 3))
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
