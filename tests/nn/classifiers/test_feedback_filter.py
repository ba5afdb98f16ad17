"""The rational filter: its coefficients against a convex solver, its action by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.nn import device
from truegraph.nn.classifiers.feedback_filter import filter_coefficients, rational_filter
from truegraph.nn.sparse import FixedSparse

COEFFICIENTS = ((0.5, -1.0), (2.0, 0.25, -0.5))


def _operator() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 4)) / 2


def _signals() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    pair = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64)
    return pair[0], pair[1]


def test_coefficients_are_those_of_a_convex_solver() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    grid = np.linspace(0, 2, 500)
    step = (grid >= 0.5).astype(float)
    a, b = cvxpy.Variable(5), cvxpy.Variable(4)
    residual = step + np.diag(step) @ (grid[:, None] ** np.arange(1, 6)) @ a
    residual = residual - (grid[:, None] ** np.arange(4)) @ b
    bounded = cvxpy.norm((grid[:, None] ** np.arange(5)) @ a, "inf") <= 0.9
    cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(residual)), [bounded]).solve()
    numerator, denominator = filter_coefficients()
    np.testing.assert_allclose(numerator, b.value, atol=1e-3)
    np.testing.assert_allclose(denominator, a.value, atol=1e-3)


def test_the_bound_holds_and_is_reached() -> None:
    _, denominator = filter_coefficients()
    values = np.polyval(denominator[::-1], np.linspace(0, 2, 500))
    assert np.abs(values).max() == pytest.approx(0.9, abs=1e-4)


def test_action_is_that_of_the_polynomials() -> None:
    dense, (ahead, back) = _operator(), _signals()
    filtered = rational_filter(
        FixedSparse(csr_array(dense), dtype=np.float64), ahead, back, COEFFICIENTS
    )
    numerator = 0.5 * np.eye(4) - dense
    denominator = 2 * dense + 0.25 * dense @ dense - 0.5 * dense @ dense @ dense
    for trial in range(3):
        expected = numerator @ ahead[trial].numpy() - denominator @ back[trial].numpy()
        np.testing.assert_allclose(filtered[trial], expected, atol=1e-12)


def test_gradient_agrees_with_finite_differences() -> None:
    operator = FixedSparse(csr_array(_operator()), dtype=np.float64)
    signals = [signal.requires_grad_() for signal in _signals()]
    assert torch.autograd.gradcheck(
        lambda x, y: rational_filter(operator, x, y, COEFFICIENTS), signals
    )


def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = FixedSparse(csr_array(_operator()), dtype=np.float64)
    ours = rational_filter(operator, *_signals(), COEFFICIENTS)
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    torch.testing.assert_close(ours, rational_filter(operator, *_signals(), COEFFICIENTS))


def test_the_coefficients_do_not_depend_on_the_threads() -> None:
    with threadpool_limits(1):
        alone = filter_coefficients.__wrapped__()
    with threadpool_limits(2):
        assert filter_coefficients.__wrapped__() == alone
