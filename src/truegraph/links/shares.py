"""Which share of the suggestions at a score is right: counted, not assumed.

Hide a part h of the known links, suggest from the rest, and count the share q of suggestions at a
score that are among the hidden links. The others are not all wrong: if the graph lacks links that
nobody has observed, b for every known one, then for h hidden links at a score there are b of these
among the suggestions too, and they were counted as wrong. Where only they are missing, the share
of suggestions at this score that is right is

    p = (b / h) * q / (1 - q),    b = missing / (1 - missing)

A graph does not tell what it lacks, so `missing` is an assumption. Probabilities are of links
like the known ones, and stay at 0.99 at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from truegraph.saving import savable

_MOST = 0.99  # no count is certain
_MOST_ERROR = 0.5  # a probability cannot be further off on average
_BIN = 50.0  # suggestions, at least, that a share is counted among; lab/choose/link_shares.py

Shares = NDArray[np.float64]


def chances(counted: Shares, missing: float, hidden: float) -> Shares:
    """Return the probability of suggestions from the counted shares of hidden links.

    Parameters
    ----------
    counted : ndarray of float
        q of the module's formula, in (0, 1).
    missing : float
        Part of the true links that the graph lacks, in (0, 1).
    hidden : float
        Part of the known links that was hidden when the shares were counted, in (0, 1).
    """
    return np.minimum(_factor(missing, hidden) * counted / (1.0 - counted), _MOST)


def chance_errors(counted: Shares, errors: Shares, missing: float, hidden: float) -> Shares:
    """Return the standard errors of `chances` from those of the counted shares."""
    return np.minimum(_factor(missing, hidden) * errors / (1.0 - counted) ** 2, _MOST_ERROR)


def _factor(missing: float, hidden: float) -> float:
    return missing / (1.0 - missing) / hidden


@savable
@dataclass(frozen=True, eq=False)
class ScoreShares:
    """A rising map from scores to the share of suggestions that are hidden links.

    Attributes
    ----------
    scores, shares : ndarray of float64, shape (b,)
        Ascending; between them the map is linear, beyond them constant. Shares are in (0, 1).
    errors : ndarray of float64, shape (b,)
        Standard errors of the shares.
    hidden : float
        Part of the links that was hidden when the shares were counted.
    hits : ndarray of float64, shape (h,)
        Scores of the hidden links among the suggestions, ascending.
    rounds : int
        How often links were hidden.
    """

    scores: NDArray[np.float64]
    shares: Shares
    errors: Shares
    hidden: float
    hits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    rounds: int = 1

    def counted(self, scores: NDArray[np.floating]) -> Shares:
        """Return the share of hidden links among suggestions with these scores."""
        return np.interp(scores, self.scores, self.shares)

    def counted_errors(self, scores: NDArray[np.floating]) -> Shares:
        """Return the standard error of this share."""
        return np.interp(scores, self.scores, self.errors)

    def chances(self, scores: NDArray[np.floating], missing: float) -> Shares:
        """Return the probability of suggestions with these scores."""
        return chances(self.counted(scores), missing, self.hidden)

    def chance_errors(self, scores: NDArray[np.floating], missing: float) -> Shares:
        """Return its standard error, from the counts alone."""
        counted, errors = self.counted(scores), self.counted_errors(scores)
        return chance_errors(counted, errors, missing, self.hidden)

    def false_shares(self, scores: NDArray[np.floating], missing: float) -> Shares:
        """Return a bound on the share of false ones among the first 1, 2, ... suggestions.

        As many missing links are above a score as hidden ones were found above it, in proportion;
        one standard deviation of that count is taken off.

        Parameters
        ----------
        scores : ndarray of float, shape (n,)
            Of suggestions, best first.
        missing : float
            Part of the true links that the graph lacks, in (0, 1).
        """
        found = len(self.hits) - np.searchsorted(self.hits, scores, side="left")
        least = np.maximum(found - np.sqrt(found), 0.0) / self.rounds
        right = _factor(missing, self.hidden) * least / np.arange(1, len(scores) + 1)
        return np.maximum(1.0 - right, 0.0)


def on_another_graph(
    shares: ScoreShares, others: Shares, weight: Shares, scores: Shares
) -> ScoreShares:
    """Return the map for scores on another graph: of the same rank, the same share.

    The graph that suggestions come from has more links than those on which some were hidden, and
    so more walks: on it the same candidates score higher, the more so the denser it is.

    Parameters
    ----------
    shares : ScoreShares
    others : ndarray of float64, shape (n,)
        Scores of the candidates that were not hidden links, on the graphs that lacked some.
    weight : ndarray of float64, shape (n,)
        How many candidates each one stands for, in all rounds together.
    scores : ndarray of float64, shape (m,)
        Of the candidates on the other graph.
    """
    if not len(others) or not len(scores):
        return shares
    order, there = np.argsort(others, kind="stable"), np.sort(scores)
    rank = np.cumsum(weight[order][::-1])[::-1] / shares.rounds
    place = np.arange(len(there), 0, -1.0)  # the rank of each score there

    def moved(values: Shares) -> Shares:
        ranks = np.interp(values, others[order], rank)
        return np.interp(-ranks, -place, there)

    return replace(shares, scores=moved(shares.scores), hits=moved(shares.hits))


def count_shares(
    scores: NDArray[np.floating],
    is_right: NDArray[np.bool_],
    hidden: float,
    weight: NDArray[np.float64] | None = None,
    rounds: int = 1,
) -> ScoreShares:
    """Fit the map: shares in bins of scores, made to rise by isotonic regression.

    A bin holds 50 suggestions or more, so that no share rests on a lucky few. A step of n
    suggestions with h right ones gets the share (h + 1/2) / (n + 1), so that the map never says 0
    or 1; it reaches from the lowest to the highest of its scores.

    Parameters
    ----------
    scores : ndarray of float, shape (n,)
        Of suggestions; at least one.
    is_right : ndarray of bool, shape (n,)
    hidden : float
        Part of the links that was hidden.
    weight : ndarray of float64, shape (n,), optional
        How many suggestions each one stands for; default 1.
    rounds : int
        How often links were hidden to count these suggestions.
    """
    each = np.ones(len(scores)) if weight is None else weight
    values, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    count = np.bincount(place, weights=each).astype(np.float64)
    right = np.bincount(place, weights=each * is_right).astype(np.float64)
    above = np.cumsum(count[::-1])[::-1] - count
    bins = _joined((above // _BIN)[::-1])[::-1]
    bins = bins.max() - bins
    share = np.bincount(bins, weights=right) / np.bincount(bins, weights=count)
    rising = isotonic_regression(share, sample_weight=np.bincount(bins, weights=count))
    step = _joined(rising)[bins]
    hits = np.sort(np.asarray(scores, dtype=np.float64)[is_right])
    return replace(_steps(values, count, right, step, hidden), hits=hits, rounds=rounds)


def _joined(sorted_values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return numbers 0, 0, 1, 2, 2, ... that equal neighbours have in common."""
    return np.concatenate([[0], np.cumsum(np.diff(sorted_values) != 0.0)])


def _steps(
    values: NDArray[np.float64],
    count: NDArray[np.floating],
    right: NDArray[np.floating],
    step: NDArray[np.int64],
    hidden: float,
) -> ScoreShares:
    """Return the map of ascending values (v,) that are divided into steps."""
    total, hits = np.bincount(step, weights=count), np.bincount(step, weights=right)
    # The lowest step may be of a few suggestions only: it must not lift those above it.
    share = np.minimum.accumulate(((hits + 0.5) / (total + 1.0))[::-1])[::-1]
    error = np.sqrt(share * (1.0 - share) / (total + 1.0))
    first = np.searchsorted(step, np.arange(len(total)))
    last = np.append(first[1:], len(values)) - 1
    places = np.column_stack([values[first], values[last]]).ravel()
    return ScoreShares(places, np.repeat(share, 2), np.repeat(error, 2), hidden)
