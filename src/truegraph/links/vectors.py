"""Vectors of the nodes, whose inner products are the logits of links; the best unlinked pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs, links_of
from truegraph.links.problem import is_among, unlinked_pairs, without_links
from truegraph.links.suggestions import (
    Probability,
    Ranked,
    Suggester,
    counted_shares,
    top_pairs,
)
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

_CELLS = 1 << 22  # inner products held at a time, 32 MB


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
        searched = f"all {unlinked_pairs(known):,} pairs without a link, searched exactly"
        return Suggester(LinkSearch(self.vectors, known), shares, searched, self.drawn_logits)

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
        self._vectors, self._known = vectors.astype(np.float64), known

    def best_of(self, node: int, k: int) -> Ranked:
        """Return the k best pairs (node, j) without a link, fewer if there are fewer."""
        return self._top(np.array([node]), k, -np.inf)

    def best(self, k: int) -> Ranked:
        """Return the k best pairs (i, j), i < j, without a link, fewer if there are fewer."""
        nodes = len(self._vectors)
        rows = max(1, _CELLS // nodes)
        found: Ranked = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        for first in range(0, nodes, rows):
            least = found[1][-1] if len(found[1]) == k else -np.inf
            block = np.arange(first, min(first + rows, nodes))
            more = self._top(block, k, least, only_above=True)
            pairs, scores = (np.concatenate(both) for both in zip(found, more, strict=True))
            found = top_pairs(pairs, scores, k)
        return found

    def _top(
        self, rows: NDArray[np.int64], k: int, least: float, *, only_above: bool = False
    ) -> Ranked:
        """Return the k best pairs of some nodes, with scores of at least `least`."""
        with one_blas_thread():  # sums of several threads would come in another order
            scores = self._vectors[rows] @ self._vectors.T
        known = self._known[rows]
        scores[np.repeat(np.arange(len(rows)), np.diff(known.indptr)), known.indices] = -np.inf
        others = np.arange(len(self._vectors))
        is_double = others <= rows[:, None] if only_above else others == rows[:, None]
        scores[is_double] = -np.inf
        if k < scores.size:
            least = max(least, np.partition(scores, -k, axis=None)[-k])
        places = np.argwhere((scores >= least) & (scores > -np.inf))
        values = scores[places[:, 0], places[:, 1]]
        return top_pairs(np.column_stack([rows[places[:, 0]], places[:, 1]]), values, k)
