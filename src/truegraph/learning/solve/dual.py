"""The dual of the graph learning problem at one point: value, derivatives, steps.

The mathematics is explained in `truegraph.learning.solve.solver`. A block is some nodes, with
the multipliers of all others, its halo, fixed; pairs to the halo are stored once.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve import kernels
from truegraph.learning.solve.kernels import slack_of
from truegraph.runtime.compiled import compiled

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


class BlockPoint(DualPoint):
    """Minus the dual as a function of the own nodes' multipliers."""

    def __init__(self, problem: Problem, theta: float, pairs: Floats) -> None:
        self.problem, self.theta = problem, theta
        self.pairs, self.lam = pairs, pairs[: problem.candidates.shape[0], 0].copy()
        self._evaluate()

    def _fill(self, *out: NDArray[Any]) -> None:
        self.outside, self.pull = np.empty(self.lam.size), np.empty(self.lam.size)
        self.cut = np.empty(self.lam.size, dtype=np.int64)
        _evaluate_block(self._state, self.outside, self.pull, self.cut, *out)

    @property
    def own_pairs(self) -> Floats:
        """Multipliers of the own nodes (own nodes, 2)."""
        return self.pairs[: self.lam.size]

    @property
    def shared_value(self) -> float:
        """Minus the own nodes' part of the dual; pairs to the halo count half at either end."""
        return self.value - 0.5 * float(self.outside.sum())


def block_candidates(
    nodes: NDArray[Any], lengths: NDArray[Any], columns: NDArray[Any], distances: Floats
) -> tuple[csr_array, NDArray[Any]]:
    """Return the candidates (own nodes, own nodes + halo) of some nodes, and the halo."""
    local, halo = _numbered(nodes, columns)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shape = (len(nodes), len(nodes) + len(halo))
    return csr_array((distances, local, indptr), shape=shape), halo


def _numbered(
    nodes: NDArray[Any], columns: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the columns as places among the nodes and, after these, the halo; and the halo."""
    limit = 1 + max(int(nodes.max(initial=0)), int(columns.max(initial=0)))
    if limit > columns.size:  # a table of all numbers would be larger than the columns
        inside = np.isin(columns, nodes)
        halo = np.unique(columns[~inside]).astype(np.int64)
        beyond = len(nodes) + np.searchsorted(halo, columns)
        return np.where(inside, np.searchsorted(nodes, columns), beyond).astype(np.int32), halo
    is_halo = np.zeros(limit, dtype=np.bool_)
    is_halo[columns] = True
    is_halo[nodes] = False
    halo = np.flatnonzero(is_halo)
    places = np.empty(limit, dtype=np.int32)
    places[nodes] = np.arange(len(nodes))
    places[halo] = len(nodes) + np.arange(len(halo))
    return places[columns], halo


@compiled(parallel=True)
def _evaluate_block(
    state: Any,
    outside: Any,
    pull: Any,
    cut: Any,
    degree: Any,
    potential: Any,
    diagonal: Any,
    active: Any,
    columns: Any,
    values: Any,
) -> None:
    """As `kernels.evaluate`, for own nodes whose pairs to the halo count whole."""
    indptr, indices, distance, theta, lam = state
    own = degree.size
    for i in prange(own):
        total = 0.0
        inner = 0.0
        outer = 0.0
        far = 0.0
        crossing = 0
        at = indptr[i]
        half = 0.5 * lam[i, 0]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            if slack > 0.0:
                total += slack
                far += theta * distance[e]
                if j < own:
                    inner += slack * slack
                    columns[at] = j
                    values[at] = half * lam[j, 0]
                    at += 1
                else:
                    outer += slack * slack
                    crossing += 1
        degree[i] = total
        potential[i] = 0.5 * inner + outer
        outside[i] = outer
        pull[i] = far
        active[i] = at - indptr[i]
        cut[i] = crossing
        diagonal[i] = max(lam[i, 0] * total, 1.0) + half * lam[i, 0] * (active[i] + crossing)


Floats = NDArray[np.float64]
