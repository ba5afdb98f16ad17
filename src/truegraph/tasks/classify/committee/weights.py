"""How much each view is believed: temperatures and weights from left-out training labels.

Scores of a view are divided by their root mean square and multiplied by an inverse temperature,
the one of greatest likelihood of the left-out labels with a prior around a usual value. Weights
are those of Bayesian model averaging with left-out likelihoods in place of marginal ones, averaged
over Bayesian bootstraps of the labels (pseudo-BMA+, Yao et al. 2018): with few labels the
bootstraps disagree, and the weights stay near their prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

USUAL_SHARPNESS = 1.3
# Deviations of its logarithm: a view may know next to nothing, but is seldom much sharper.
_DEVIATION_BELOW, _DEVIATION_ABOVE = 2.0, 0.5
_BOUNDS = (-4.0, 3.0)
_BOOTSTRAPS = 400
_DISCOUNT = 0.5  # of log densities: left-out predictions of one split are not independent

Densities = NDArray[np.float64]


@dataclass(frozen=True)
class Sharpness:
    """From scores to probabilities: softmax(scores * factor)."""

    factor: float

    def probabilities(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probabilities (..., C) of scores (..., C)."""
        found: NDArray[np.float64] = softmax(np.float64(self.factor) * scores, axis=-1)
        return found


def fit_sharpness(
    left_out: NDArray[np.float64], labels: NDArray[np.int64], folds: NDArray[np.int64]
) -> tuple[Sharpness, Densities]:
    """Return a view's sharpness and the mean log density of each left-out label.

    Parameters
    ----------
    left_out : ndarray of shape (repeats, n, C)
    labels : ndarray of shape (n,)
    folds : ndarray of shape (repeats, n)
        Negative for nodes that are never left out; these have no density.

    Returns
    -------
    sharpness : Sharpness
    densities : ndarray of shape (m,)
        Of the m labels that are left out at all.
    """
    seen = folds[0] >= 0
    scores = left_out[:, seen]
    size = float(np.sqrt(np.mean(scores**2))) if seen.any() else 0.0
    usual = USUAL_SHARPNESS / max(size, 1e-3)
    if not seen.any():
        return Sharpness(usual), np.zeros(0)
    own = labels[seen]

    def densities(step: float) -> Densities:
        logs = log_softmax(usual * np.exp(step) * scores, axis=-1)
        found: Densities = logs[:, np.arange(len(own)), own].mean(axis=0)
        return found

    def cost(step: float) -> float:
        deviation = _DEVIATION_ABOVE if step > 0.0 else _DEVIATION_BELOW
        return float(-densities(step).sum() + 0.5 * (step / deviation) ** 2)

    step = float(minimize_scalar(cost, bounds=_BOUNDS, method="bounded").x)
    return Sharpness(usual * float(np.exp(step))), densities(step)


def view_weights(
    densities: NDArray[np.float64], prior: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Return the weights (V,) of views, which sum to one.

    Parameters
    ----------
    densities : ndarray of shape (V, m)
        Log density of each left-out label under each view.
    prior : ndarray of shape (V,)
        Weights without any label.
    seed : int
    """
    count = densities.shape[1]
    if not count:
        return prior / prior.sum()
    generator = np.random.default_rng([seed, _BOOTSTRAPS])
    shares = generator.dirichlet(np.ones(count), size=_BOOTSTRAPS)
    evidence = _DISCOUNT * count * (shares @ densities.T) + np.log(prior)
    found: NDArray[np.float64] = softmax(evidence, axis=1).mean(axis=0)
    return found / found.sum()
