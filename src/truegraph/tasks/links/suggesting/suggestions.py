"""Suggested links with the probability that they are right.

A model's suggestions need two things: a search for its best pairs, and the chance that a pair with
such a score is a missing link, which is counted by hiding links (see `shares`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from truegraph.data.graphs.link_splits import Pairs
from truegraph.tasks.links.suggesting.candidates import Candidates
from truegraph.tasks.links.suggesting.search import RankedPairs, top_pairs
from truegraph.tasks.links.suggesting.shares import ScoreShares, count_shares

Scores = NDArray[np.float64]
_COUNTED = 50_000  # best pairs of a search whose hits are counted


class Search(Protocol):
    """Finds the pairs with the best scores among those without a link."""

    def best(self, k: int) -> RankedPairs:
        """Return the k best pairs, or as many as there are."""
        ...

    def best_of(self, node: int, k: int) -> RankedPairs:
        """Return the k best pairs (node, j), or as many as there are."""
        ...


class Chances(Protocol):
    """Says how probable suggested pairs are."""

    def of(self, ranked: RankedPairs, missing: float) -> tuple[Scores, Scores]:
        """Return the probability of each pair and its standard error, (n,) each."""
        ...

    def false_shares(self, ranked: RankedPairs, missing: float) -> Scores:
        """Return a bound on the share of false ones among the first 1, 2, ... pairs, (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Suggester:
    """A search, the chances of what it finds, and what it looks at."""

    search: Search
    chances: Chances
    searched: str


class CandidateSearch:
    """The best of pairs that are all scored, once.

    Parameters
    ----------
    candidates : Candidates
    scores : ndarray of float64, shape (n,)
    """

    def __init__(self, candidates: Candidates, scores: Scores) -> None:
        self._pairs, self._scores = candidates.pairs, scores

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


@dataclass(frozen=True, eq=False)
class CountedChances:
    """Chances by score, with the spread of the model's posterior draws if it has any.

    Attributes
    ----------
    shares : ScoreShares
    drawn : callable
        From pairs (n, 2) to their scores in each of S draws, (S, n).
    """

    shares: ScoreShares
    drawn: Callable[[Pairs], Scores]

    def of(self, ranked: RankedPairs, missing: float) -> tuple[Scores, Scores]:
        """Return the probability of each pair and its standard error, (n,) each."""
        chance = self.shares.chances(ranked.scores, missing)
        error = self.shares.chance_errors(ranked.scores, missing)
        drawn = self.drawn(ranked.pairs)
        if len(drawn):
            error = np.hypot(error, self.shares.chances(drawn, missing).std(axis=0))
        return chance, error

    def false_shares(self, ranked: RankedPairs, missing: float) -> Scores:
        """Return a bound on the share of false ones among the first 1, 2, ... pairs, (n,)."""
        return self.shares.false_shares(ranked.scores, missing)


def counted_shares(search: Search, hidden_links: Pairs, n_links: int, n_nodes: int) -> ScoreShares:
    """Count how many of the best pairs of a search are hidden links, by score.

    Parameters
    ----------
    search : Search
        On the graph without the hidden links.
    hidden_links : ndarray of int64, shape (h, 2)
    n_links : int
        Of the graph with them.
    n_nodes : int
    """
    found = search.best(_COUNTED)
    hidden = len(hidden_links) / n_links
    if len(found.pairs) == 0:
        return ScoreShares(np.zeros(1), np.full(1, 0.5), np.full(1, 0.5), hidden)
    return count_shares(found.scores, is_among(found.pairs, hidden_links, n_nodes), hidden)


def is_among(pairs: Pairs, links: Pairs, n_nodes: int) -> NDArray[np.bool_]:
    """Return which pairs (n, 2) are among some links, in either direction, (n,)."""
    wanted, given = np.sort(pairs, axis=1), np.sort(links, axis=1)
    return np.isin(wanted[:, 0] * n_nodes + wanted[:, 1], given[:, 0] * n_nodes + given[:, 1])
