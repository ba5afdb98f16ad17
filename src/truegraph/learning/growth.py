"""Points that join a learned graph, without learning it again from scratch.

Only the new points are searched for neighbours. The solver begins at the old multipliers, with
each new node's own optimum beside them, and keeps theta: a few steps near the new points remain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.candidates import choose_engine
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.solver import Solution
from truegraph.progress import Progress


def grown_candidates(
    graph: LearnedGraph,
    distance: Distance,
    ratio: float,
    engine: str,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[csr_array, float]:
    """Return the old candidate pairs and those of the new nodes with all, and the recall.

    Parameters
    ----------
    graph : LearnedGraph
        Of the first nodes of the distance; the others are new.
    distance : Distance
    ratio : float
        Candidate neighbours of a new node per edge of an old one.
    engine : str
        As in `GraphLearner.candidates`.
    """
    n_nodes, n_old = distance.n_nodes, graph.n_nodes
    new = np.arange(n_old, n_nodes)
    k = min(math.ceil(ratio * graph.certificate.degree) + 1, n_nodes)
    engine, queries = choose_engine(engine, n_nodes), distance.queries[new]
    found, recall = all_neighbours(
        queries, distance.base, k, engine=engine, random_state=rng, progress=progress
    )
    rows = np.repeat(new, k)
    columns = found.ravel().astype(np.int64)
    real = (columns >= 0) & (columns != rows)
    low = np.minimum(rows[real], columns[real])
    high = np.maximum(rows[real], columns[real])
    low, high = np.divmod(np.unique(low * n_nodes + high), n_nodes)
    return _extended(graph.candidates, low, high, distance.pair_values(low, high)), recall


def _extended(
    candidates: csr_array,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> csr_array:
    """Return candidates with more nodes and pairs; stored zeros stay."""
    n_nodes = int(high.max()) + 1
    rows = np.repeat(np.arange(candidates.shape[0]), np.diff(candidates.indptr))
    at = np.concatenate([rows, low, high])
    to = np.concatenate([candidates.indices, high, low]).astype(np.int32)
    order = np.lexsort((to, at))
    indptr = np.zeros(n_nodes + 1, dtype=candidates.indptr.dtype)
    np.cumsum(np.bincount(at, minlength=n_nodes), out=indptr[1:])
    values = np.concatenate([candidates.data, distances, distances])[order]
    return csr_array((values, to[order], indptr), shape=(n_nodes, n_nodes))


def warm_start(graph: LearnedGraph, candidates: csr_array, tol: float) -> Solution:
    """Return a state of the solver: old multipliers, and each new node's own optimum."""
    theta = graph.certificate.theta
    pairs = np.zeros((candidates.shape[0], 2))
    kernels.isolated_start(candidates.indptr, candidates.data, theta, pairs)
    pairs[: graph.n_nodes, 0] = graph.multipliers
    pairs[: graph.n_nodes, 1] = 0.0
    point = DualPoint(Problem(candidates), theta, pairs)
    return Solution(
        theta=theta,
        multipliers=point.lam,
        primal=point.dual + point.gap,
        dual=point.dual,
        degree=float(point.active.sum()) / point.lam.size,
        tolerance=tol,
        iterations=0,
        point=point,
    )
