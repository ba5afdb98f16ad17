"""One Gibbs chain: its state, and what is kept of its sweeps.

Every chain has its own random numbers, so that its draws do not depend on the other chains or on
the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.posterior.gibbs import draw_truncated, sweep
from truegraph.learning.search.pair_list import PairList
from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]

_PAIRS_AT_ONCE = 1_000_000  # between two looks at the interrupt, about 0.1 s
_FOLLOWED_AT_RANDOM = 400
_FOLLOWED_WORST = 100
_compiled = compiled


@dataclass(frozen=True, eq=False)
class Target:
    """The distribution to draw from, its pairs in random order."""

    pairs: PairList
    rank: NDArray[np.int64]  # place of each pair in the random order
    first: NDArray[np.int32]  # from here on, in the random order
    second: NDArray[np.int32]
    t: Floats  # theta z
    location: Floats  # the mean-field x
    centre: Floats  # typical weights: sums are taken of what differs from them
    degree: Floats  # typical, of the nodes
    followed: NDArray[np.int64]  # pairs whose every value is kept
    concentration: float
    scale: float  # of the weights on their way out

    @classmethod
    def of(
        cls,
        pairs: PairList,
        theta: float,
        location: Floats,
        degree: Floats,
        concentration: float,
        scale: float,
    ) -> Target:
        """Shuffle the pairs, always in the same way."""
        order = np.random.default_rng(0).permutation(len(pairs))
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        first, second = pairs.first[order], pairs.second[order]
        stiffness = 1.0 / degree[first] ** 2 + 1.0 / degree[second] ** 2
        worst = np.argsort(-stiffness, kind="stable")[:_FOLLOWED_WORST]
        return cls(
            pairs=pairs,
            rank=rank,
            first=first,
            second=second,
            t=theta * pairs.matrix.data[pairs.entry][order],
            location=location[order],
            centre=np.maximum(0.0, location[order]),
            degree=degree,
            followed=np.union1d(np.arange(min(_FOLLOWED_AT_RANDOM, order.size)), worst),
            concentration=concentration,
            scale=scale,
        )

    @property
    def drawn(self) -> tuple[Any, ...]:
        """What a sweep takes: the pairs in the random order, and the concentration."""
        return self.first, self.second, self.t, self.concentration

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (n_pairs,) of the random order in the order of the pair list."""
        return values[self.rank]


@_compiled
def _start(location: Any, concentration: float, rng: Any, w: Any) -> None:
    """Fill w with independent draws of the mean field."""
    spread = math.sqrt(0.5 / concentration)
    for e in range(w.size):
        w[e] = spread * draw_truncated(location[e] / spread, rng)


@_compiled
def _run(drawn: Any, w: Any, degree: Any, rng: Any, kept: Any) -> int:
    """Do as many sweeps as the trace has rows; return how many weights could not be drawn.

    Fills trace (sweeps, followed + 1), the last column with the total weight. Adds the weights and
    degrees and their squares, as seen from the two centres, to the two sums.
    """
    followed, trace, centres, sums = kept
    stuck = 0
    for s in range(trace.shape[0]):
        stuck += sweep(drawn, w, degree, rng)
        for k in range(followed.size):
            trace[s, k] = w[followed[k]]
        trace[s, followed.size] = 0.5 * degree.sum()
        _add(w, centres[0], sums[0])
        _add(degree, centres[1], sums[1])
    return stuck


@_compiled
def _add(values: Any, centre: Any, sums: Any) -> None:
    for k in range(values.size):
        value = values[k] - centre[k]
        sums[0, k] += value
        sums[1, k] += value * value


class Chain:
    """One chain: its weights in the random order, and sums over its sweeps since the burn-in."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self._target, self._rng = target, rng
        self.weights = np.empty(len(target.pairs))
        _start(target.location, target.concentration, rng, self.weights)
        self._degree = np.empty_like(target.degree)
        self.stuck = 0
        self.forget()

    def forget(self) -> None:
        """Begin the records anew."""
        self.sums = (np.zeros((2, self.weights.size)), np.zeros((2, self._degree.size)))
        self._traces = [np.empty((0, self._target.followed.size + 1))]

    @property
    def trace(self) -> Floats:
        """Followed weights and the total weight after each sweep (sweeps, followed + 1)."""
        return np.concatenate(self._traces)

    def advance(self, sweeps: int, stop: Event) -> None:
        """Do some sweeps, fewer if told to stop."""
        target = self._target
        at_once = max(1, _PAIRS_AT_ONCE // self.weights.size)
        while sweeps > 0 and not stop.is_set():
            trace = np.empty((min(sweeps, at_once), target.followed.size + 1))
            kept = (target.followed, trace, (target.centre, target.degree), self.sums)
            self.stuck += _run(target.drawn, self.weights, self._degree, self._rng, kept)
            self._traces.append(trace)
            sweeps -= len(trace)
