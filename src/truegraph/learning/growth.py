"""Points that join a learned graph, without learning it again from scratch.

Only the new points are searched for neighbours. The solver begins at the old multipliers, with
each new node's own optimum beside them, and keeps theta: a few steps near the new points remain.
How far that is from searching again is measured: the share of true neighbours of old and new nodes
that are candidates.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.candidates import choose_engine
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import RECALL_SAMPLE, all_neighbours
from truegraph.learning.search.sketch import true_neighbours
from truegraph.learning.solve import kernels
from truegraph.learning.solve.dual import DualPoint, Problem
from truegraph.learning.solve.solver import Solution
from truegraph.progress import Progress


def grown_candidates(
    graph: LearnedGraph,
    distance: Distance,
    ratio: float,
    engine: str,
    is_scaled: bool,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[csr_array, float]:
    """Return the old candidate pairs and those of the new nodes with all, and the recall."""
    n_nodes, n_old = distance.n_nodes, graph.n_nodes
    new = np.arange(n_old, n_nodes)
    k = min(math.ceil(ratio * graph.certificate.degree) + 1, n_nodes)
    base, queries = distance.base, distance.queries[new]
    engine = choose_engine(engine, n_nodes, distance)
    found, _ = all_neighbours(queries, base, k, engine=engine, random_state=rng, progress=progress)
    rows = np.repeat(new, k)
    columns = found.ravel().astype(np.int64)
    real = (columns >= 0) & (columns != rows)
    low = np.minimum(rows[real], columns[real])
    high = np.maximum(rows[real], columns[real])
    low, high = np.divmod(np.unique(low * n_nodes + high), n_nodes)
    old = _plain(graph.candidates, distance) if is_scaled else graph.candidates
    grown = _extended(old, low, high, distance._between(low, high))
    return grown, _recall(grown, distance, k - 1, rng, engine)


def _plain(candidates: csr_array, distance: Distance) -> csr_array:
    """Return candidates with the values of the distance in place of scaled ones."""
    pairs = candidates.tocoo()
    values = distance._between(np.minimum(*pairs.coords), np.maximum(*pairs.coords))
    return csr_array((values, candidates.indices, candidates.indptr), shape=candidates.shape)


def _recall(
    candidates: csr_array, distance: Distance, k: int, rng: np.random.Generator, engine: str
) -> float:
    """Return the share of the k nearest of a sample of nodes that are their candidates."""
    n_nodes = distance.n_nodes
    sample = np.sort(rng.choice(n_nodes, size=min(n_nodes, RECALL_SAMPLE), replace=False))
    queries, base = distance.queries[sample], distance.base
    if engine == "sketch":  # without a copy of all points as float64
        nearest = true_neighbours(queries, base, np.full(sample.size, -1), k + 1)
    else:
        nearest, _ = all_neighbours(queries, base, k + 1)
    rows = [candidates.indices[slice(*candidates.indptr[i : i + 2])] for i in sample]
    others = [found[found != i] for i, found in zip(sample, nearest, strict=True)]
    shares = [np.isin(truth, row).mean() for truth, row in zip(others, rows, strict=True)]
    return float(np.mean(shares))


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
