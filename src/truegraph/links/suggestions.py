"""Suggested links: the best pairs of a search, the share of them that is right, and why.

Hide a part h of the known links, suggest from the rest, and count the share q of suggestions at a
score that are among the hidden links. The others are not all wrong: if the graph lacks links that
nobody has observed, b for every known one, then for h hidden links at a score there are b of these
among the suggestions too, and they were counted as wrong. Where only they are missing, the share
of suggestions at this score that is right is

    p = (b / h) * q / (1 - q),    b = missing / (1 - missing)

A graph does not tell what it lacks: `missing` is an assumption. No probability is above 0.99.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.isotonic import isotonic_regression

from truegraph.data.link_splits import Pairs
from truegraph.links.problem import bipartite_sides, is_among
from truegraph.saving import savable

_MOST = 0.99  # no count is certain
_MOST_ERROR = 0.5  # a probability cannot be further off on average
_BIN = 50.0  # suggestions, at least, that a share is counted among; lab/choose/link_shares.py
_COUNTED = 50_000  # best pairs of a search whose hits are counted: a thousand bins of shares
_NAMED = 3  # shared neighbours and features that are named

Scores = NDArray[np.float64]
#: From scores of a model to probabilities of a link.
Probability = Callable[[Scores], Scores]
#: Pairs (n, 2) with their scores (n,), best first.
Ranked = tuple[Pairs, Scores]


@savable
@dataclass(frozen=True, eq=False)
class ScoreShares:
    """A rising map from scores (b,) to shares of hidden links, in (0, 1), and their errors.

    Between the scores it is linear, beyond them constant. `hits` are the scores of the hidden links
    among the suggestions, ascending, of all rounds of hiding a part `hidden` of the links.
    """

    scores: Scores
    shares: Scores
    errors: Scores
    hidden: float
    hits: Scores = field(default_factory=lambda: np.zeros(0))
    rounds: int = 1

    def counted(self, scores: NDArray[np.floating]) -> tuple[Scores, Scores]:
        """Return the share of hidden links among suggestions with these scores, and its error."""
        shares = np.interp(scores, self.scores, self.shares)
        return shares, np.interp(scores, self.scores, self.errors)

    def chances(self, scores: NDArray[np.floating], missing: float) -> tuple[Scores, Scores]:
        """Return the probability of suggestions, and its standard error from the counts alone."""
        counted, error = self.counted(scores)
        factor = self._factor(missing)
        chance = np.minimum(factor * counted / (1.0 - counted), _MOST)
        return chance, np.minimum(factor * error / (1.0 - counted) ** 2, _MOST_ERROR)

    def false_shares(self, scores: NDArray[np.floating], missing: float) -> Scores:
        """Return a bound on the share of false ones among the first 1, 2, ... suggestions.

        As many missing links are above a score as hidden ones were found above it, in proportion;
        one standard deviation of that count is taken off. Scores (n,) are best first.
        """
        found = len(self.hits) - np.searchsorted(self.hits, scores, side="left")
        least = np.maximum(found - np.sqrt(found), 0.0) / self.rounds
        right = self._factor(missing) * least / np.arange(1, len(scores) + 1)
        return np.maximum(1.0 - right, 0.0)

    def _factor(self, missing: float) -> float:
        return missing / (1.0 - missing) / self.hidden

    def on_another_graph(self, others: Scores, weight: Scores, scores: Scores) -> ScoreShares:
        """Return the map for scores on another graph: of the same rank, the same share.

        The graph that suggestions come from has more links than those on which some were hidden,
        and so more walks: on it the same candidates score higher, the more so the denser it is.
        `others` (n,) are scores of candidates that were not hidden links, each of which stands for
        `weight`; `scores` (m,) are those of the candidates on the other graph.
        """
        if not len(others) or not len(scores):
            return self
        order, there = np.argsort(others, kind="stable"), np.sort(scores)
        rank = np.cumsum(weight[order][::-1])[::-1] / self.rounds
        place = np.arange(len(there), 0, -1.0)  # the rank of each score there

        def moved(values: Scores) -> Scores:
            ranks = np.interp(values, others[order], rank)
            return np.interp(-ranks, -place, there)

        return replace(self, scores=moved(self.scores), hits=moved(self.hits))


def count_shares(
    scores: Scores, is_right: Any, hidden: float, weight: Any = None, rounds: int = 1
) -> ScoreShares:
    """Fit the map: shares in bins of scores, made to rise by isotonic regression.

    A bin holds 50 suggestions or more, so that no share rests on a lucky few. A step of n
    suggestions with h right ones gets the share (h + 1/2) / (n + 1), so that the map never says 0
    or 1; it reaches from the lowest to the highest of its scores. Each row stands for `weight`
    suggestions, counted in so many rounds of hiding a part of the links.
    """
    if len(scores) == 0:
        return ScoreShares(np.zeros(1), np.full(1, 0.5), np.full(1, 0.5), hidden)
    each = np.ones(len(scores)) if weight is None else weight
    values, place = np.unique(scores, return_inverse=True)
    count = np.bincount(place, weights=each).astype(np.float64)
    right = np.bincount(place, weights=each * is_right).astype(np.float64)
    above = np.cumsum(count[::-1])[::-1] - count
    bins = _joined((above // _BIN)[::-1])[::-1]
    bins = bins.max() - bins
    share = np.bincount(bins, weights=right) / np.bincount(bins, weights=count)
    rising = isotonic_regression(share, sample_weight=np.bincount(bins, weights=count))
    step = _joined(rising)[bins]
    total, hits = np.bincount(step, weights=count), np.bincount(step, weights=right)
    # The lowest step may be of a few suggestions only: it must not lift those above it.
    share = np.minimum.accumulate(((hits + 0.5) / (total + 1.0))[::-1])[::-1]
    error = np.repeat(np.sqrt(share * (1.0 - share) / (total + 1.0)), 2)
    first = np.searchsorted(step, np.arange(len(total)))
    last = np.append(first[1:], len(values)) - 1
    places = np.column_stack([values[first], values[last]]).ravel()
    right_scores = np.sort(scores[is_right])
    return ScoreShares(places, np.repeat(share, 2), error, hidden, right_scores, rounds)


def _joined(sorted_values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return numbers 0, 0, 1, 2, 2, ... that equal neighbours have in common."""
    return np.concatenate([[0], np.cumsum(np.diff(sorted_values) != 0.0)])


class Suggester:
    """Finds the best pairs without a link, and states the chance of each.

    `searched` says which pairs the search looks at; `drawn` returns the scores of pairs (n, 2) in S
    posterior draws, (S, n).
    """

    def __init__(self, search: Any, shares: ScoreShares, searched: str, drawn: Any = None) -> None:
        self.search, self.shares, self.searched, self._drawn = search, shares, searched, drawn

    def chances(self, ranked: Ranked, missing: float) -> tuple[Scores, Scores]:
        """Return the probability of each pair and its standard error, (n,) each."""
        pairs, scores = ranked
        chance, error = self.shares.chances(scores, missing)
        drawn = np.zeros((0, 0)) if self._drawn is None else self._drawn(pairs)
        if len(drawn):
            error = np.hypot(error, self.shares.chances(drawn, missing)[0].std(axis=0))
        return chance, error


class CandidateSearch:
    """The best of pairs (n, 2) that are all scored (n,)."""

    def __init__(self, pairs: Pairs, scores: Scores) -> None:
        self._pairs, self._scores = pairs, scores

    def best(self, k: int) -> Ranked:
        """Return the k best pairs, or as many as there are."""
        few = np.arange(len(self._scores))
        if k < len(few):
            least = np.partition(self._scores, -k)[-k]
            few = np.flatnonzero(self._scores >= least)
        return top_pairs(self._pairs[few], self._scores[few], k)

    def best_of(self, node: int, k: int) -> Ranked:
        """Return the k best pairs (node, j), or as many as there are."""
        own = np.flatnonzero((self._pairs == node).any(axis=1))
        pairs = self._pairs[own]
        partner = np.where(pairs[:, 0] == node, pairs[:, 1], pairs[:, 0])
        return top_pairs(np.column_stack([np.full(len(own), node), partner]), self._scores[own], k)


def top_pairs(pairs: Pairs, scores: Scores, k: int) -> Ranked:
    """Return the k best, equal scores by node numbers."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:k]
    return pairs[order], scores[order]


def counted_shares(search: Any, hidden_links: Pairs, n_links: int, n_nodes: int) -> ScoreShares:
    """Count hidden links among the best pairs of a search on the graph without them."""
    pairs, scores = search.best(_COUNTED)
    is_right = is_among(pairs, hidden_links, n_nodes)
    return count_shares(scores, is_right, len(hidden_links) / n_links)


def explain(pairs: Pairs, graph: csr_array, features: csr_array | None) -> dict[str, Any]:
    """Return the columns that explain pairs (n, 2), one entry per pair each.

    "through" has up to three common neighbours, those with the fewest links first; in a bipartite
    graph, where there are none, partners of the target that have a neighbour in common with the
    source.
    """
    degree = np.diff(graph.indptr)
    shared = [_shared(graph, graph, pair) for pair in pairs]
    is_bipartite = len(pairs) > 0 and bipartite_sides(graph) is not None
    between = shared
    if is_bipartite:
        ends = ((graph[graph[[i]].indices], graph[[j]]) for i, j in pairs)
        between = [np.intersect1d(two.indices, one.indices) for two, one in ends]
    return {
        "common_neighbours": np.array([len(nodes) for nodes in shared], dtype=np.int64),
        "through": [_first(nodes, degree) for nodes in between],
        "shared_features": shared_features(pairs, features, features),
    }


def shared_features(pairs: Pairs, first: Any, second: Any) -> list[list[int]]:
    """Return up to three columns that both nodes of a pair have, the rarest first.

    A column that all nodes have tells no two apart, and in one with negative numbers, such as a
    scaled one, not to be 0 means nothing: neither is a reason. The features (N, F) of the second
    nodes say what is rare.
    """
    if first is None or second is None:
        return [[] for _ in pairs]
    rarity = np.bincount(second.indices, minlength=second.shape[1])
    is_reason = rarity < second.shape[0]
    is_reason[second.indices[second.data < 0.0]] = False
    shared = (_shared(first, second, pair) for pair in pairs)
    return [_first(columns[is_reason[columns]], rarity) for columns in shared]


def _shared(first: csr_array, second: csr_array, pair: Pairs) -> NDArray[np.integer]:
    """Return the columns that a row of one sparse matrix and a row of another both have."""
    return np.intersect1d(first[[pair[0]]].indices, second[[pair[1]]].indices, assume_unique=True)


def _first(found: NDArray[np.integer], count: NDArray[np.integer]) -> list[int]:
    """Return the few with the lowest counts, equal ones by their number."""
    order = np.lexsort((found, count[found]))[:_NAMED]
    return [int(number) for number in found[order]]
