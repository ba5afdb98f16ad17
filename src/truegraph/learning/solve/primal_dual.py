"""The paper's own solver: forward-backward-forward primal-dual splitting.

Kalofolias (2016), on the candidate pairs of the one-parameter form of
`truegraph.learning.solve.solver`.
It is kept for fidelity and comparison. Its usual stopping rule says little about how far the
graph is from the optimum; here it stops on the duality gap, which is reported either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve import kernels
from truegraph.learning.solve.solver import Solution, feasible, primal_value
from truegraph.runtime.compiled import compiled

_STEP = 0.5  # of the largest stable step, as in the toolboxes
_CHECK_EVERY = 20
_compiled = compiled(parallel=True)


@_compiled
def _iterate(
    indptr: Any, indices: Any, distance: Any, theta: float, step: float, w: Any, v: Any, p: Any
) -> None:
    """One iteration on the weights w (entries, both directions) and node duals v (N,), in place.

    Brackets around the sums of two nodes keep both directions of a pair equal to the bit.
    """
    nodes = v.size
    dual_forward = np.empty(nodes)
    dual_step = np.empty(nodes)
    for i in prange(nodes):
        degree = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            degree += w[e]
        y = v[i] + step * degree
        dual_forward[i] = y
        dual_step[i] = 0.5 * (y - math.sqrt(y * y + 4.0 * step))
    for i in prange(nodes):
        for e in range(indptr[i], indptr[i + 1]):
            y = w[e] - step * (2.0 * w[e] + (v[i] + v[indices[e]]))
            p[e] = max(0.0, y - 2.0 * step * theta * distance[e])
    for i in prange(nodes):
        degree = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            y = w[e] - step * (2.0 * w[e] + (v[i] + v[indices[e]]))
            q = p[e] - step * (2.0 * p[e] + (dual_step[i] + dual_step[indices[e]]))
            degree += p[e]
            w[e] += q - y
        dual_forward[i] = dual_step[i] + step * degree - dual_forward[i]
    for i in prange(nodes):
        v[i] += dual_forward[i]


def solve(
    candidates: csr_array,
    theta: float = 1.0,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    on_step: Callable[[int, float], None] | None = None,
) -> Solution:
    """Learn the graph by the paper's iteration, from zero; the rest is as `solver.solve`."""
    indptr, indices, distance = candidates.indptr, candidates.indices, candidates.data
    step = _STEP / (2.0 + _incidence_norm(candidates))
    w, p = np.zeros(distance.size), np.empty(distance.size)
    v = np.zeros(candidates.shape[0])
    iterations = 0
    solution = _certified(candidates, theta, w, v, tol, iterations)
    while iterations < max_iter and not solution.converged:
        for _ in range(min(_CHECK_EVERY, max_iter - iterations)):
            _iterate(indptr, indices, distance, theta, step, w, v, p)
            iterations += 1
        solution = _certified(candidates, theta, w, v, tol, iterations)
        if on_step is not None:
            on_step(iterations, solution.primal - solution.dual)
    return solution


def _incidence_norm(candidates: csr_array) -> float:
    """Norm of the node-by-pair incidence S: S S' is the candidate graph plus its degrees."""
    pattern = csr_array(
        (np.ones(candidates.nnz), candidates.indices, candidates.indptr), shape=candidates.shape
    )
    counts = np.diff(candidates.indptr).astype(np.float64)
    vector = np.sqrt(counts)
    for _ in range(100):
        vector /= math.sqrt(np.sum(vector**2))
        vector = pattern @ vector + counts * vector
    # Power iteration approaches from below; stay on the safe side.
    return min(1.01 * np.sum(vector**2) ** 0.25, math.sqrt(2.0 * counts.max()))


def _certified(
    candidates: csr_array,
    theta: float,
    w: NDArray[np.float64],
    v: NDArray[np.float64],
    tol: float,
    iterations: int,
) -> Solution:
    """Turn the iterates into a feasible graph and a valid lower bound."""
    lam = np.maximum(-v, 1e-12)
    graph = feasible(candidates, np.maximum(w, 0.0))
    return Solution(
        theta=theta,
        multipliers=lam,
        primal=primal_value(candidates, theta, graph),
        dual=_dual_value(candidates, theta, lam),
        tolerance=tol,
        degree=np.count_nonzero(graph) / lam.size,
        iterations=iterations,
        point=None,
        repaired=graph,
    )


def _dual_value(candidates: csr_array, theta: float, lam: NDArray[np.float64]) -> float:
    weights = np.empty(candidates.nnz)
    pairs = np.column_stack([lam, np.zeros(lam.size)])
    kernels.weights(kernels.state_of(candidates, theta, pairs), weights)
    return float(np.sum(1.0 + np.log(lam)) - 0.5 * np.sum(weights**2))
