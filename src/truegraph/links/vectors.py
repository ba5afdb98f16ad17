"""Vectors of the nodes, whose inner products are the logits of links, and the best unlinked pairs.

The pair with the largest inner product v_i . v_j is the nearest pair of the points (v_i, 0) and
(v_j, sqrt(M^2 - |v_j|^2)), M the largest length, since their squared distance is
|v_i|^2 + M^2 - 2 v_i . v_j. So the searches of the graph learner apply: exact on small graphs,
faiss beyond. Lists of neighbours are lengthened where they might still hold a wanted pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs, links_of
from truegraph.learning.search.approximate import CellSearch, tune
from truegraph.learning.search.neighbours import ExactSearch
from truegraph.links.problem import is_among, pair_values, without_links
from truegraph.links.suggestions import (
    Probability,
    Ranked,
    Suggester,
    counted_shares,
    top_pairs,
)
from truegraph.saving import savable

_EXACT_NODES = 5000  # up to here exact search takes a fraction of a second
_SAMPLE = 200  # queries on which the approximate search is tuned: its recall to two points
_FIRST_LIST = 16  # neighbours per node; lists are lengthened where that is too few


@savable
@dataclass(frozen=True, eq=False)
class LinkVectors:
    """What a trained auto-encoder says about every node.

    `embedding` (N, d) is the posterior mean; inner products of `vectors` (N, m), and of S posterior
    `draws` (S, N, k), are the logits of links.
    """

    embedding: NDArray[np.float32]
    vectors: NDArray[np.float32]
    draws: NDArray[np.float32]

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the logit of each pair (n, 2), (n,)."""
        return inner_products(self.vectors, pairs)

    def drawn_logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the logit of each pair in each draw, (S, n)."""
        found = [inner_products(draw, pairs) for draw in self.draws]
        return np.array(found).reshape(len(self.draws), len(pairs))

    def spread(self, pairs: Pairs, probability: Probability) -> NDArray[np.float64]:
        """Return the standard deviation of each pair's probability over draws, (n,)."""
        if not len(self.draws):
            return np.full(len(pairs), np.nan)
        return probability(self.drawn_logits(pairs)).std(axis=0)

    def suggester(self, known: csr_array, hidden: Pairs) -> Suggester:
        """Search all pairs by inner products; count hits on the links that were held out."""
        nodes, links = known.shape[0], links_of(known)
        rest = without_links(known, links, is_among(links, hidden, nodes))
        shares = counted_shares(LinkSearch(self.vectors, rest), hidden, len(links), nodes)
        search = LinkSearch(self.vectors, known)
        pairs = nodes * (nodes - 1) // 2 - len(links)
        how = "searched exactly" if search.is_exact else "searched by approximate neighbours"
        searched = f"all {pairs:,} pairs without a link, {how}"
        return Suggester(search, shares, searched, self.drawn_logits)

    def _check_saved(self) -> None:
        nodes = len(self.embedding)
        if len(self.vectors) != nodes or (len(self.draws) and self.draws.shape[1] != nodes):
            raise ValueError("vectors of other numbers of nodes")


def inner_products(vectors: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float64]:
    """Return the inner product of the vectors of each pair, (n,), in float64."""
    first, second = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
    return np.einsum("ij,ij->i", first, second, dtype=np.float64)


class LinkSearch:
    """Finds pairs with large inner products of vectors (N, m) that are no links of `known`."""

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

    def best_of(self, node: int, k: int) -> Ranked:
        """Return the k best pairs (node, j) without a link, fewer if there are fewer."""
        known = int(self._known.indptr[node + 1] - self._known.indptr[node])
        nodes = np.array([node])
        return top_pairs(*self._unlinked(nodes, self._lists(nodes, k + known)), k)

    def best(self, k: int) -> Ranked:
        """Return the k best pairs (i, j), i < j, without a link, fewer if there are fewer."""
        nodes = np.arange(len(self._vectors))
        length = max(_FIRST_LIST, -(-2 * k // len(nodes)))
        best: Ranked = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        while len(nodes):
            lists = self._lists(nodes, length)
            best = top_pairs(*self._merged(best, self._unlinked(nodes, lists)), k)
            if lists.shape[1] < length:
                break
            nodes = self._unfinished(nodes, lists, best, k)
            length *= 2
        return best

    def _lists(self, nodes: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the best partners of some nodes, as many as asked for or as there are."""
        length = min(length, len(self._vectors) - 1)
        return self._search.query(self._queries[nodes], nodes, length).astype(np.int64)

    def _unlinked(self, nodes: NDArray[np.int64], lists: NDArray[np.int64]) -> Ranked:
        """Return the pairs in the lists of some nodes that are not linked."""
        pairs = np.column_stack([np.repeat(nodes, lists.shape[1]), lists.ravel()])
        pairs = pairs[pairs[:, 1] >= 0]
        pairs = pairs[pair_values(self._known, pairs) == 0.0]
        return pairs, self._scores(pairs)

    def _unfinished(
        self, nodes: NDArray[np.int64], lists: NDArray[np.int64], best: Ranked, k: int
    ) -> NDArray[np.int64]:
        """Return the nodes whose lists end before their scores fall below the k-th best."""
        ends = np.column_stack([nodes, lists[:, -1]])
        is_full = ends[:, 1] >= 0
        if len(best[1]) == k:
            is_full &= self._scores(ends) > best[1][-1]
        return nodes[is_full]

    def _scores(self, pairs: Pairs) -> NDArray[np.float64]:
        first, second = self._vectors[pairs[:, 0]], self._vectors[pairs[:, 1]]
        return np.einsum("ij,ij->i", first, second)

    def _merged(self, found: Ranked, more: Ranked) -> Ranked:
        """Return all pairs once, lower node first."""
        pairs = np.sort(np.concatenate([found[0], more[0]]), axis=1)
        scores = np.concatenate([found[1], more[1]])
        _, first = np.unique(pairs[:, 0] * len(self._vectors) + pairs[:, 1], return_index=True)
        return pairs[first], scores[first]
