"""The dual of one partition's nodes, with the multipliers of all other nodes fixed.

Its pairs are of two kinds: between own nodes, stored in both directions, and from an own node to
the halo, stored once. Newton's method is that of the whole problem (`truegraph.learning.solve`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from truegraph.learning.solve.dual import DualPoint, Problem, moved_multipliers
from truegraph.learning.solve.kernels import slack_of

Floats = NDArray[np.float64]


class BlockPoint(DualPoint):
    """Minus the dual as a function of the own nodes' multipliers.

    Parameters
    ----------
    problem : Problem
        Of candidates with shape (own nodes, own nodes + halo).
    pairs : ndarray of shape (own nodes + halo, 2)
        Multipliers as pairs of floats; those of the halo stay.

    Attributes
    ----------
    cut : ndarray of int64, shape (own nodes,)
        Pairs to the halo that carry weight.
    pull : ndarray of shape (own nodes,)
        Sum of theta z over the pairs that carry weight.
    outside : ndarray of shape (own nodes,)
        Sum of w^2 over the pairs to the halo.
    """

    def __init__(self, problem: Problem, theta: float, pairs: Floats) -> None:
        self.problem, self.theta = problem, theta
        self.pairs, self.lam = pairs, pairs[: problem.candidates.shape[0], 0].copy()
        self._evaluate()

    def _evaluate(self) -> None:
        own, c = self.lam.size, self.problem.candidates
        self.degree, self.diagonal, potential = (np.empty(own) for _ in range(3))
        self.active, self.cut = (np.empty(own, dtype=np.int64) for _ in range(2))
        self.pull, self.outside = np.empty(own), np.empty(own)
        _evaluate_block(
            c.indptr,
            c.indices,
            c.data,
            self.theta,
            self.pairs,
            self.degree,
            potential,
            self.outside,
            self.pull,
            self.diagonal,
            self.active,
            self.cut,
            self.problem.columns,
            self.problem.values,
        )
        self.problem.owner = self
        self._potential = float(potential.sum())
        self.value = self._potential - float(np.log(self.lam).sum())

    def _changed(self, change: Floats) -> Floats:
        change = np.where(change > -0.5, change, 0.5 * np.expm1(2.0 * change + 1.0) - 0.5)
        changed = self.pairs.copy()
        changed[: change.size] = moved_multipliers(self.pairs[: change.size], change)
        return changed

    @property
    def own_pairs(self) -> Floats:
        """Multipliers of the own nodes (own nodes, 2)."""
        return self.pairs[: self.lam.size]

    @property
    def shared_value(self) -> float:
        """Minus this partition's part of the dual; pairs to the halo count half at either end."""
        return self.value - 0.5 * float(self.outside.sum())


@njit(parallel=True, cache=True, nogil=True)
def _evaluate_block(
    indptr: Any,
    indices: Any,
    distance: Any,
    theta: float,
    lam: Any,
    degree: Any,
    potential: Any,
    outside: Any,
    pull: Any,
    diagonal: Any,
    active: Any,
    cut: Any,
    columns: Any,
    values: Any,
) -> None:
    """As `kernels.evaluate`, for own nodes whose pairs to the halo count whole."""
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


@njit(parallel=True, cache=True, nogil=True)
def block_weights(
    indptr: Any, indices: Any, distance: Any, theta: float, lam: Any, out: Any
) -> None:
    """Fill out (entries,) with w = max(0, (lam_i + lam_j) / 2 - theta z) of own nodes' pairs."""
    for i in prange(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = max(0.0, slack_of(lam, i, indices[e], theta * distance[e]))
