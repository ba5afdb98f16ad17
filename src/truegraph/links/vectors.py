"""Vectors of the nodes, whose inner products are the logits of links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs, links_of
from truegraph.links.folds import without_links
from truegraph.links.problem import is_among
from truegraph.links.search import LinkSearch
from truegraph.links.suggestions import Probability, Suggester, counted_shares
from truegraph.saving import savable


@savable
@dataclass(frozen=True, eq=False)
class LinkVectors:
    """What a trained auto-encoder says about every node.

    Attributes
    ----------
    embedding : ndarray of float32, shape (N, d)
        Posterior mean E_q[z].
    vectors : ndarray of float32, shape (N, m)
        Their inner products are the logits of links.
    draws : ndarray of float32, shape (S, N, k)
        The same for S draws from the posterior; S = 0 for models without one.
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
