"""The sparsity parameter theta for a wanted mean degree.

A node alone, with sorted distances z_1 <= z_2 <= ... (symmetry dropped), gets exactly k edges for
theta in [u(k+1), u(k)), where u(k) = 1 / sqrt(z_k sum_{j<k} (z_k - z_j)). The geometric mean over
the nodes of these bounds is a good first guess; solving and following the secant of the reached
degree in log theta then meets the wanted degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange
from scipy.sparse import csr_array

from truegraph.learning.solver import Solution

_compiled = njit(parallel=True, cache=True, nogil=True)
_MAX_SOLVES = 40
_CLOSE = 9e-3  # relative error of the degree that ends the search
_ROUGH_TOLERANCE = 1e-2
_SAMPLE = 20_000  # nodes that the first guess looks at


@_compiled
def _log_bounds(indptr: Any, distance: Any, nodes: Any, most: int, out: Any) -> None:
    """Fill out (nodes, most) with log u(k), k = 1 .. most; not finite for ties or a short list."""
    for row in prange(nodes.size):
        z = np.sort(distance[indptr[nodes[row]] : indptr[nodes[row] + 1]])
        before = 0.0
        for k in range(1, most + 1):
            out[row, k - 1] = np.inf
            if k <= z.size:
                bracket = z[k - 1] * ((k - 1) * z[k - 1] - before)
                # Below this the bracket is rounding, not distance.
                if bracket > 1e-12 * k * z[k - 1] * z[k - 1]:
                    out[row, k - 1] = -0.5 * math.log(bracket)
                before += z[k - 1]


class ClosedForm:
    """Theta as a function of the degree, were every node alone.

    Nodes whose nearest distances are all equal have no finite bound and are left out.
    """

    def __init__(self, candidates: csr_array, degree: float) -> None:
        nodes = np.arange(0, candidates.shape[0], max(1, candidates.shape[0] // _SAMPLE))
        bounds = np.empty((nodes.size, 2 * math.ceil(degree) + 3))
        _log_bounds(candidates.indptr, candidates.data, nodes, bounds.shape[1], bounds)
        finite = np.isfinite(bounds)
        counts = finite.sum(axis=0)
        sums = np.where(finite, bounds, 0.0).sum(axis=0)
        known = np.flatnonzero(counts)
        # log u(k) is the border between k - 1 and k edges: it belongs to k - 1/2.
        self._degrees = known + 0.5
        self._log_theta = sums[known] / counts[known]
        self._typical = float(np.median(candidates.data[:100_000]))

    def theta(self, degree: float) -> float:
        """Return the theta at which the nodes alone would have about `degree` edges each."""
        if self._degrees.size == 0:  # all distances are equal: the scale is all there is to know
            return 1.0 / (degree * self._typical) if self._typical > 0.0 else 1.0
        return math.exp(float(np.interp(degree, self._degrees, self._log_theta)))


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
        solve(theta, tol=..., start=..., rough=...) solves for one theta, from another solution on;
        rough solves need only be good enough to count edges.
    start : Solution, optional
        Where to begin, from a neighbouring problem.
    """
    assert degree is not None
    closed_form = ClosedForm(candidates, degree)
    theta = closed_form.theta(degree) if start is None else start.theta
    search = _DegreeSearch(closed_form, degree)
    accuracy = max(tol, _ROUGH_TOLERANCE)
    best: Solution | None = None
    least = math.inf
    for _ in range(_MAX_SOLVES):
        start = solve(theta, tol=accuracy, start=start, rough=accuracy > tol)
        error = search.record(theta, start.degree)
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

    def __init__(self, closed_form: ClosedForm, degree: float) -> None:
        self._closed_form = closed_form
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
            ratio = self._closed_form.theta(self._wanted) / self._closed_form.theta(reached)
            return at + (math.log(ratio) if (ratio - 1.0) * error > 0.0 else error)
        before, error_before = self._points[-2]
        if error == error_before:
            return at + math.copysign(0.1, error)
        return at - error * (at - before) / (error - error_before)
