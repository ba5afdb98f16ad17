"""Link scores without training: shared neighbours and short walks.

Each takes a graph and pairs and returns one score per pair; a higher one means that a link is more
likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs, links_of
from truegraph.data.row_products import row_products
from truegraph.links.candidates import candidates_of
from truegraph.links.folds import without_links
from truegraph.links.problem import is_among
from truegraph.links.suggestions import (
    CandidateSearch,
    Probability,
    Suggester,
    counted_shares,
)
from truegraph.links.walks import raw_walks, walk_graph
from truegraph.saving import savable

RESTART = 0.15  # of personalised PageRank, as in the first paper on it
_KATZ = 0.005  # weight of a step: the middle one of Liben-Nowell and Kleinberg (2007)


def common_neighbours(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how many neighbours the nodes of each pair share, (n,).

    Parameters
    ----------
    graph : csr_array of 0/1, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    return row_products(graph, graph, pairs)


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
    weighted = csr_array((weight[graph.indices], graph.indices, graph.indptr), shape=graph.shape)
    return row_products(graph, weighted, pairs)


def resource_allocation(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the shared neighbours of each pair, each weighing 1 / its degree, (n,).

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    return raw_walks(walk_graph(graph), pairs)[:, 2]


def personalised_pagerank(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return personalised PageRank, counting walks of at most four steps, (n,).

    A walk restarts at its end with probability 0.15. In an undirected graph d_i p_i(j) = d_j
    p_j(i), so walks from one end of each pair tell both.

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    walks = raw_walks(walk_graph(graph), pairs)[:, 3:]
    steps = (1.0 - RESTART) ** np.arange(2, 5)
    strength = np.asarray(graph.sum(axis=1)).ravel()
    strength[strength == 0.0] = 1.0  # without links there are no walks
    ratio = np.sqrt(strength[pairs[:, 0]] / strength[pairs[:, 1]])
    return np.asarray(RESTART * (walks @ steps) * (ratio + 1.0 / ratio))


def katz(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how many walks of two to four steps join each pair, each step weighing 0.005, (n,).

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    pairs : ndarray of int64, shape (n, 2)
    """
    walks = raw_walks(walk_graph(graph, normalised=False), pairs)[:, 3:]
    return np.asarray(walks @ _KATZ ** np.arange(2, 5))


HEURISTICS: dict[str, Callable[[csr_array, Pairs], NDArray[np.float64]]] = {
    "common-neighbours": common_neighbours,
    "adamic-adar": adamic_adar,
    "resource-allocation": resource_allocation,
    "personalised-pagerank": personalised_pagerank,
    "katz": katz,
}


@savable
@dataclass(frozen=True, eq=False)
class Heuristic:
    """A heuristic on a graph, in the form of a fitted model.

    Attributes
    ----------
    name : str
        A name of `HEURISTICS`.
    graph : csr_array, shape (N, N)
    """

    name: str
    graph: csr_array
    embedding = None

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2), (n,)."""
        return HEURISTICS[self.name](self.graph, pairs)

    def spread(self, pairs: Pairs, probability: Probability) -> NDArray[np.float64]:
        """Return NaN for each pair, (n,): a heuristic does not say how sure it is."""
        return np.full(len(pairs), np.nan)

    def suggester(self, known: csr_array, hidden: Pairs) -> Suggester:
        """Score candidates on all links that it may see; count hits without the hidden ones."""
        links = links_of(known)
        rest = without_links(known, links, is_among(links, hidden, known.shape[0]))
        found = candidates_of(rest, rest)
        scores = Heuristic(self.name, rest).logits(found.pairs)
        counted = CandidateSearch(found.pairs, scores)
        shares = counted_shares(counted, hidden, known.nnz // 2, known.shape[0])
        candidates = candidates_of(self.graph, known)
        search = CandidateSearch(candidates.pairs, self.logits(candidates.pairs))
        return Suggester(search, shares, candidates.searched)
