"""Suggested links with the probability that they are right.

A model's suggestions need two things: a search for its best pairs, and the chance that a pair with
such a score is a missing link, which is counted by hiding links (see `shares`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.data.link_splits import Pairs
from truegraph.links.problem import is_among
from truegraph.links.search import LinkSearch, RankedPairs, top_pairs
from truegraph.links.shares import ScoreShares, count_shares

Scores = NDArray[np.float64]
#: From scores of a model to probabilities of a link.
Probability = Callable[[Scores], Scores]

_COUNTED = 50_000  # best pairs of a search whose hits are counted: a thousand bins of shares


@dataclass(frozen=True, eq=False)
class Suggester:
    """A search, the chances of what it finds, and what it looks at.

    Attributes
    ----------
    search : CandidateSearch or LinkSearch
    shares : ScoreShares
        How many of the pairs with a score are links.
    searched : str
        Which pairs are looked at, for the user.
    drawn : callable or None
        From pairs (n, 2) to their scores in each of S posterior draws, (S, n).
    """

    search: CandidateSearch | LinkSearch
    shares: ScoreShares
    searched: str
    drawn: Callable[[Pairs], Scores] | None = None

    def chances(self, ranked: RankedPairs, missing: float) -> tuple[Scores, Scores]:
        """Return the probability of each pair and its standard error, (n,) each."""
        chance = self.shares.chances(ranked.scores, missing)
        error = self.shares.chance_errors(ranked.scores, missing)
        drawn = np.zeros((0, 0)) if self.drawn is None else self.drawn(ranked.pairs)
        if len(drawn):
            error = np.hypot(error, self.shares.chances(drawn, missing).std(axis=0))
        return chance, error


class CandidateSearch:
    """The best of pairs that are all scored, once.

    Parameters
    ----------
    pairs : ndarray of int64, shape (n, 2)
    scores : ndarray of float64, shape (n,)
    """

    def __init__(self, pairs: Pairs, scores: Scores) -> None:
        self._pairs, self._scores = pairs, scores

    def best(self, k: int) -> RankedPairs:
        """Return the k best pairs, or as many as there are."""
        few = np.arange(len(self._scores))
        if k < len(few):
            least = np.partition(self._scores, -k)[-k]
            few = np.flatnonzero(self._scores >= least)
        return top_pairs(RankedPairs(self._pairs[few], self._scores[few]), k)

    def best_of(self, node: int, k: int) -> RankedPairs:
        """Return the k best pairs (node, j), or as many as there are."""
        own = np.flatnonzero((self._pairs == node).any(axis=1))
        pairs = self._pairs[own]
        partner = np.where(pairs[:, 0] == node, pairs[:, 1], pairs[:, 0])
        turned = np.column_stack([np.full(len(own), node), partner])
        return top_pairs(RankedPairs(turned, self._scores[own]), k)


def counted_shares(
    search: CandidateSearch | LinkSearch, hidden_links: Pairs, n_links: int, n_nodes: int
) -> ScoreShares:
    """Count how many of the best pairs of a search are hidden links, by score.

    Parameters
    ----------
    search : CandidateSearch or LinkSearch
        On the graph without the hidden links.
    hidden_links : ndarray of int64, shape (h, 2)
    n_links : int
        Of the graph with them.
    n_nodes : int
    """
    found = search.best(_COUNTED)
    hidden = len(hidden_links) / n_links
    if len(found.pairs) == 0:
        return nothing_counted(hidden)
    return count_shares(found.scores, is_among(found.pairs, hidden_links, n_nodes), hidden)


def nothing_counted(hidden: float) -> ScoreShares:
    """Return shares of which nothing is known."""
    return ScoreShares(np.zeros(1), np.full(1, 0.5), np.full(1, 0.5), hidden)
