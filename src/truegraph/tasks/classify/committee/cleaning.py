"""The observed graph without edges that look like random pairs.

A false edge joins two nodes that nothing else brings together: their features are no more alike
than those of any two nodes, and neither are their other neighbours. A logistic regression between
observed edges and random pairs of nodes gives the ratio r of how frequent a pair like this is
among the ones and among the others. If a share f of the edges is random, r is f where no real edge
is found, so that the smallest ratio tells f, and an edge is real with probability 1 - f / r. No
label is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, triu
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from truegraph.nn.graph_operators import without_diagonal
from truegraph.tasks.classify.committee.features import Matrix, unit_rows

_LEAST_EDGES = 50
_MOST_PAIRS = 100_000  # of either kind that the regression sees
_AT_ONCE = 20_000
_UNLIKE = (0.3, 0.5, 0.7)  # quantiles of random pairs below which few real edges are expected

Pairs = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


@dataclass(frozen=True, eq=False)
class EdgeJudge:
    """How to tell real edges from random pairs.

    Attributes
    ----------
    shift, scale, coefficients : ndarray of shape (k,)
        Evidence x of a pair gives the logarithm of r as (x - shift) * scale @ coefficients +
        intercept.
    intercept : float
    false_share : float
        Share f of the observed edges that are taken for random.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercept: float
    false_share: float

    def cleaned(self, graph: csr_array, coordinates: Matrix) -> csr_array:
        """Return a graph (N', N') whose edges count by the probability that they are real."""
        edges = coo_array(triu(without_diagonal(graph), 1))
        found = evidence(graph, coordinates, (edges.row, edges.col), are_edges=True)
        logs = (found - self.shift) * self.scale @ self.coefficients + self.intercept
        real = np.clip(1.0 - self.false_share * np.exp(-np.clip(logs, -50.0, 50.0)), 0.0, 1.0)
        kept = real > 0.0
        parts = (edges.data * real)[kept], (edges.row[kept], edges.col[kept])
        upper = csr_array(parts, shape=graph.shape)
        return csr_array(upper + upper.T)


def judge_edges(graph: csr_array, coordinates: Matrix) -> EdgeJudge | None:
    """Learn what tells edges of a graph (N, N) from random pairs; None if there are too few."""
    edges = coo_array(triu(without_diagonal(graph), 1))
    if edges.nnz < _LEAST_EDGES or coordinates.shape[1] == 0:
        return None
    generator = np.random.default_rng(0)
    some = np.arange(edges.nnz)
    if edges.nnz > _MOST_PAIRS:
        some = np.sort(generator.choice(edges.nnz, _MOST_PAIRS, replace=False))
    drawn = generator.integers(0, graph.shape[0], (2, len(some)))
    drawn = drawn[:, drawn[0] != drawn[1]]
    observed = evidence(graph, coordinates, (edges.row[some], edges.col[some]), are_edges=True)
    random = evidence(graph, coordinates, (drawn[0], drawn[1]), are_edges=False)
    everything = np.vstack([observed, random])
    shift, deviation = everything.mean(axis=0), everything.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
    with threadpool_limits(1):
        model = LogisticRegression(max_iter=500).fit(
            (everything - shift) * scale, np.repeat([1, 0], [len(observed), len(random)])
        )
        coefficients = model.coef_[0]
        intercept = float(model.intercept_[0]) + np.log(len(random) / len(observed))
        of_edges, of_random = ((rows - shift) * scale @ coefficients for rows in (observed, random))
    bounds = np.quantile(of_random, _UNLIKE)
    share = min(np.mean(of_edges <= bound) / np.mean(of_random <= bound) for bound in bounds)
    return EdgeJudge(shift, scale, coefficients, float(intercept), float(min(share, 1.0)))


def evidence(
    graph: csr_array, coordinates: Matrix, pairs: Pairs, are_edges: bool
) -> NDArray[np.float64]:
    """Return what speaks for an edge between two nodes, without looking at that edge: (P, 5).

    How alike are the features of the two, of each and the other's other neighbours, and of the
    other neighbours of both; how many neighbours they share, those of few others counting more
    (Adamic and Adar); and how many of the two have no other neighbour.
    """
    links = without_diagonal(graph)
    links.data[:] = 1.0
    degree = np.diff(links.indptr).astype(np.float64)
    rarity = 1.0 / np.log(np.maximum(degree, 2.0))
    shared = csr_array(links @ diags_array(np.sqrt(rarity)))
    own = unit_rows(coordinates)
    around = np.asarray(links.astype(np.float32) @ own)
    less = float(are_edges)
    found = np.empty((len(pairs[0]), 5))
    for start in range(0, len(found), _AT_ONCE):
        one, two = (ends[start : start + _AT_ONCE] for ends in pairs)
        first, second = own[one], own[two]
        near_one = unit_rows(around[one] - np.float32(less) * second)
        near_two = unit_rows(around[two] - np.float32(less) * first)
        common = np.asarray(shared[one].multiply(shared[two]).sum(axis=1)).ravel()
        found[start : start + _AT_ONCE] = np.column_stack(
            [
                _products(first, second),
                _products(first, near_two) + _products(second, near_one),
                _products(near_one, near_two),
                np.log1p(3.0 * common),
                (degree[one] <= less) * 1.0 + (degree[two] <= less),
            ]
        )
    return found


def _products(first: Matrix, second: Matrix) -> NDArray[np.float32]:
    return np.einsum("ij,ij->i", first, second)
