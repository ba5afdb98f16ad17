"""The sparsity parameter theta for a wanted mean degree.

A node alone, as if all neighbours had its own multiplier, solves a problem of its own in closed
form. The edges that these multipliers would give can be counted in one pass over the pairs, and
the theta that gives the wanted number is a good first guess; solving and following the secant of
the reached degree in log theta then meets the wanted degree.

Pairs at distance zero are edges for every theta. Where there are more of them than edges wanted,
hardly any other edges are, and theta need only be so large: beyond, problems become stiff and
nothing else changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange
from scipy.sparse import csr_array

from truegraph.learning.solve.kernels import isolated_start, slack_of, state_of
from truegraph.learning.solve.solver import Solution
from truegraph.runtime.compiled import compiled

_compiled = compiled(parallel=True)
_MAX_SOLVES = 40
CLOSE = 9e-3  # relative error of the degree that ends the search
_ROUGH_TOLERANCE = 1e-2
_GUESS_ACCURACY = 5e-3  # relative, of the degree that the first guess would have
_MAX_COUNTS = 60
_FARTHEST = 20.0  # in log theta, from the scale of the distances
_FAR_OFF = 1.3  # times the wanted degree, or a part of it: not near enough to begin there
_FIRST_SLOPE = 1.2  # of log theta over log degree: the degree falls a little slower than theta
_ABOVE_TIES = 5e-3  # relative: the degree to look for where ties alone give more than is wanted


@_compiled
def _count_edges(state: Any, out: Any) -> None:
    """Fill out (N,) with the number of each node's pairs that lam gives weight to."""
    indptr, indices, distance, theta, lam = state
    for i in prange(lam.shape[0]):
        count = 0
        for e in range(indptr[i], indptr[i + 1]):
            count += slack_of(lam, i, indices[e], theta * distance[e]) > 0.0
        out[i] = count


_LARGEST_LOG = 700.0  # of theta or 1 / theta; exponentials must neither overflow nor be zero
_LEAST_DEGREE = 1e-3  # a solve that has not converged may be without edges


class NodesAlone:
    """Degree and theta, were every node's multiplier that of its own problem."""

    def __init__(self, candidates: csr_array) -> None:
        self._candidates = candidates
        self._multipliers = np.empty((candidates.shape[0], 2))
        self._counts = np.empty(candidates.shape[0], dtype=np.int64)
        self._typical = float(np.median(candidates.data[:100_000]))

    def degree(self, theta: float) -> float:
        """Return the mean degree, not quite zero where rounding leaves no edge."""
        c = self._candidates
        isolated_start(c.indptr, c.data, theta, self._multipliers)
        _count_edges(state_of(c, theta, self._multipliers), self._counts)
        return max(1.0, float(self._counts.sum())) / self._counts.size

    def theta(self, degree: float) -> float:
        """Return a theta for that degree, or the scale of the distances if ties forbid one."""
        first = -math.log(degree * self._typical) if self._typical > 0.0 else 0.0
        first = at = max(-_LARGEST_LOG, min(first, _LARGEST_LOG))
        low, high = -math.inf, math.inf  # log theta: too dense, too sparse
        for _ in range(_MAX_COUNTS):  # a pass over the pairs each; a plateau may take too many
            if abs(at - first) > _FARTHEST or at > _LARGEST_LOG:
                break
            error = math.log(self.degree(math.exp(at)) / degree)
            if abs(error) <= _GUESS_ACCURACY:
                return math.exp(at)
            low, high = (max(low, at), high) if error > 0.0 else (low, min(high, at))
            if high - low < 1e-6:
                return math.exp(at)
            known = math.isfinite(low) and math.isfinite(high)
            following = at + _FIRST_SLOPE * error
            at = following if not known or low < following < high else 0.5 * (low + high)
        return math.exp(first)


def match_degree(
    candidates: csr_array,
    degree: float | None,
    solve: Callable[..., Solution],
    tol: float,
    start: Solution | None = None,
    first_theta: float | None = None,
) -> Solution:
    """Solve for the theta at which the graph has the wanted mean degree."""
    assert degree is not None
    degree = max(degree, (1.0 + _ABOVE_TIES) * _tied_degree(candidates))
    theta = start.theta if start is not None else _first_theta(candidates, degree, first_theta)
    search = _DegreeSearch(degree)
    accuracy = max(tol, _ROUGH_TOLERANCE)
    best: Solution | None = None
    least = math.inf
    for _ in range(_MAX_SOLVES):
        start = solve(theta, tol=accuracy, start=start, rough=accuracy > tol)
        error = search.record(theta, start.degree)
        # Without convergence in one solve, others will not do better.
        close = error <= CLOSE or search.exhausted or start.exhausted
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


def _tied_degree(candidates: csr_array) -> float:
    """Return the mean number of pairs at distance zero per node."""
    return float(np.count_nonzero(candidates.data == 0.0)) / candidates.shape[0]


def _first_theta(candidates: csr_array, degree: float, given: float | None) -> float:
    """Return the given theta if it gives about that degree, a guess otherwise."""
    alone = NodesAlone(candidates)
    if given is not None and 1.0 / _FAR_OFF < alone.degree(given) / degree < _FAR_OFF:
        return given
    return alone.theta(degree)


class _DegreeSearch:
    """Secant in (log theta, log degree), kept inside a bracket."""

    def __init__(self, degree: float) -> None:
        self._wanted = degree
        self._is_out_of_reach = False
        self.forget()

    def forget(self) -> None:
        """Start again, as the solves become more accurate."""
        self._low, self._high = -math.inf, math.inf  # log theta: too dense, too sparse
        self._points: list[tuple[float, float]] = []

    def record(self, theta: float, degree: float) -> float:
        """Take note of a solve; return its relative error (0 when no better exists)."""
        at, error = math.log(theta), math.log(max(degree, _LEAST_DEGREE) / self._wanted)
        self._points.append((at, error))
        if error > 0.0:
            self._low = max(self._low, at)
        else:
            self._high = min(self._high, at)
        self._is_out_of_reach |= self._leads_nowhere()
        return abs(degree / self._wanted - 1.0)

    @property
    def exhausted(self) -> bool:
        """Whether ties leave no theta between too dense and too sparse, or none at all."""
        return self._is_out_of_reach or self._high - self._low < 1e-9

    def _leads_nowhere(self) -> bool:
        """Whether the degree stays as it is, however much theta changes: pairs at distance zero."""
        recent = self._points[-3:]
        steps, errors = zip(*recent, strict=True)
        is_open = math.isinf(self._high - self._low)
        far = max(steps) - min(steps) >= 2.0
        return is_open and len(recent) == 3 and far and max(errors) - min(errors) <= CLOSE

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
        return math.exp(max(-_LARGEST_LOG, min(guess, _LARGEST_LOG)))

    def _secant(self, at: float, error: float) -> float:
        if len(self._points) == 1:
            return at + _FIRST_SLOPE * error
        before, error_before = self._points[-2]
        if error == error_before:
            return at + math.copysign(0.1, error)
        return at - error * (at - before) / (error - error_before)
