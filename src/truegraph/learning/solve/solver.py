"""The most probable graph on a list of candidate pairs, with a certificate.

The paper's problem (its equation 4), over symmetric A >= 0 with zero diagonal::

    minimise  |A o D|_11  -  alpha 1'log(A 1)  +  beta |A|_F^2

On candidate pairs e = (i, j) with weight w_e and distance z_e, where every pair is counted once::

    minimise  2 theta z'w + |w|^2 - sum_i log d_i,      d_i = sum of the weights at node i

is the one-parameter form; the paper's solution is sqrt(alpha / (2 beta)) times this one with
theta = 1 / sqrt(2 alpha beta) (`one_parameter_form`). The dual has one multiplier per node::

    w_e(lam) = max(0, (lam_i + lam_j) / 2 - theta z_e)
    dual(lam) = sum_i (1 + log lam_i) - sum_e w_e(lam)^2  <=  optimum  <=  primal(w)

At the optimum lam_i d_i = 1, and for w = w(lam) the duality gap is exactly
sum_i (lam_i d_i - 1 - log(lam_i d_i)): a proof of accuracy that costs nothing.

We maximise the dual by Newton's method for relative changes of lam, so that no positivity bound
can throttle the step. Where the kinks of max(0, .) make it stall, the nodes that cause it are
solved apart (`truegraph.learning.solve.stiff_part`), and where that is not enough, an interior
point method takes over (`truegraph.learning.solve.interior`). The cost is linear in the candidate
pairs, and has a budget (`truegraph.learning.solve.newton`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.interior import Interior
from truegraph.learning.solve.newton import Newton, budget
from truegraph.learning.solve.stiff_part import SMALL, first_sweeps, solve_stiff
from truegraph.runtime.threads import thread_limit

Floats = NDArray[np.float64]

_ROUGH_SHARE = 0.01  # of the tolerance, to which a rough solve follows the interior point method


@dataclass(frozen=True)
class Solution:
    """A graph on the candidate pairs and how close to the optimum it provably is."""

    theta: float
    multipliers: Floats
    primal: float
    dual: float
    degree: float
    tolerance: float
    iterations: int
    point: Any
    repaired: Floats | None = None
    inner_iterations: int = 0
    stalled: bool = False
    interior: Interior | None = None
    exhausted: bool = False

    @cached_property
    def weights(self) -> Floats:
        """Edge weights (stored candidate entries,), aligned with the candidate matrix."""
        # On demand: most solutions on the way to a wanted degree are never asked.
        return self.repaired if self.repaired is not None else self.point.edge_weights()

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / max(1, |primal|)."""
        gap = max(0.0, self.primal - self.dual) / max(1.0, abs(self.primal))
        return gap if math.isfinite(self.primal - self.dual) else math.inf

    @property
    def converged(self) -> bool:
        """Whether the relative gap is within the tolerance."""
        return self.relative_gap <= self.tolerance


def one_parameter_form(alpha: float, beta: float) -> tuple[float, float]:
    """Return (theta, scale): the paper's graph is scale times the one for theta.

    The paper's beta |A|_F^2 counts every pair twice, so it is 2 beta |w|^2 here.
    """
    return 1.0 / math.sqrt(2.0 * alpha * beta), math.sqrt(alpha / (2.0 * beta))


def solve(
    candidates: csr_array,
    theta: float = 1.0,
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
    start: Solution | None = None,
    rough: bool = False,
    on_step: Callable[[int, float], None] | None = None,
) -> Solution:
    """Learn the most probable graph on the candidate pairs by Newton's method on the dual."""
    newton = Newton(max_iter, on_step, budget(max_iter, candidates.nnz))
    flatness = math.sqrt(tol)

    def optimal(point: DualPoint) -> bool:
        return point.relative_gap <= tol and is_flat(point, flatness)

    # On a small problem threads save little, and on a busy machine they wait for one another.
    with thread_limit(1 if candidates.nnz < SMALL else None):
        if start is None or not start.stalled:
            point = newton.run(_first_point(candidates, theta, start), optimal)
            if optimal(point) or newton.is_exhausted:
                return _solution(point, tol, newton, start)
        if start is None or start.interior is None:
            point = _swept_point(candidates, theta, start, newton)
            if not rough:
                point = solve_stiff(point, optimal, flatness, newton)
            if rough or optimal(point) or newton.is_exhausted:
                return _solution(point, tol, newton, start, stalled=True)
        interior = _continued(candidates, theta, start)
        point = newton.follow(interior, partial(_counts, interior, tol) if rough else optimal)
        if not rough and not optimal(point):
            point = newton.run(point, optimal)
        return _solution(point, tol, newton, start, stalled=True, interior=interior)


def _swept_point(
    candidates: csr_array, theta: float, start: Solution | None, newton: Newton
) -> DualPoint:
    """Return a point after the first sweeps: that of the same problem, or else a new one.

    New ones begin with every node alone: sweeps forget another theta's solution too slowly.
    """
    if start is not None and start.stalled:
        point: DualPoint = start.point
        if point.theta == theta and point.problem.candidates is candidates:
            return point
    return first_sweeps(_first_point(candidates, theta, None), newton)


def _counts(interior: Interior, tol: float, point: DualPoint) -> bool:
    """Whether the edges of an interior point can be counted, though some nodes are not solved."""
    small = interior.gap <= _ROUGH_SHARE * tol * max(1.0, abs(point.dual))
    return small and interior.imbalance <= math.sqrt(tol) and bool((point.active > 0).all())


def _continued(candidates: csr_array, theta: float, start: Solution | None) -> Interior:
    """Return the interior point to go on from: that of the same problem, or else a new one."""
    if start is None or start.point is None or start.point.problem.candidates is not candidates:
        return Interior(Problem(candidates), theta)
    if start.interior is not None and start.theta == theta:
        return start.interior
    return Interior(start.point.problem, theta)


def _first_point(candidates: csr_array, theta: float, start: Solution | None) -> DualPoint:
    if start is None or start.point is None:
        pairs = np.zeros((candidates.shape[0], 2))
        kernels.isolated_start(candidates.indptr, candidates.data, theta, pairs)
        return DualPoint(Problem(candidates), theta, pairs)
    point = start.point
    if point.problem.candidates is not candidates:
        point = DualPoint(Problem(candidates), start.theta, point.pairs)
    return point if theta == start.theta else point.predicted(theta)


def is_flat(point: DualPoint, accuracy: float) -> bool:
    """Whether lam d = 1 holds at every node, within the accuracy."""
    return float(np.abs(point.gradient).max()) <= accuracy


def feasible(candidates: csr_array, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give nodes without weight a small edge to their nearest candidate, both directions."""
    graph = csr_array((w, candidates.indices, candidates.indptr), shape=candidates.shape)
    degrees: Floats = np.asarray(graph.sum(axis=1)).ravel()
    lonely = np.flatnonzero(degrees <= 0.0)
    if not lonely.size:
        return w
    w = w.copy()
    weight = float(degrees[degrees > 0.0].mean()) if (degrees > 0.0).any() else 1.0
    for i in lonely:
        entries = slice(candidates.indptr[i], candidates.indptr[i + 1])
        j = int(candidates.indices[entries][candidates.data[entries].argmin()])
        for a, b in ((i, j), (j, i)):
            row = candidates.indices[candidates.indptr[a] : candidates.indptr[a + 1]]
            w[candidates.indptr[a] + int(np.searchsorted(row, b))] = weight
    return w


def primal_value(candidates: csr_array, theta: float, w: NDArray[np.float64]) -> float:
    """2 theta z'w + |w|^2 - sum log d, where w holds both directions of every pair."""
    graph = csr_array((w, candidates.indices, candidates.indptr), shape=candidates.shape)
    degrees: Floats = np.asarray(graph.sum(axis=1)).ravel()
    return float(np.sum(w * (theta * candidates.data + 0.5 * w)) - np.log(degrees).sum())


def _solution(
    point: DualPoint,
    tol: float,
    newton: Newton,
    start: Solution | None,
    *,
    stalled: bool = False,
    interior: Interior | None = None,
) -> Solution:
    primal, repaired = point.dual + point.gap, None
    if not math.isfinite(primal):
        repaired = feasible(point.problem.candidates, point.edge_weights())
        primal = primal_value(point.problem.candidates, point.theta, repaired)
    return Solution(
        theta=point.theta,
        multipliers=point.lam,
        primal=primal,
        dual=point.dual,
        degree=float(point.active.sum()) / point.lam.size,
        tolerance=tol,
        iterations=newton.iterations + (0 if start is None else start.iterations),
        point=point,
        repaired=repaired,
        inner_iterations=newton.inner + (0 if start is None else start.inner_iterations),
        stalled=stalled,
        interior=interior,
        exhausted=newton.is_exhausted,
    )
