"""From scores to probabilities: Platt's logistic map, fitted on pairs that training never saw.

    log odds = slope * score + offset + log(prior odds)

The map is fitted with links and non-links of equal weight, so without the last term it holds where
half of the pairs are links; the prior moves it to any other share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from truegraph.errors import InputError

_STEPS = 100
_SMALLEST_STEP = 1e-6
_RIDGE = 1e-6  # of the curvature, for scores that tell links and non-links apart completely


@dataclass(frozen=True)
class Calibration:
    """A monotone map from scores to probabilities.

    Attributes
    ----------
    slope, offset : float
    """

    slope: float
    offset: float

    def probabilities(self, scores: NDArray[np.floating], prior: float) -> NDArray[np.float64]:
        """Return the probability of a link for every score, if a share `prior` of pairs is linked.

        Parameters
        ----------
        scores : ndarray of float
        prior : float
            In (0, 1).
        """
        odds = self.slope * np.asarray(scores, dtype=np.float64) + self.offset
        return np.asarray(expit(odds + logit(prior)))


def fit_calibration(links: NDArray[np.floating], non_links: NDArray[np.floating]) -> Calibration:
    """Fit the map to the scores of pairs with and without a link.

    Targets are Platt's: (n + 1) / (n + 2) for n links and 1 / (m + 2) for m non-links, which keeps
    probabilities off 0 and 1. A falling map, which would turn the order of scores around, is
    replaced by a constant.

    Parameters
    ----------
    links, non_links : ndarray of float, shapes (n,) and (m,)
    """
    n, m = len(links), len(non_links)
    if n == 0 or m == 0:
        raise InputError("calibration needs at least one link and one pair without a link.")
    scores = np.concatenate([links, non_links]).astype(np.float64)
    scale = max(float(np.abs(scores).max()), np.finfo(np.float64).tiny)
    design = np.column_stack([scores / scale, np.ones(n + m)])
    target = np.repeat([(n + 1.0) / (n + 2.0), 1.0 / (m + 2.0)], [n, m])
    weight = np.repeat([0.5 / n, 0.5 / m], [n, m])
    slope, offset = _newton(design, target, weight)
    return Calibration(slope / scale, offset) if slope > 0.0 else Calibration(0.0, 0.0)


def _newton(
    design: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[float, float]:
    """Minimise the weighted cross-entropy by Newton's method with halved steps."""

    def loss(beta: NDArray[np.float64]) -> float:
        odds = design @ beta
        return float(np.sum(weight * (np.logaddexp(0.0, odds) - target * odds)))

    beta = np.zeros(2)
    for _ in range(_STEPS):
        chance = expit(design @ beta)
        slope = design.T @ (weight * (chance - target))
        curvature = (design * (weight * chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.solve(curvature + _RIDGE * np.eye(2), slope)
        size = 1.0
        while size > _SMALLEST_STEP and loss(beta - size * step) >= loss(beta):
            size /= 2.0
        if size <= _SMALLEST_STEP:
            break
        beta = beta - size * step
    return float(beta[0]), float(beta[1])
