"""Newton's method on the dual, with a line search and a budget.

The budget is counted in visits of candidate pairs, not in seconds, so that a solve that runs out
of it stops at the same place on every machine.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.solve.dual import DualPoint
from truegraph.learning.solve.interior import Interior

Floats = NDArray[np.float64]
Point = TypeVar("Point", bound=DualPoint)

# Newton's method counts as stalled after so many steps, two tiny ones in a row, or so many short
# ones within a window: each of these takes many tries to find.
_MOST_STEPS = 150
_TINY_STEP = 3e-4
_SHORT_STEP = 0.1
_MOST_SHORT = 3
_WINDOW = 30
_IDLE_STEPS = 8  # in a row, that change nothing but by rounding
_ACCURACY, _FINE_ACCURACY = 1e-2, 1e-8  # of the interior point method's linear systems
_INTERIOR_PASSES = 10  # over the pairs that a step of the interior point method takes, without CG
# The budget for each step that is allowed: passes over all pairs, or visits if that is more.
_PASSES, _LEAST_VISITS = 20.0, 4e6


def budget(max_iter: int, entries: int) -> float:
    """Return how many visits of candidate entries a solve may take."""
    return max_iter * max(_PASSES * entries, _LEAST_VISITS)


class Newton:
    """Newton's method with a line search, counting its work across restarts."""

    def __init__(
        self,
        max_iter: int,
        on_step: Callable[[int, float], None] | None,
        most_visits: float = math.inf,
    ) -> None:
        self.max_iter = max_iter
        self.on_step = on_step
        self.most_visits = most_visits
        self.iterations = 0
        self.inner = 0
        self.visits = 0.0

    @property
    def is_exhausted(self) -> bool:
        """Whether the steps or the budget are used up."""
        return self.iterations >= self.max_iter or self.visits >= self.most_visits

    def report(self, point: DualPoint) -> None:
        """Tell the listener where the solve is."""
        if self.on_step is not None:
            self.on_step(self.iterations, point.gap)

    def part(self, most_steps: int) -> Newton:
        """Return a method for a part of the problem, with what is left of the budget."""
        return Newton(most_steps, None, self.most_visits - self.visits)

    def add(self, part: Newton) -> None:
        """Count the work of a part; its steps are not those of the whole problem."""
        self.inner += part.inner
        self.visits += part.visits

    def run(
        self,
        point: Point,
        done: Callable[[Point], bool],
        *,
        may_stall: bool = True,
        most_steps: int = _MOST_STEPS,
    ) -> Point:
        """Descend from point until done, out of budget, at rounding or stalled.

        It stalls with two tiny steps in a row, a few short ones, or too many.
        """
        last = self.iterations + most_steps if may_stall else self.max_iter
        tiny = idle = 0
        short: deque[bool] = deque(maxlen=_WINDOW)
        while not done(point) and self.iterations < last and not self.is_exhausted:
            following, length = self._step(point)
            if following is None:
                break
            idle = idle + 1 if following.value >= point.value - rounding(point) else 0
            tiny = tiny + 1 if length < _TINY_STEP else 0
            short.append(length < _SHORT_STEP)
            point = following
            self.report(point)
            stalled = tiny >= 2 or sum(short) >= _MOST_SHORT
            if (stalled and may_stall) or idle >= _IDLE_STEPS:
                break
        return point

    def _step(self, point: Point) -> tuple[Point | None, float]:
        """Return the next point and the length of the step; (None, 0) when none descends."""
        step, inner = point.newton_step()
        following, length, tries = _line_search(point, step)
        self.iterations += 1
        self.inner += inner
        self.visits += tries * point.problem.candidates.nnz + inner * float(point.active.sum())
        return following, length

    def follow(self, interior: Interior, done: Callable[[DualPoint], bool]) -> DualPoint:
        """Follow the interior point method until done, out of budget or at rounding.

        Returns the best point that was met.
        """
        best = interior.sharp()
        idle = 0
        while not (done(best) or self.is_exhausted) and idle < _IDLE_STEPS and interior.gap > 0.0:
            before, settled = interior.gap, interior.gap <= rounding(best)
            inner = interior.step(_FINE_ACCURACY if settled else _ACCURACY)
            self.inner += inner
            self.visits += (_INTERIOR_PASSES + inner) * best.problem.candidates.nnz
            self.iterations += 1
            point = interior.sharp()
            self.report(point)
            improved = point.relative_gap < best.relative_gap
            # Nodes with tiny weights come last: they need a gap far below what others notice.
            falling = interior.gap < (0.5 if settled else 0.99) * before
            idle = 0 if improved or falling else idle + 1
            if improved or not settled:
                best = point
        return best


def rounding(point: DualPoint) -> float:
    """Return how far two values of the dual may differ by rounding alone."""
    return 1e-13 * max(1.0, abs(point.value))


def _line_search(point: Point, step: Floats) -> tuple[Point | None, float, int]:
    """Return the next point, the length of the step, and how many lengths were tried.

    By Armijo's rule with an allowance for rounding; (None, 0) when no step descends.
    """
    slope = float(np.sum(point.gradient * step))  # not BLAS: its sums depend on the threads
    allowance = rounding(point)
    length, tries = 1.0, 0
    while length > 1e-9:
        trial = point.moved(step, length)
        tries += 1
        if trial.value <= point.value + 1e-4 * length * slope + allowance:
            return trial, length, tries
        length *= 0.5
    return None, 0.0, tries
