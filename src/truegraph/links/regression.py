"""Logistic regression of links on the scores of pairs, and the map from scores to probabilities.

Candidates for suggestions are ordered by two regressions: one that is fitted to all of them follows
the many poor ones, so the best are ordered by a second one. It is fitted to them alone and also
knows the walks as heuristics have them, without logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from truegraph.errors import InputError
from truegraph.links.walks import RESTART, raw_from_scores
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

_ITERATIONS = 1000  # of L-BFGS; standardised columns take a tenth
_BEST = 3.0  # candidates per hidden link that the second orders; lab/choose/link_order.py
_FEWEST_HITS = 100  # hidden links among them: about four for each of its columns
_LEAST = 1e-9  # added before logarithms: below the chance of any walk of four steps
_TOLERANCE = 1e-9  # of the slope: scores of any size are told apart to nine digits
_RIDGE = 1e-9  # for scores that tell links and non-links apart completely
_SURE = 1e-9  # no number of links that can be counted supports a probability nearer to 0 or 1

Columns = NDArray[np.float64]
Scores = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class Regression:
    """Weights (columns,) of standardised columns, and Laplace's covariance of weights and offset.

    Where there is a `second` regression, it orders what has at least the log odds `least`.
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    offset: float
    covariance: NDArray[np.float64]
    second: Regression | None = None
    least: float = 0.0

    def logits(self, columns: Columns) -> Scores:
        """Return the log odds of rows (n, columns), (n,)."""
        scaled = (columns - self.centre) / self.spread
        return np.einsum("ij,j->i", scaled, self.weights) + self.offset

    def errors(self, columns: Columns) -> Scores:
        """Return the standard errors of these log odds, (n,)."""
        scaled = (columns - self.centre) / self.spread
        design = np.column_stack([scaled, np.ones(len(scaled))])
        return np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))

    def order(self, columns: Columns) -> Scores:
        """Return scores of candidates (n, columns): 1 to 2 for the best, else 0 to 1, (n,)."""
        logits = self.logits(columns)
        found = expit(logits)
        if self.second is not None:
            best = logits >= self.least
            found[best] = 1.0 + expit(self.second.logits(with_heuristics(columns[best])))
        return np.asarray(found)


def fit_regression(
    columns: Columns, is_link: NDArray[np.bool_], *, weight: Scores | None = None
) -> Regression:
    """Fit the log odds of a link to rows (n, columns).

    Without weights (n,) links weigh as much in all as the other pairs do.
    """
    if weight is None:
        share = is_link.mean()
        weight = np.where(is_link, 0.5 / share, 0.5 / (1.0 - share))
    with one_blas_thread():  # sums of several threads would come in another order
        scaler = StandardScaler().fit(columns)
        scaled = scaler.transform(columns)
        model = LogisticRegression(C=1.0, max_iter=_ITERATIONS)
        model.fit(scaled, is_link, sample_weight=weight)
        weights, offset = model.coef_[0], float(model.intercept_[0])
        chance = expit(scaled @ weights + offset)
        # The inverse curvature of the penalised loss; the offset bears no penalty.
        curvature = weight * chance * (1.0 - chance)
        design = np.column_stack([scaled, np.ones(len(scaled))])
        penalty = np.append(np.ones(len(weights)), 1e-6)
        covariance = np.linalg.inv((design * curvature[:, None]).T @ design + np.diag(penalty))
    return Regression(scaler.mean_, scaler.scale_, weights, offset, covariance)


def fit_order(
    first: Regression, columns: Columns, is_right: NDArray[np.bool_], weight: Scores
) -> tuple[Regression, Scores]:
    """Add a second regression, if there is enough to fit it to, and score candidates (n, columns).

    The scores come from regressions that were fitted without the candidate: those of the order
    itself would look better than they are.
    """
    logits = first.logits(columns)
    least = _best_from(logits, weight, _BEST * is_right.sum())
    best = np.flatnonzero(logits >= least)
    hits = int(is_right[best].sum())
    if not _FEWEST_HITS <= hits < len(best):
        return first, expit(logits)
    wider, truth, stands = with_heuristics(columns[best]), is_right[best], weight[best]
    order = replace(first, second=fit_regression(wider, truth, weight=stands), least=least)
    scores = expit(logits)
    half = np.arange(len(best)) % 2
    for own in (half == 0, half == 1):
        other = fit_regression(wider[~own], truth[~own], weight=stands[~own])
        scores[best[own]] = 1.0 + expit(other.logits(wider[own]))
    return order, scores


def with_heuristics(columns: Columns) -> Columns:
    """Return columns (n, c) with heuristics beside them that the logarithms of walks give, (n, d).

    These are the common neighbours, Adamic-Adar, resource allocation and walks of two to four
    steps themselves, and personalised PageRank of four steps with its logarithm.
    """
    degree, raw = raw_from_scores(columns)
    ratio = np.sqrt(np.maximum(degree[:, 1], 1.0) / np.maximum(degree[:, 0], 1.0))
    pagerank = raw[:, 3:] @ (1.0 - RESTART) ** np.arange(2, 5) * (ratio + 1.0 / ratio)
    return np.column_stack([columns, raw, pagerank, np.log(pagerank + _LEAST)])


def _best_from(logits: Scores, weight: Scores, count: float) -> float:
    """Return the score from which there are so many candidates."""
    order = np.argsort(-logits, kind="stable")
    place = int(np.searchsorted(np.cumsum(weight[order]), count))
    return float(logits[order[min(place, len(order) - 1)]])


@savable
@dataclass(frozen=True)
class LinkCalibration:
    """Platt's map: log odds = slope * score + offset + log(prior odds)."""

    slope: float
    offset: float

    def probabilities(self, scores: NDArray[np.floating], prior: float) -> Scores:
        """Return the chance of a link for every score, if a share `prior` of pairs is linked."""
        odds = self.slope * np.asarray(scores, dtype=np.float64) + self.offset
        return np.clip(expit(odds + logit(prior)), _SURE, 1.0 - _SURE)


def fit_calibration(
    links: NDArray[np.floating], non_links: NDArray[np.floating]
) -> LinkCalibration:
    """Fit the map to the scores (n,) and (m,) of pairs with and without a link.

    Both weigh the same; Platt's targets keep probabilities off 0 and 1. A falling map, which would
    turn the order of scores around, is replaced by a constant.
    """
    n, m = len(links), len(non_links)
    if n == 0 or m == 0:
        raise InputError("calibration needs at least one link and one pair without a link.")
    scores = np.concatenate([links, non_links]).astype(np.float64)
    scale = max(float(np.abs(scores).max()), np.finfo(np.float64).tiny)
    design = np.column_stack([scores / scale, np.ones(n + m)])
    target = np.repeat([(n + 1.0) / (n + 2.0), 1.0 / (m + 2.0)], [n, m])
    weight = np.repeat([0.5 / n, 0.5 / m], [n, m])

    def loss(beta: Scores) -> tuple[float, Scores]:
        odds = design @ beta
        value = np.sum(weight * (np.logaddexp(0.0, odds) - target * odds))
        slope = design.T @ (weight * (expit(odds) - target))
        return float(value + 0.5 * _RIDGE * beta @ beta), slope + _RIDGE * beta

    found = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": _TOLERANCE})
    slope, offset = float(found.x[0]), float(found.x[1])
    return LinkCalibration(slope / scale, offset) if slope > 0.0 else LinkCalibration(0.0, 0.0)
