"""The dual of some of the nodes, with the multipliers of all other nodes fixed.

Its pairs are of two kinds: between own nodes, stored in both directions, and from an own node to
the halo, stored once. Newton's method is that of the whole problem (`truegraph.learning.solve`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.kernels import slack_of
from truegraph.runtime.compiled import compiled

Floats = NDArray[np.float64]


class BlockPoint(DualPoint):
    """Minus the dual as a function of the own nodes' multipliers."""

    def __init__(self, problem: Problem, theta: float, pairs: Floats) -> None:
        self.problem, self.theta = problem, theta
        self.pairs, self.lam = pairs, pairs[: problem.candidates.shape[0], 0].copy()
        self._evaluate()

    def _fill(self, *out: NDArray[Any]) -> None:
        self.outside, self.pull = np.empty(self.lam.size), np.empty(self.lam.size)
        self.cut = np.empty(self.lam.size, dtype=np.int64)
        _evaluate_block(self._state, self.outside, self.pull, self.cut, *out)

    @property
    def own_pairs(self) -> Floats:
        """Multipliers of the own nodes (own nodes, 2)."""
        return self.pairs[: self.lam.size]

    @property
    def shared_value(self) -> float:
        """Minus the own nodes' part of the dual; pairs to the halo count half at either end."""
        return self.value - 0.5 * float(self.outside.sum())


def block_candidates(
    nodes: NDArray[Any], lengths: NDArray[Any], columns: NDArray[Any], distances: Floats
) -> tuple[csr_array, NDArray[Any]]:
    """Return the candidates (own nodes, own nodes + halo) of some nodes, and the halo."""
    local, halo = _numbered(nodes, columns)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shape = (len(nodes), len(nodes) + len(halo))
    return csr_array((distances, local, indptr), shape=shape), halo


def _numbered(
    nodes: NDArray[Any], columns: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the columns as places among the nodes and, after these, the halo; and the halo."""
    limit = 1 + max(int(nodes.max(initial=0)), int(columns.max(initial=0)))
    if limit > columns.size:  # a table of all numbers would be larger than the columns
        inside = np.isin(columns, nodes)
        halo = np.unique(columns[~inside]).astype(np.int64)
        beyond = len(nodes) + np.searchsorted(halo, columns)
        return np.where(inside, np.searchsorted(nodes, columns), beyond).astype(np.int32), halo
    is_halo = np.zeros(limit, dtype=np.bool_)
    is_halo[columns] = True
    is_halo[nodes] = False
    halo = np.flatnonzero(is_halo)
    places = np.empty(limit, dtype=np.int32)
    places[nodes] = np.arange(len(nodes))
    places[halo] = len(nodes) + np.arange(len(halo))
    return places[columns], halo


@compiled(parallel=True)
def _evaluate_block(
    state: Any,
    outside: Any,
    pull: Any,
    cut: Any,
    degree: Any,
    potential: Any,
    diagonal: Any,
    active: Any,
    columns: Any,
    values: Any,
) -> None:
    """As `kernels.evaluate`, for own nodes whose pairs to the halo count whole."""
    indptr, indices, distance, theta, lam = state
    own = degree.size
    for i in prange(own):
        total = 0.0
        inner = 0.0
        outer = 0.0
        far = 0.0
        crossing = 0
        at = indptr[i]
        half = 0.5 * lam[i, 0]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            slack = slack_of(lam, i, j, theta * distance[e])
            if slack > 0.0:
                total += slack
                far += theta * distance[e]
                if j < own:
                    inner += slack * slack
                    columns[at] = j
                    values[at] = half * lam[j, 0]
                    at += 1
                else:
                    outer += slack * slack
                    crossing += 1
        degree[i] = total
        potential[i] = 0.5 * inner + outer
        outside[i] = outer
        pull[i] = far
        active[i] = at - indptr[i]
        cut[i] = crossing
        diagonal[i] = max(lam[i, 0] * total, 1.0) + half * lam[i, 0] * (active[i] + crossing)
