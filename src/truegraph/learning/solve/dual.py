"""The dual of the graph learning problem at one point: value, derivatives, steps.

The mathematics is explained in `truegraph.learning.solve.solver`.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve import kernels

Floats = NDArray[np.float64]

LONGEST_STEP = 3.0  # relative change of lam


class Problem:
    """Candidate pairs, and room for the Hessian of the point that was evaluated last."""

    def __init__(self, candidates: csr_array) -> None:
        self.candidates = candidates
        self.columns = np.empty(candidates.nnz, dtype=candidates.indices.dtype)
        self.values = np.empty(candidates.nnz)
        self._owner: weakref.ref[DualPoint] | None = None

    @property
    def owner(self) -> DualPoint | None:
        """The point whose Hessian is there; None if it is gone, or something else is there."""
        return None if self._owner is None else self._owner()

    @owner.setter
    def owner(self, point: DualPoint | None) -> None:
        # Points know their problem: held in turn, both would outlive their use by many others.
        self._owner = None if point is None else weakref.ref(point)


class DualPoint:
    """Minus the dual at one point: its value, its derivatives and what they are made of."""

    def __init__(self, problem: Problem, theta: float, pairs: Floats) -> None:
        self.problem, self.theta = problem, theta
        self.pairs, self.lam = pairs, pairs[:, 0].copy()
        self._evaluate()

    def _evaluate(self) -> None:
        self.degree, self.diagonal, potential = (np.empty(self.lam.size) for _ in range(3))
        self.active = np.empty(self.lam.size, dtype=np.int64)
        hessian = (self.diagonal, self.active, self.problem.columns, self.problem.values)
        self._fill(self.degree, potential, *hessian)
        self.problem.owner = self
        self.value = float(potential.sum() - np.log(self.lam).sum())

    def _fill(self, *out: NDArray[Any]) -> None:
        """Fill degree, potential, diagonal, active, columns and values."""
        kernels.evaluate(self._state, *out)

    @property
    def _state(self) -> tuple[Any, ...]:
        return kernels.state_of(self.problem.candidates, self.theta, self.pairs)

    @property
    def gradient(self) -> Floats:
        """Derivative for relative changes of lam, lam d - 1 (n_nodes,)."""
        return self.lam * self.degree - 1.0

    @property
    def dual(self) -> float:
        """The lower bound."""
        return self.lam.size - self.value

    @property
    def gap(self) -> float:
        """Primal minus dual of the graph w(lam), infinite when a node has no weight."""
        product = self.lam * self.degree
        if not product.min() > 0.0:
            return math.inf
        return float(np.sum(product - 1.0 - np.log(product)))

    @property
    def relative_gap(self) -> float:
        """The gap relative to the primal objective."""
        gap = self.gap
        return gap / max(1.0, abs(self.dual + gap)) if math.isfinite(gap) else math.inf

    def moved(self, step: Floats, length: float) -> Self:
        """Return the point reached by changing lam by the relative amount length * step."""
        return self._at(self._changed(length * step))

    def _at(self, pairs: Floats) -> Self:
        """Return another point of the same problem."""
        return type(self)(self.problem, self.theta, pairs)

    def _changed(self, change: Floats) -> Floats:
        """Return the multipliers after a relative change.

        Straight in lam, for edges between stiff nodes only stay as they are on a straight line,
        until half of lam is gone; from there exponential, so that lam stays positive.
        """
        change = np.where(change > -0.5, change, 0.5 * np.expm1(2.0 * change + 1.0) - 0.5)
        return moved_multipliers(self.pairs, change)

    def newton_step(self) -> tuple[Floats, int]:
        """Return the relative change of lam, at most LONGEST_STEP, and the CG iterations."""
        right = -self.gradient
        step, inner = self._solve_hessian(right, min(0.1, float(np.abs(right).max())))
        largest = float(np.abs(step).max())
        return step * min(1.0, LONGEST_STEP / max(largest, 1e-300)), inner

    def predicted(self, theta: float) -> DualPoint:
        """Return a first guess for another theta: this point moved along the path's tangent."""
        pull = np.empty(self.lam.size)
        kernels.active_distances(self._state, pull)
        right = math.log(theta / self.theta) * self.lam * pull
        step, _ = self._solve_hessian(right, 1e-2)
        pairs = self._changed(np.clip(step, -LONGEST_STEP, LONGEST_STEP))
        return DualPoint(self.problem, theta, pairs)

    def edge_weights(self) -> Floats:
        """Return w(lam), one entry per stored candidate entry."""
        out = np.empty(self.problem.candidates.nnz)
        kernels.weights(self._state, out)
        return out

    def _solve_hessian(self, right: Floats, tolerance: float) -> tuple[Floats, int]:
        problem, step = self.problem, np.empty(self.lam.size)
        if problem.owner is not self:
            self._evaluate()
        rows = (problem.candidates.indptr, self.active, problem.columns, problem.values)
        matrix = (*rows, self.diagonal)
        return step, kernels.conjugate_gradients(matrix, right, tolerance, step)


def moved_multipliers(pairs: Floats, change: Floats) -> Floats:
    """Return multipliers (N, 2), pairs of floats, after a relative change of the first ones."""
    own = pairs[: change.size]
    lam, lost = _sum_with_error(own[:, 0], own[:, 0] * change)
    moved = np.column_stack(_sum_with_error(lam, lost + own[:, 1] * (1.0 + change)))
    return np.concatenate([moved, pairs[change.size :]])


def _sum_with_error(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b rounded, and exactly what the rounding lost (Knuth's two-sum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
