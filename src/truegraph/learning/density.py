"""The sparsity parameter theta for a wanted mean degree.

A node alone, with sorted distances z_1 <= z_2 <= ... (symmetry dropped), gets exactly k edges for
theta in [u(k+1), u(k)), where u(k) = 1 / sqrt(z_k sum_{j<k} (z_k - z_j)). The geometric mean over
the nodes of these bounds is a good first guess; solving and following the secant of the reached
degree in log theta then meets the wanted degree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange
from scipy.sparse import csr_array

from truegraph.learning.solver import Solution

_compiled = njit(parallel=True, cache=True, nogil=True)
_MAX_SOLVES = 40
_CLOSE = 5e-3  # relative error of the degree that ends the search
_ROUGH_TOLERANCE = 1e-4


@_compiled
def _log_bounds(indptr: Any, distance: Any, k: int, out: Any) -> None:
    """Fill out (N,) with log u(k) of each node; inf for ties, nan for too few candidates."""
    for i in prange(indptr.size - 1):
        row = np.sort(distance[indptr[i] : indptr[i + 1]])
        if row.size < k:
            out[i] = np.nan
            continue
        total = 0.0
        for j in range(k - 1):
            total += row[k - 1] - row[j]
        bracket = row[k - 1] * total
        out[i] = -0.5 * math.log(bracket) if bracket > 0.0 else np.inf


def _mean_log_bound(candidates: csr_array, k: int) -> float:
    out = np.empty(candidates.shape[0])
    _log_bounds(candidates.indptr, candidates.data, k, out)
    finite = out[np.isfinite(out)]
    return float(finite.mean()) if finite.size else math.nan


def closed_form_theta(candidates: csr_array, degree: float) -> float:
    """Return the theta at which the nodes alone would have about `degree` edges each.

    Nodes whose nearest distances are all equal have no finite bound and are left out.
    """
    below = max(1, math.floor(degree))
    bounds = [_mean_log_bound(candidates, k) for k in (below, below + 1, below + 2)]
    centres = [0.5 * (upper + lower) for upper, lower in itertools.pairwise(bounds)]
    known = [value for value in (*centres, *bounds[::-1]) if math.isfinite(value)]
    if not known:  # every distance is equal: the scale is all there is to know
        typical = float(np.median(candidates.data))
        return 1.0 / (degree * typical) if typical > 0.0 else 1.0
    if not (math.isfinite(centres[0]) and math.isfinite(centres[1])):
        return math.exp(known[0])
    share = degree - below
    return math.exp((1.0 - share) * centres[0] + share * centres[1])


def mean_degree(solution: Solution) -> float:
    """Average number of edges per node of the learned graph."""
    return float(np.count_nonzero(solution.weights)) / solution.multipliers.size


def match_degree(
    candidates: csr_array,
    degree: float | None,
    solve: Callable[..., Solution],
    tol: float,
    start: Solution | None = None,
) -> Solution:
    """Solve for the theta at which the graph has the wanted mean degree.

    Parameters
    ----------
    solve : callable
        solve(theta, tol=..., start=...) solves for one theta, starting from another solution.
    start : Solution, optional
        Where to begin, from a neighbouring problem.
    """
    assert degree is not None
    theta = closed_form_theta(candidates, degree) if start is None else start.theta
    search = _DegreeSearch(candidates, degree)
    accuracy = max(tol, _ROUGH_TOLERANCE)
    best, least = start, math.inf
    for _ in range(_MAX_SOLVES):
        start = solve(theta, tol=accuracy, start=start)
        error = search.record(theta, mean_degree(start))
        close = error <= _CLOSE or search.exhausted
        if close and accuracy > tol:
            # The rough solve was close: from here on every solve is accurate.
            accuracy = tol
            search.forget()
            continue
        if accuracy == tol and error < least:
            best, least = start, error
        if close:
            break
        theta = search.following()
    return best if best is not None else solve(theta, tol=tol, start=start)


class _DegreeSearch:
    """Secant in (log theta, log degree), kept inside a bracket."""

    def __init__(self, candidates: csr_array, degree: float) -> None:
        self._candidates = candidates
        self._wanted = degree
        self.forget()

    def forget(self) -> None:
        """Start again, as the solves become more accurate."""
        self._low, self._high = -math.inf, math.inf  # log theta: too dense, too sparse
        self._points: list[tuple[float, float]] = []

    def record(self, theta: float, degree: float) -> float:
        """Take note of a solve; return its relative error (0 when no better exists)."""
        at, error = math.log(theta), math.log(degree / self._wanted)
        self._points.append((at, error))
        if error > 0.0:
            self._low = max(self._low, at)
        else:
            self._high = min(self._high, at)
        return abs(degree / self._wanted - 1.0)

    @property
    def exhausted(self) -> bool:
        """Whether ties leave no theta between too dense and too sparse."""
        return self._high - self._low < 1e-9

    def following(self) -> float:
        """Return the next theta to try."""
        at, error = self._points[-1]
        guess = self._secant(at, error)
        if math.isfinite(self._low) and math.isfinite(self._high):
            margin = 0.01 * (self._high - self._low)
            if not self._low + margin < guess < self._high - margin:
                guess = 0.5 * (self._low + self._high)
        elif math.isfinite(self._low):
            guess = min(max(guess, self._low + 1e-6), self._low + 2.0)
        else:
            guess = max(min(guess, self._high - 1e-6), self._high - 2.0)
        return math.exp(guess)

    def _secant(self, at: float, error: float) -> float:
        if len(self._points) == 1:
            # No slope yet: the closed form knows how theta goes with the degree.
            reached = self._wanted * math.exp(error)
            if reached >= 1.0:
                ratio = closed_form_theta(self._candidates, self._wanted) / closed_form_theta(
                    self._candidates, reached
                )
                if ratio > 0.0 and (ratio - 1.0) * error > 0.0:
                    return at + math.log(ratio)
            return at + error
        before, error_before = self._points[-2]
        if error == error_before:
            return at + math.copysign(0.1, error)
        return at - error * (at - before) / (error - error_before)
