"""From scores to probabilities: Platt's logistic map, fitted on pairs that training never saw.

    log odds = slope * score + offset + log(prior odds)

The map is fitted with links and non-links of equal weight, so without the last term it holds where
half of the pairs are links; the prior moves it to any other share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from truegraph.errors import InputError
from truegraph.saving import savable

_TOLERANCE = 1e-9  # of the slope: scores of any size are told apart to nine digits
_RIDGE = 1e-9  # for scores that tell links and non-links apart completely


@savable
@dataclass(frozen=True)
class LinkCalibration:
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


def fit_calibration(
    links: NDArray[np.floating], non_links: NDArray[np.floating]
) -> LinkCalibration:
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
    slope, offset = _fitted(design, target, weight)
    return LinkCalibration(slope / scale, offset) if slope > 0.0 else LinkCalibration(0.0, 0.0)


def _fitted(
    design: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[float, float]:
    """Minimise the weighted cross-entropy; a slight ridge keeps separable scores finite."""

    def loss(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = design @ beta
        value = np.sum(weight * (np.logaddexp(0.0, odds) - target * odds))
        slope = design.T @ (weight * (expit(odds) - target))
        return float(value + 0.5 * _RIDGE * beta @ beta), slope + _RIDGE * beta

    found = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": _TOLERANCE})
    return float(found.x[0]), float(found.x[1])
