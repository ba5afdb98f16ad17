"""The rational graph filter of DFNets: its coefficients, and its action on signals.

The filter h(mu) = b(mu) / (1 + a(mu)), with a(0) = 0, is fitted to a step on [0, 2] by least
squares on b - (1 + a) step, subject to a bound on a(mu) / mu that keeps the recursion stable.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from truegraph.nn.sparse import FixedSparse, multiply

_POINTS = 500
_LARGEST = 2.0  # bound on the spectrum of a normalised Laplacian


@lru_cache
def filter_coefficients(
    numerator: int = 3, denominator: int = 5, cut: float = 0.5, radius: float = 0.9
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (b_0 .. b_Q) and (a_1 .. a_P) of the filter that passes mu >= 1 - cut.

    Parameters
    ----------
    numerator, denominator : int
        Degrees Q and P.
    cut : float
        How far below the middle of the spectrum the step stands.
    radius : float
        Bound on the absolute value of a(mu) / mu over the grid.

    Notes
    -----
    As in the authors' code the grid covers [0, 2], although the operator that the filter is
    applied to is the Laplacian minus the identity.
    """
    grid = np.linspace(0.0, _LARGEST, _POINTS)
    step = (grid >= _LARGEST / 2 - cut).astype(float)
    powers = grid[:, None] ** np.arange(max(numerator, denominator) + 1)
    matrix = np.hstack(
        [step[:, None] * powers[:, 1 : denominator + 1], -powers[:, : numerator + 1]]
    )
    bounded = np.hstack([powers[:, :denominator], np.zeros((_POINTS, numerator + 1))])
    solution = _constrained_least_squares(matrix, step, np.vstack([bounded, -bounded]), radius)
    return tuple(solution[denominator:]), tuple(solution[:denominator])


def _constrained_least_squares(
    matrix: np.ndarray, offset: np.ndarray, rows: np.ndarray, bound: float
) -> np.ndarray:
    """Minimise |matrix x + offset|^2 subject to rows x <= bound."""
    options: dict[str, Any] = {
        "jac": lambda x: matrix.T @ (matrix @ x + offset),
        "method": "SLSQP",
        "constraints": {"type": "ineq", "fun": lambda x: bound - rows @ x, "jac": lambda x: -rows},
        "options": {"maxiter": 500, "ftol": 1e-14},
    }

    def squares(x: np.ndarray) -> float:
        return 0.5 * float(np.sum((matrix @ x + offset) ** 2))

    # The bits of a product depend on BLAS's threads, and the search carries them past any rounding.
    with threadpool_limits(1, user_api="blas"):
        result = minimize(squares, np.zeros(matrix.shape[1]), **options)
    return np.round(result.x, 6)


def rational_filter(
    operator: FixedSparse,
    ahead: torch.Tensor,
    back: torch.Tensor,
    coefficients: tuple[tuple[float, ...], tuple[float, ...]],
) -> torch.Tensor:
    """Return b(L) ahead - a(L) back.

    Parameters
    ----------
    operator : FixedSparse of shape (N, N)
        L.
    ahead, back : Tensor of shape (T, N, width)
    coefficients : tuple
        (b_0 .. b_Q) and (a_1 .. a_P).
    """
    filtered: torch.Tensor = _RationalFilter.apply(ahead, back, operator, coefficients)
    return filtered


class _RationalFilter(torch.autograd.Function):
    """One product with L per degree: Horner's rule ahead, growing powers of L back."""

    @staticmethod
    def forward(
        ctx: Any,
        ahead: torch.Tensor,
        back: torch.Tensor,
        operator: FixedSparse,
        coefficients: tuple[tuple[float, ...], tuple[float, ...]],
    ) -> torch.Tensor:
        ctx.operator, ctx.terms = operator, _by_power(coefficients)
        total = torch.zeros_like(ahead)
        for power, (b, a) in reversed(list(enumerate(ctx.terms))):
            total.add_(ahead, alpha=b).add_(back, alpha=-a)
            if power > 0:
                total = multiply(operator, total, None, transposed=False)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        to_ahead, to_back = torch.zeros_like(gradient), torch.zeros_like(gradient)
        powered = gradient.contiguous()
        for power, (b, a) in enumerate(ctx.terms):
            if power > 0:
                powered = multiply(ctx.operator, powered, None, transposed=True)
            to_ahead.add_(powered, alpha=b)
            to_back.add_(powered, alpha=-a)
        return to_ahead, to_back, None, None


def _by_power(
    coefficients: tuple[tuple[float, ...], tuple[float, ...]],
) -> list[tuple[float, float]]:
    """Return (b_k, a_k) for k = 0 .. the larger degree, with zeros where there is none."""
    numerator, denominator = coefficients
    return list(zip_longest(numerator, (0.0, *denominator), fillvalue=0.0))
