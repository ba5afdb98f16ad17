"""The order of candidates: one regression for all of them, and a second one for the best.

A regression that is fitted to all candidates follows the many poor ones; among the few best, which
are suggested, other things count. So its best candidates are ordered by a second regression, which
is fitted to them alone and also knows the walks as heuristics have them, without logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from truegraph.links.heuristics import RESTART
from truegraph.links.regression import Columns, Regression, fit_regression
from truegraph.links.walks import raw_from_scores

_BEST = 3.0  # candidates per hidden link that the second orders; lab/choose/link_order.py
_FEWEST_HITS = 100  # hidden links among them: about four for each of its columns
_LEAST = 1e-9  # added before logarithms: below the chance of any walk of four steps

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Order:
    """Scores by which candidates are ordered.

    Attributes
    ----------
    first : Regression
        Of all candidates.
    second : Regression or None
        Of the best.
    least : float
        Log odds of the first regression from which a candidate is among the best.
    """

    first: Regression
    second: Regression | None = None
    least: float = np.inf

    def scores(self, columns: Columns) -> Scores:
        """Return the scores of candidates (n, columns): 1 to 2 for the best, else 0 to 1, (n,)."""
        logits = self.first.logits(columns)
        found = expit(logits)
        if self.second is not None:
            best = logits >= self.least
            found[best] = 1.0 + expit(self.second.logits(with_heuristics(columns[best])))
        return np.asarray(found)


def with_heuristics(columns: Columns) -> Columns:
    """Return columns (n, c) with heuristics beside them that the logarithms of walks give, (n, d).

    These are the common neighbours, Adamic-Adar, resource allocation and walks of two to four
    steps themselves, and personalised PageRank of four steps with its logarithm.
    """
    degree, raw = raw_from_scores(columns)
    ratio = np.sqrt(np.maximum(degree[:, 1], 1.0) / np.maximum(degree[:, 0], 1.0))
    pagerank = raw[:, 3:] @ (1.0 - RESTART) ** np.arange(2, 5) * (ratio + 1.0 / ratio)
    return np.column_stack([columns, raw, pagerank, np.log(pagerank + _LEAST)])


def fit_order(
    first: Regression, columns: Columns, is_right: NDArray[np.bool_], weight: Scores
) -> tuple[Order, Scores]:
    """Fit the second regression, if there is enough to fit it to.

    Parameters
    ----------
    first : Regression
        Of all candidates.
    columns : ndarray of float64, shape (n, columns)
        Of candidates.
    is_right : ndarray of bool, shape (n,)
        Whether a candidate is a hidden link.
    weight : ndarray of float64, shape (n,)
        How many candidates a row stands for.

    Returns
    -------
    order : Order
    scores : ndarray of float64, shape (n,)
        Of these candidates, by regressions that were fitted without them: those of the order
        itself would look better than they are.
    """
    logits = first.logits(columns)
    least = _best_from(logits, weight, _BEST * is_right.sum())
    best = np.flatnonzero(logits >= least)
    hits = int(is_right[best].sum())
    if not _FEWEST_HITS <= hits < len(best):
        return Order(first), expit(logits)
    wider, truth, stands = with_heuristics(columns[best]), is_right[best], weight[best]
    order = Order(first, fit_regression(wider, truth, weight=stands), least)
    scores = expit(logits)
    half = np.arange(len(best)) % 2
    for own in (half == 0, half == 1):
        other = fit_regression(wider[~own], truth[~own], weight=stands[~own])
        scores[best[own]] = 1.0 + expit(other.logits(wider[own]))
    return order, scores


def _best_from(logits: Scores, weight: Scores, count: float) -> float:
    """Return the score from which there are so many candidates."""
    order = np.argsort(-logits, kind="stable")
    place = int(np.searchsorted(np.cumsum(weight[order]), count))
    return float(logits[order[min(place, len(order) - 1)]])
