"""Logistic regression of links on the scores of pairs, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from truegraph.saving import savable

Columns = NDArray[np.float64]
_ITERATIONS = 1000  # of L-BFGS; standardised columns take a tenth


@savable
@dataclass(frozen=True, eq=False)
class Regression:
    """Weights of standardised columns.

    Attributes
    ----------
    centre, spread, weights : ndarray of float64, shape (columns,)
    offset : float
    covariance : ndarray of float64, shape (columns + 1, columns + 1)
        Of weights and offset (Laplace's approximation at the penalised maximum).
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    offset: float
    covariance: NDArray[np.float64]

    def logits(self, columns: Columns) -> NDArray[np.float64]:
        """Return the log odds of rows (n, columns), (n,)."""
        scaled = (columns - self.centre) / self.spread
        return np.einsum("ij,j->i", scaled, self.weights) + self.offset

    def errors(self, columns: Columns) -> NDArray[np.float64]:
        """Return the standard errors of these log odds, (n,)."""
        scaled = (columns - self.centre) / self.spread
        design = np.column_stack([scaled, np.ones(len(scaled))])
        return np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))


def fit_regression(
    columns: Columns, is_link: NDArray[np.bool_], *, weight: NDArray[np.float64] | None = None
) -> Regression:
    """Fit the log odds of a link.

    Parameters
    ----------
    columns : ndarray of float64, shape (n, columns)
    is_link : ndarray of bool, shape (n,)
        Both values occur.
    weight : ndarray of float64, shape (n,), optional
        Of each row. Default: links weigh as much in all as the other pairs do.
    """
    if weight is None:
        share = is_link.mean()
        weight = np.where(is_link, 0.5 / share, 0.5 / (1.0 - share))
    with threadpool_limits(1):  # sums of several threads would come in another order
        scaler = StandardScaler().fit(columns)
        scaled = scaler.transform(columns)
        model = LogisticRegression(C=1.0, max_iter=_ITERATIONS)
        model.fit(scaled, is_link, sample_weight=weight)
        weights, offset = model.coef_[0], float(model.intercept_[0])
        covariance = _covariance(scaled, weight, weights, offset)
    return Regression(scaler.mean_, scaler.scale_, weights, offset, covariance)


def _covariance(
    scaled: Columns,
    weight: NDArray[np.float64],
    weights: NDArray[np.float64],
    offset: float,
) -> NDArray[np.float64]:
    """Return the inverse curvature of the penalised loss; the offset bears no penalty."""
    chance = expit(scaled @ weights + offset)
    curvature = weight * chance * (1.0 - chance)
    design = np.column_stack([scaled, np.ones(len(scaled))])
    penalty = np.append(np.ones(len(weights)), 1e-6)
    return np.asarray(np.linalg.inv((design * curvature[:, None]).T @ design + np.diag(penalty)))
