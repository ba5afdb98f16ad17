"""How probable it is that a recommended item is taken, calibrated on held-out interactions.

A logistic regression joins rank, score and length of the history to one number; an isotonic
regression of the held-out interactions on it makes that a probability. Both are fitted to the
lists of a model that has not seen the held-out interactions. Each probability is the share of hits
among at least 100 pairs: the highest one stated is one that the held-out counts support.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.evaluation.ranking import list_hits
from truegraph.recommend.models import HistoryModel
from truegraph.recommend.top_items import rank_items
from truegraph.saving import savable

_DEPTH = 50  # of the lists that are calibrated on
_LEAST_PAIRS = 100  # whose share of hits a probability is; lab/choose/recommend_auto.py
_MOST_USERS = 10_000  # more would not make it better

Floats = NDArray[np.float64]


@savable
@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities of recommended items.

    Attributes
    ----------
    centre, slope : ndarray of float64, shape (3,)
        Of the logistic regression on log rank, score and log length of the history.
    knots, values : ndarray of float64, shape (k,)
        Of the isotonic regression, with interpolation between its knots.
    """

    centre: Floats
    slope: Floats
    knots: Floats
    values: Floats

    def probabilities(
        self, ranks: NDArray[np.int64], scores: NDArray[np.float32], lengths: NDArray[np.int64]
    ) -> Floats:
        """Return the probabilities (n,) of items at these ranks, with these scores.

        Parameters
        ----------
        ranks : ndarray of int64, shape (n,)
            From 1.
        scores : ndarray of float32, shape (n,)
        lengths : ndarray of int64, shape (n,)
            Of the users' histories.
        """
        joined = (_columns(ranks, scores, lengths) - self.centre) @ self.slope
        return np.interp(joined, self.knots, self.values)


def _columns(
    ranks: NDArray[np.int64], scores: NDArray[np.float32], lengths: NDArray[np.int64]
) -> Floats:
    parts = (np.log(ranks), scores.astype(np.float64), np.log1p(lengths))
    return np.column_stack(parts)


def fit_calibration(
    model: HistoryModel, train: csr_array, held_out: csr_array, *, seed: int = 0
) -> Calibration | None:
    """Calibrate on the lists of a model that was fitted to the training interactions.

    Parameters
    ----------
    model : HistoryModel
    train, held_out : csr_array of shape (n_users, n_items)
    seed : int
        Of more than 10,000 users, a random 10,000 are used.

    Returns
    -------
    calibration : Calibration or None
        None if no held-out interaction is among the lists, or all of the listed ones are.
    """
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    users = np.flatnonzero(np.diff(train.indptr))
    if len(users) > _MOST_USERS:
        users = np.sort(np.random.default_rng(seed).choice(users, _MOST_USERS, replace=False))
    histories = csr_array(train[users])
    items, scores = rank_items(
        lambda rows: model.scores(histories[rows], users[rows]),
        np.arange(len(users)),
        histories,
        _DEPTH,
    )
    hits = list_hits(items, csr_array(held_out[users]))
    row, place = np.nonzero(items >= 0)
    taken = hits[row, place] > 0
    if not taken.any() or taken.all():
        return None
    lengths = np.diff(train.indptr)[users]
    columns = _columns(place + 1, scores[row, place], lengths[row])
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros(3), where=spread > 0.0)
    joint = LogisticRegression().fit((columns - centre) * scale, taken)
    slope = joint.coef_[0] * scale
    joined, hit = _in_groups((columns - centre) @ slope, taken.astype(np.float64))
    isotonic = IsotonicRegression(y_min=0.0, y_max=1.0).fit(joined, hit)
    return Calibration(centre, slope, isotonic.X_thresholds_, isotonic.y_thresholds_)


def _in_groups(values: Floats, taken: Floats) -> tuple[Floats, Floats]:
    """Return the means of both over groups of at least 100 neighbouring values."""
    order = np.argsort(values, kind="stable")
    parts = np.array_split(order, max(1, len(order) // _LEAST_PAIRS))
    means = np.array([[values[part].mean(), taken[part].mean()] for part in parts])
    return means[:, 0], means[:, 1]
