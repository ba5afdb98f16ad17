"""Link scores without training: shared neighbours, short walks, PageRank.

Each takes a graph and pairs and returns one score per pair; a higher one means that a link is more
likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.data.graphs.link_splits import Pairs
from truegraph.learning.learned import LearnedGraph
from truegraph.tasks.links.problem import pair_values
from truegraph.tasks.links.refined.walks import raw_walks, walk_graph

_RESTART = 0.15
_STEPS = 60  # 0.85^60 < 1e-4
_BLOCK = 256
_KATZ = 0.005  # weight of a step

Heuristic = Callable[[csr_array, Pairs], NDArray[np.float64]]


def common_neighbours(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how many neighbours the nodes of each pair share, (n,).

    Parameters
    ----------
    graph : csr_array of 0/1, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    return _row_products(graph, graph, pairs)


def adamic_adar(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the shared neighbours of each pair, each weighing 1 / log(its degree), (n,).

    Parameters
    ----------
    graph : csr_array of 0/1, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    degree = np.diff(graph.indptr).astype(np.float64)
    # A shared neighbour has at least two neighbours.
    weight = 1.0 / np.log(np.maximum(degree, 2.0))
    return _row_products(graph, csr_array(graph @ diags_array(weight)), pairs)


def _row_products(first: csr_array, second: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the inner product of row i of one matrix and row j of another for pairs (i, j)."""
    rows = first[pairs[:, 0]].multiply(second[pairs[:, 1]])
    return np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()


def personalised_pagerank(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how often random walks that restart at i visit j, and the other way round, (n,).

    A walk restarts with probability 0.15. In an undirected graph d_i p_i(j) = d_j p_j(i), so walks
    from one end of each pair tell both.

    Parameters
    ----------
    graph : csr_array of 0/1, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    degree = np.maximum(np.diff(graph.indptr), 1).astype(np.float64)
    steps = csr_array(graph @ diags_array(1.0 / degree))  # column j: the steps from j
    starts, position = np.unique(pairs[:, 0], return_inverse=True)
    scores = np.zeros(len(pairs))
    for first in range(0, len(starts), _BLOCK):
        block = starts[first : first + _BLOCK]
        own = np.flatnonzero((position >= first) & (position < first + len(block)))
        visits = _visits(steps, block)
        there = visits[pairs[own, 1], position[own] - first]
        back = there * degree[pairs[own, 0]] / degree[pairs[own, 1]]
        scores[own] = there + back
    return scores


def _visits(steps: csr_array, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distribution over nodes of walks from each start, (N, starts)."""
    restart = np.zeros((steps.shape[0], len(starts)))
    restart[starts, np.arange(len(starts))] = _RESTART
    visits = restart / _RESTART
    for _ in range(_STEPS):
        visits = (1.0 - _RESTART) * (steps @ visits) + restart
    return visits


def learned_weights(learned: LearnedGraph, pairs: Pairs) -> NDArray[np.float64]:
    """Return the weight that a learned graph gives to each pair, 0 where it has no edge, (n,).

    Parameters
    ----------
    learned : LearnedGraph
    pairs : ndarray of int64, shape (n, 2)
    """
    return pair_values(learned.adjacency, pairs)


def resource_allocation(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the shared neighbours of each pair, each weighing 1 / its degree, (n,).

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    return raw_walks(walk_graph(graph), pairs)[:, 2]


def short_pagerank(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return personalised PageRank, counting walks of at most four steps, (n,).

    As `personalised_pagerank`, from one end and back, but in a few steps per pair, so that many
    pairs can be scored.

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    walks = raw_walks(walk_graph(graph), pairs)[:, 3:]
    steps = (1.0 - _RESTART) ** np.arange(2, 5)
    strength = np.asarray(graph.sum(axis=1)).ravel()
    strength[strength == 0.0] = 1.0  # without links there are no walks
    ratio = np.sqrt(strength[pairs[:, 0]] / strength[pairs[:, 1]])
    return np.asarray(_RESTART * (walks @ steps) * (ratio + 1.0 / ratio))


def katz(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how many walks of two to four steps join each pair, each step weighing 0.005, (n,).

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    walks = raw_walks(walk_graph(graph, normalised=False), pairs)[:, 3:]
    return np.asarray(walks @ _KATZ ** np.arange(2, 5))


#: Heuristics that suggest links; all of them score many pairs at once.
HEURISTICS: dict[str, Heuristic] = {
    "common-neighbours": common_neighbours,
    "adamic-adar": adamic_adar,
    "resource-allocation": resource_allocation,
    "personalised-pagerank": short_pagerank,
    "katz": katz,
}

#: Heuristics that experiments compare with, on the pairs of a test set.
RIVALS: dict[str, Heuristic] = {**HEURISTICS, "pagerank": personalised_pagerank}


@dataclass(frozen=True, eq=False)
class HeuristicScorer:
    """A heuristic on a graph, in the form of a trained model.

    Attributes
    ----------
    name : str
        A name of `HEURISTICS`.
    graph : csr_array, shape (N, N)
    """

    name: str
    graph: csr_array

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2), (n,)."""
        return HEURISTICS[self.name](self.graph, pairs)

    def drawn_logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return nothing, of shape (0, n): a heuristic has no posterior."""
        return np.zeros((0, len(pairs)))

    def errors(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return NaN for each pair, (n,): a heuristic does not say how sure it is."""
        return np.full(len(pairs), np.nan)
