"""The linear systems of a Newton step are solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.learning.solve import interior as incomplete_cholesky
from truegraph.learning.solve import kernels


def stiff_system(seed: int, nodes: int = 200) -> tuple[np.ndarray, tuple, np.ndarray]:
    """A system as the Hessian has: Lam S S' Lam / 2 plus the identity, lam over six decades."""
    rng = np.random.default_rng(seed)
    pattern = np.triu(rng.random((nodes, nodes)) < 0.05, 1) | np.eye(nodes, k=1, dtype=bool)
    pattern = (pattern | pattern.T).astype(float)
    lam = 10.0 ** rng.uniform(-3, 3, size=nodes)
    signless = pattern + np.diag(pattern.sum(axis=1))
    matrix = np.eye(nodes) + 0.5 * lam[:, None] * signless * lam
    off = csr_array(matrix - np.diag(np.diag(matrix)))
    active = np.diff(off.indptr).astype(np.int64)
    parts = (off.indptr, active, off.indices, off.data, np.diag(matrix).copy())
    return matrix, parts, lam


@pytest.mark.parametrize("seed", range(3))
def test_both_conjugate_gradients_solve_their_systems(seed: int) -> None:
    matrix, parts, lam = stiff_system(seed)
    right = lam * np.random.default_rng(seed).normal(size=lam.size)
    wanted = np.linalg.solve(matrix, right)
    plain = np.empty(lam.size)
    order = np.argsort(-lam, kind="stable")
    many = kernels.conjugate_gradients(parts, right, 1e-12, plain)
    stiff, few = incomplete_cholesky.Factored(parts, order).solve(right, 1e-12)
    for found in (plain, stiff):
        error = wanted - found
        assert error @ matrix @ error < 1e-12 * (wanted @ matrix @ wanted)
    assert few < many


def test_conjugate_gradients_stop_at_their_limit() -> None:
    _, parts, lam = stiff_system(9)
    out = np.empty(lam.size)
    assert kernels.conjugate_gradients(parts, 0.0 * lam, 1e-6, out) == 0
    assert (out == 0.0).all()
