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
_ALONE = 0.25  # weight of other neighbours below which a node has none
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

    def real(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability that edges with evidence (E, k) are real: (E,)."""
        logs = (found - self.shift) * self.scale @ self.coefficients + self.intercept
        return np.clip(1.0 - self.false_share * np.exp(-np.clip(logs, -50.0, 50.0)), 0.0, 1.0)

    def cleaned(self, graph: csr_array, coordinates: Matrix) -> csr_array:
        """Return a graph (N', N') whose edges count by the probability that they are real."""
        edges = coo_array(triu(without_diagonal(graph), 1))
        real = self.real(evidence(links_of(graph), coordinates, (edges.row, edges.col), True))
        kept = real > 0.0
        parts = (edges.data * real)[kept], (edges.row[kept], edges.col[kept])
        upper = csr_array(parts, shape=graph.shape)
        return csr_array(upper + upper.T)


def links_of(graph: csr_array) -> csr_array:
    """Return a graph without its diagonal, every edge counting one."""
    links = without_diagonal(graph)
    links.data[:] = 1.0
    return links


def judge_edges(graph: csr_array, coordinates: Matrix) -> EdgeJudge | None:
    """Learn what tells edges of a graph (N, N) from random pairs; None if there are too few."""
    if coordinates.shape[1] == 0:
        return None
    found = edges_and_pairs(graph)
    if found is None:
        return None
    links, (edges, pairs) = links_of(graph), found
    return fit_judge(
        evidence(links, coordinates, edges, are_edges=True),
        evidence(links, coordinates, pairs, are_edges=False),
    )


def edges_and_pairs(graph: csr_array) -> tuple[Pairs, Pairs] | None:
    """Draw edges of a graph, all if there are not very many, and as many random pairs.

    None if there are too few edges to learn from.
    """
    edges = coo_array(triu(without_diagonal(graph), 1))
    if edges.nnz < _LEAST_EDGES:
        return None
    generator = np.random.default_rng(0)
    some = np.arange(edges.nnz)
    if edges.nnz > _MOST_PAIRS:
        some = np.sort(generator.choice(edges.nnz, _MOST_PAIRS, replace=False))
    drawn = generator.integers(0, graph.shape[0], (2, len(some)))
    drawn = drawn[:, drawn[0] != drawn[1]]
    return (edges.row[some], edges.col[some]), (drawn[0], drawn[1])


def fit_judge(observed: NDArray[np.float64], random: NDArray[np.float64]) -> EdgeJudge:
    """Learn what tells edges with evidence (E, k) from random pairs with evidence (P, k)."""
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
    links: csr_array, coordinates: Matrix, pairs: Pairs, are_edges: bool
) -> NDArray[np.float64]:
    """Return what speaks for an edge between two nodes, without looking at that edge: (P, 5).

    How alike are the features of the two, of each and the other's other neighbours, and of the
    other neighbours of both; how many neighbours they share, those of few others counting more
    (Adamic and Adar); and how many of the two have no other neighbour. Neighbours count by the
    weights of `links`, at most one each.
    """
    degree = np.asarray(links.sum(axis=1), dtype=np.float64).ravel()
    rarity = 1.0 / np.log(np.maximum(degree, 2.0))
    shared = csr_array(links @ diags_array(np.sqrt(rarity)))
    own = unit_rows(coordinates)
    around = np.asarray(links.astype(np.float32) @ own)
    found = np.empty((len(pairs[0]), 5))
    for start in range(0, len(found), _AT_ONCE):
        one, two = (ends[start : start + _AT_ONCE] for ends in pairs)
        first, second = own[one], own[two]
        less = np.asarray(links[one, two]).ravel() if are_edges else np.zeros(len(one))
        step = less.astype(np.float32)[:, None]
        alone = [degree[ends] - less < _ALONE for ends in (one, two)]
        near_one = unit_rows((around[one] - step * second) * ~alone[0][:, None])
        near_two = unit_rows((around[two] - step * first) * ~alone[1][:, None])
        common = np.asarray(shared[one].multiply(shared[two]).sum(axis=1)).ravel()
        found[start : start + _AT_ONCE] = np.column_stack(
            [
                _products(first, second),
                _products(first, near_two) + _products(second, near_one),
                _products(near_one, near_two),
                np.log1p(3.0 * common),
                alone[0] * 1.0 + alone[1],
            ]
        )
    return found


def _products(first: Matrix, second: Matrix) -> NDArray[np.float32]:
    return np.einsum("ij,ij->i", first, second)
