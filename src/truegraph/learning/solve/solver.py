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
can throttle the step. Where the kinks of max(0, .) make it stall, an interior point method takes
over (`truegraph.learning.solve.interior`). The cost is linear in the candidate pairs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.interior import Interior
from truegraph.runtime.threads import thread_limit

Floats = NDArray[np.float64]
Point = TypeVar("Point", bound=DualPoint)

# Newton's method counts as stalled after so many steps, two tiny ones in a row, or so many short
# ones within a window: each of these takes many tries to find.
_MOST_STEPS = 150
_TINY_STEP = 3e-4
_SHORT_STEP = 0.02
_MOST_SHORT = 18
_WINDOW = 30
_IDLE_STEPS = 8  # in a row, that change nothing but by rounding
_ACCURACY, _FINE_ACCURACY = 1e-2, 1e-8  # of the interior point method's linear systems
_ROUGH_SHARE = 0.01  # of the tolerance, to which a rough solve follows the interior point method
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
    point, interior : object
        The solver's own state, from which a neighbouring problem is started, and from which the
        same problem is solved further; None for the paper's solver, which always starts at zero.
    stalled : bool
        Whether Newton's method stalled and the interior point method took over.
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
    stalled: bool = False
    interior: Interior | None = None

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

    def run(self, point: Point, done: Callable[[Point], bool], *, may_stall: bool = True) -> Point:
        """Descend from point until done, out of iterations, at rounding or stalled.

        It stalls with two tiny steps in a row, mostly short ones, or too many.
        """
        last = self.max_iter if not may_stall else min(self.max_iter, self.iterations + _MOST_STEPS)
        tiny = idle = 0
        short: deque[bool] = deque(maxlen=_WINDOW)
        while not done(point) and self.iterations < last:
            step, inner = point.newton_step()
            self.iterations += 1
            self.inner += inner
            following, length = _line_search(point, step)
            if following is None:
                break
            idle = idle + 1 if following.value >= point.value - _rounding(point) else 0
            tiny = tiny + 1 if length < _TINY_STEP else 0
            short.append(length < _SHORT_STEP)
            point = following
            if self.on_step is not None:
                self.on_step(self.iterations, point.gap)
            stalled = tiny >= 2 or sum(short) >= _MOST_SHORT
            if (stalled and may_stall) or idle >= _IDLE_STEPS:
                break
        return point

    def follow(self, interior: Interior, done: Callable[[DualPoint], bool]) -> DualPoint:
        """Follow the interior point method until done, out of steps or at rounding.

        Returns the best point that was met.
        """
        best = interior.sharp()
        idle = 0
        while not done(best) and self.iterations < self.max_iter and idle < _IDLE_STEPS:
            before, settled = interior.gap, interior.gap <= _rounding(best)
            self.inner += interior.step(_FINE_ACCURACY if settled else _ACCURACY)
            self.iterations += 1
            point = interior.sharp()
            if self.on_step is not None:
                self.on_step(self.iterations, point.gap)
            improved = point.relative_gap < best.relative_gap
            # Nodes with tiny weights come last: they need a gap far below what others notice.
            falling = interior.gap < (0.5 if settled else 0.99) * before
            idle = 0 if improved or falling else idle + 1
            if improved or not settled:
                best = point
        return best


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
    rough: bool = False,
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
    rough : bool
        Whether a few nodes far from all others may be left unsolved: enough to count edges.
    on_step : callable, optional
        Called with (iteration, gap) after every step.
    """
    newton = Newton(max_iter, on_step)

    def optimal(point: DualPoint) -> bool:
        return point.relative_gap <= tol and is_flat(point, math.sqrt(tol))

    # On a small problem threads save little, and on a busy machine they wait for one another.
    with thread_limit(1 if candidates.nnz < SMALL else None):
        if start is not None and start.stalled:
            interior = _continued(candidates, theta, start)
        else:
            point = newton.run(_first_point(candidates, theta, start), optimal)
            if optimal(point) or newton.iterations >= max_iter:
                return _solution(point, tol, newton, None, start)
            interior = Interior(point.problem, theta)
        point = newton.follow(interior, partial(_counts, interior, tol) if rough else optimal)
        if not rough and not optimal(point):
            point = newton.run(point, optimal)
        return _solution(point, tol, newton, interior, start)


def _counts(interior: Interior, tol: float, point: DualPoint) -> bool:
    """Whether the edges of an interior point can be counted, though some nodes are not solved."""
    small = interior.gap <= _ROUGH_SHARE * tol * max(1.0, abs(point.dual))
    return small and interior.imbalance <= math.sqrt(tol) and bool((point.active > 0).all())


def _continued(candidates: csr_array, theta: float, start: Solution) -> Interior:
    """Return the interior point to go on from: that of the same problem, or else a new one."""
    problem = start.point.problem
    if problem.candidates is not candidates:
        problem = Problem(candidates)
    elif start.interior is not None and start.theta == theta:
        return start.interior
    return Interior(problem, theta)


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
    interior: Interior | None,
    start: Solution | None,
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
        stalled=interior is not None,
        interior=interior,
    )
