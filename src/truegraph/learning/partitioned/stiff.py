"""Stiff problems, on which sweeps of blocks are of no use: solved whole, where they fit."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.partitioned.blocks import joined_blocks
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.sweeps import State
from truegraph.learning.settings import Settings
from truegraph.learning.solve.density import match_degree
from truegraph.learning.solve.solver import solve
from truegraph.progress import Progress


def solve_in_one(
    plan: Plan, k: int, settings: Settings, state: State, progress: Progress
) -> tuple[float, NDArray[np.float64], int]:
    """Solve the whole problem in this process; return theta, multipliers (n, 2) and steps."""
    candidates = joined_blocks(plan, k)

    def on_step(iteration: int, gap: float) -> None:
        progress.update(iteration, None, f"in one process, step {iteration}, gap {gap:.1e}")

    newton = partial(solve, candidates, max_iter=settings.max_iter, on_step=on_step)
    if settings.theta is not None:
        solution = newton(theta=settings.theta, tol=settings.tol)
    else:
        solution = match_degree(
            candidates, settings.degree, newton, settings.tol, first_theta=state.theta
        )
    return solution.theta, solution.point.pairs, solution.iterations
