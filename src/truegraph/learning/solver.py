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
can throttle the step. Where the kinks of max(0, .) make it stall, max(0, x) is replaced by
(x + sqrt(x^2 + 4 m)) / 2 and m is driven to zero. The cost is linear in the candidate pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning import kernels
from truegraph.learning.dual import DualPoint, Problem
from truegraph.learning.threads import thread_limit

Floats = NDArray[np.float64]
Point = TypeVar("Point", bound=DualPoint)

_SHORT_STEP = 3e-4  # two shorter line searches in a row count as a stall
_PLAIN_STEPS = 120  # steps without smoothing before a problem counts as stiff
_IDLE_STEPS = 8  # steps in a row that change the dual by no more than rounding
_SMOOTHING_FACTOR = 0.1
_SMALLEST_SMOOTHING = 1e-40
SMALL = 2_000_000  # stored candidate entries


@dataclass(frozen=True)
class Solution:
    """A graph on the candidate pairs and how close to the optimum it provably is.

    Attributes
    ----------
    theta : float
        Sparsity parameter it was solved for.
    multipliers : ndarray of shape (n_nodes,)
        The dual solution lam; 1 / degree at the optimum.
    primal, dual : float
        Objective of the graph, and a lower bound on every graph's objective.
    degree : float
        Mean number of edges per node.
    iterations, inner_iterations : int
        Newton steps and conjugate gradient steps, those of the solution it began from included.
    point : object
        The solver's own state, from which a neighbouring problem is started; None for the paper's
        solver, which always starts at zero.
    """

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
    smoothed: bool = False

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


class Newton:
    """Newton's method with a line search, counting its work across restarts."""

    def __init__(self, max_iter: int, on_step: Callable[[int, float], None] | None) -> None:
        self.max_iter = max_iter
        self.on_step = on_step
        self.iterations = 0
        self.inner = 0

    def run(self, point: Point, done: Callable[[Point], bool], most: int | None = None) -> Point:
        """Descend from point until done, out of iterations, at rounding or stalled.

        With `most`, two very short steps in a row or so many steps count as a stall.
        """
        last = self.max_iter if most is None else min(self.max_iter, self.iterations + most)
        short = idle = 0
        while not done(point) and self.iterations < last:
            step, inner = point.newton_step()
            self.iterations += 1
            self.inner += inner
            following, length = _line_search(point, step)
            if following is None:
                break
            idle = idle + 1 if following.value >= point.value - _rounding(point) else 0
            short = short + 1 if length < _SHORT_STEP else 0
            point = following
            if self.on_step is not None:
                self.on_step(self.iterations, point.gap)
            if (most is not None and short >= 2) or idle >= _IDLE_STEPS:
                break
        return point


def _rounding(point: DualPoint) -> float:
    """How far two values of the dual may differ by rounding alone."""
    return 1e-13 * max(1.0, abs(point.value))


def _line_search(point: Point, step: Floats) -> tuple[Point | None, float]:
    """Armijo's rule with an allowance for rounding; (None, 0) when no step descends."""
    slope = float(np.sum(point.gradient * step))  # not BLAS: its sums depend on the threads
    allowance = _rounding(point)
    length = 1.0
    while length > 1e-9:
        trial = point.moved(step, length)
        if trial.value <= point.value + 1e-4 * length * slope + allowance:
            return trial, length
        length *= 0.5
    return None, 0.0


def solve(
    candidates: csr_array,
    theta: float = 1.0,
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
    start: Solution | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> Solution:
    """Learn the most probable graph on the candidate pairs by Newton's method on the dual.

    Parameters
    ----------
    candidates : csr_array of shape (n_nodes, n_nodes)
        Distances >= 0 of the candidate pairs, symmetric, both directions stored, zeros kept;
        every row has at least one entry.
    theta : float
        Sparsity: a larger theta gives a sparser graph.
    tol : float
        Relative duality gap to reach.
    start : Solution, optional
        Solution of a neighbouring problem: the same nodes with another theta or other candidates.
    on_step : callable, optional
        Called with (iteration, gap) after every step.
    """
    newton = Newton(max_iter, on_step)

    def optimal(point: DualPoint) -> bool:
        return point.relative_gap <= tol and is_flat(point, math.sqrt(tol))

    # On a small problem threads save little, and on a busy machine they wait for one another.
    with thread_limit(1 if candidates.nnz < SMALL else None):
        point = _first_point(candidates, theta, start)
        stiff = start is not None and start.smoothed
        if not stiff:
            point = newton.run(point, optimal, _PLAIN_STEPS)
        smoothed = not optimal(point) and newton.iterations < max_iter
        if smoothed:
            point = _follow_smoothing(point, newton, optimal, 1e-4 if stiff else 0.1)
            point = newton.run(point, optimal, _PLAIN_STEPS)
        return _solution(point, tol, newton, smoothed or stiff, start)


def _first_point(candidates: csr_array, theta: float, start: Solution | None) -> DualPoint:
    if start is None or start.point is None:
        pairs = np.zeros((candidates.shape[0], 2))
        kernels.isolated_start(candidates.indptr, candidates.data, theta, pairs)
        return DualPoint(Problem(candidates), theta, 0.0, pairs)
    point = start.point
    if point.problem.candidates is not candidates:
        point = DualPoint(Problem(candidates), start.theta, 0.0, point.pairs)
    return point if theta == start.theta else point.predicted(theta, start.smoothed)


def _follow_smoothing(
    point: DualPoint, newton: Newton, optimal: Callable[[DualPoint], bool], most: float
) -> DualPoint:
    """Drive the smoothing to zero, each level warm-started from the one before.

    A level is solved as accurately as its smoothing perturbs the gradient, about sqrt(m).
    """
    best, smoothing = point, _first_smoothing(point, most)
    while smoothing > _SMALLEST_SMOOTHING and newton.iterations < newton.max_iter:
        accuracy = min(0.3, 300.0 * math.sqrt(smoothing))
        point = newton.run(point.smoothed(smoothing), partial(is_flat, accuracy=accuracy))
        sharp = point.smoothed(0.0)
        if sharp.relative_gap < best.relative_gap:
            best = sharp
        if optimal(sharp):
            break
        smoothing *= _SMOOTHING_FACTOR
    return best


def _first_smoothing(point: DualPoint, most: float) -> float:
    """Return the least smoothing, up to most, under which the point is nearly stationary."""
    smoothing = 1e-10
    while smoothing < most and not is_flat(point.smoothed(smoothing), 0.5):
        smoothing *= 10.0
    return smoothing


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
    point: DualPoint, tol: float, newton: Newton, smoothed: bool, start: Solution | None
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
        smoothed=smoothed,
    )
