"""The best-scored pairs without a link, found by nearest-neighbour search.

The pair with the largest inner product v_i . v_j is the nearest pair of the points (v_i, 0) and
(v_j, sqrt(M^2 - |v_j|^2)), M the largest length, since their squared distance is
|v_i|^2 + M^2 - 2 v_i . v_j. So the searches of the graph learner apply: exact on small graphs,
faiss beyond. Lists of neighbours are lengthened where they might still hold a wanted pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs
from truegraph.learning.search.approximate import CellSearch, tune
from truegraph.learning.search.neighbours import ExactSearch
from truegraph.links.problem import pair_values

_EXACT_NODES = 5000  # up to here exact search takes a fraction of a second
_SAMPLE = 200  # queries on which the approximate search is tuned: its recall to two points
_FIRST_LIST = 16  # neighbours per node; lists are lengthened where that is too few


class RankedPairs(NamedTuple):
    """Pairs (n, 2) with their scores (n,), best first."""

    pairs: Pairs
    scores: NDArray[np.float64]


class LinkSearch:
    """Finds pairs with large inner products.

    Parameters
    ----------
    vectors : ndarray of float32, shape (N, m)
    known : csr_array, shape (N, N)
        Links that are not wanted.
    """

    def __init__(self, vectors: NDArray[np.float32], known: csr_array) -> None:
        self._vectors = vectors.astype(np.float64)
        self._known = known
        squares = np.einsum("ij,ij->i", self._vectors, self._vectors)
        gap = np.sqrt(np.maximum(squares.max(initial=0.0) - squares, 0.0))
        self._base = np.column_stack([self._vectors, gap])
        self._queries = np.column_stack([self._vectors, np.zeros_like(gap)])
        self._search = self._prepared()

    def _prepared(self) -> ExactSearch | CellSearch:
        nodes = len(self._base)
        exact = ExactSearch(self._base)
        if nodes <= _EXACT_NODES:
            return exact
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(nodes, size=min(nodes, _SAMPLE), replace=False))
        truth = exact.query(self._queries[sample], sample, _FIRST_LIST)
        search = CellSearch(self._base, seed=0)
        tune(search, self._queries[sample], sample, truth)
        return search

    @property
    def is_exact(self) -> bool:
        """Whether no better pair can be missed."""
        return isinstance(self._search, ExactSearch)

    def best_of(self, node: int, k: int) -> RankedPairs:
        """Return the k best pairs (node, j) without a link, fewer if there are fewer."""
        known = int(self._known.indptr[node + 1] - self._known.indptr[node])
        nodes = np.array([node])
        return top_pairs(self._unlinked(nodes, self._lists(nodes, k + known)), k)

    def best(self, k: int) -> RankedPairs:
        """Return the k best pairs (i, j), i < j, without a link, fewer if there are fewer."""
        nodes = np.arange(len(self._vectors))
        length = max(_FIRST_LIST, -(-2 * k // len(nodes)))
        best = _EMPTY
        while len(nodes):
            lists = self._lists(nodes, length)
            best = top_pairs(_merged(best, self._unlinked(nodes, lists), len(self._vectors)), k)
            if lists.shape[1] < length:
                break
            nodes = self._unfinished(nodes, lists, best, k)
            length *= 2
        return best

    def _lists(self, nodes: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the best partners of some nodes, as many as asked for or as there are."""
        length = min(length, len(self._vectors) - 1)
        return self._search.query(self._queries[nodes], nodes, length).astype(np.int64)

    def _unlinked(self, nodes: NDArray[np.int64], lists: NDArray[np.int64]) -> RankedPairs:
        """Return the pairs in the lists of some nodes that are not linked."""
        pairs = np.column_stack([np.repeat(nodes, lists.shape[1]), lists.ravel()])
        pairs = pairs[pairs[:, 1] >= 0]
        pairs = pairs[pair_values(self._known, pairs) == 0.0]
        return RankedPairs(pairs, self._scores(pairs))

    def _unfinished(
        self, nodes: NDArray[np.int64], lists: NDArray[np.int64], best: RankedPairs, k: int
    ) -> NDArray[np.int64]:
        """Return the nodes whose lists end before their scores fall below the k-th best."""
        ends = np.column_stack([nodes, lists[:, -1]])
        is_full = ends[:, 1] >= 0
        if len(best.scores) == k:
            is_full &= self._scores(ends) > best.scores[-1]
        return nodes[is_full]

    def _scores(self, pairs: Pairs) -> NDArray[np.float64]:
        first, second = self._vectors[pairs[:, 0]], self._vectors[pairs[:, 1]]
        return np.einsum("ij,ij->i", first, second)


_EMPTY = RankedPairs(np.zeros((0, 2), dtype=np.int64), np.zeros(0))


def _merged(found: RankedPairs, more: RankedPairs, n_nodes: int) -> RankedPairs:
    """Return all pairs once, lower node first."""
    pairs = np.sort(np.concatenate([found.pairs, more.pairs]), axis=1)
    scores = np.concatenate([found.scores, more.scores])
    _, first = np.unique(pairs[:, 0] * n_nodes + pairs[:, 1], return_index=True)
    return RankedPairs(pairs[first], scores[first])


def top_pairs(found: RankedPairs, k: int) -> RankedPairs:
    """Return the k best, equal scores by node numbers."""
    order = np.lexsort((found.pairs[:, 1], found.pairs[:, 0], -found.scores))[:k]
    return RankedPairs(found.pairs[order], found.scores[order])
