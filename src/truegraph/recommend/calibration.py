"""What held-out interactions say of the lists: how probable an item is, and how long a set must be.

Both come from the lists of a model that has not seen the held-out interactions. The model that
recommends is fitted to all interactions and is taken to rank at least as well.

A logistic regression joins rank, score and length of the history to one number; an isotonic
regression of the held-out interactions on it makes that a probability. Each level of it is
(hits + 1) / (n + 2) of all its pairs, at least 100: never 0 or 1, and the highest one stated is one
that the held-out counts support.

For the sets one held-out item of every user is drawn, and its rank noted among the items that the
user had not taken. If the next item is like these, it ranks among the first K with the asked
probability, where K is the conformal quantile of the ranks: the ceil((n + 1) coverage)-th smallest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation.ranking import list_hits
from truegraph.recommend.models import HistoryModel, rank_items

_DEPTH = 50  # of the lists that are calibrated on; later places are hardly ever shown
_LEAST_PAIRS = 100  # whose share of hits a probability is; lab/choose/recommend_auto.py
_MOST_USERS = 10_000  # more would not make shares or quantiles better
_AT_ONCE = 256  # users whose scores are in memory

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]
#: Centre and slope (3,) of the logistic regression on log rank, score and log length of the
#: history, and knots and values (k,) of the isotonic regression on what that gives.
Calibration = tuple[Floats, Floats, Floats, Floats]


def probabilities(
    calibration: Calibration, ranks: Ranks, scores: NDArray[np.float32], lengths: NDArray[np.int64]
) -> Floats:
    """Return the probabilities (n,) of items at these ranks (from 1), with these scores.

    Lengths (n,) are those of the users' histories.
    """
    centre, slope, knots, values = calibration
    return np.interp((_columns(ranks, scores, lengths) - centre) @ slope, knots, values)


def _columns(ranks: Ranks, scores: NDArray[np.float32], lengths: NDArray[np.int64]) -> Floats:
    return np.column_stack((np.log(ranks), scores.astype(np.float64), np.log1p(lengths)))


def fit_calibration(
    model: HistoryModel, train: csr_array, held_out: csr_array, seed: int = 0
) -> Calibration | None:
    """Calibrate on the lists of a model that was fitted to the training part (n_users, n_items).

    None if no held-out interaction is among the lists, or all of the listed ones are. Of more than
    10,000 users a random 10,000 are used.
    """
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    users = np.flatnonzero(np.diff(train.indptr))
    if len(users) > _MOST_USERS:
        users = np.sort(np.random.default_rng(seed).choice(users, _MOST_USERS, replace=False))
    histories = csr_array(train[users])
    items, scores = rank_items(
        lambda rows: model.scores(histories[rows], users[rows]), histories, _DEPTH
    )
    hits = list_hits(items, csr_array(held_out[users]))
    row, place = np.nonzero(items >= 0)
    taken = hits[row, place] > 0
    if not taken.any() or taken.all():
        return None
    lengths = np.diff(histories.indptr)
    columns = _columns(place + 1, scores[row, place], lengths[row])
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros(3), where=spread > 0.0)
    joint = LogisticRegression().fit((columns - centre) * scale, taken)
    slope = joint.coef_[0] * scale
    joined = (columns - centre) @ slope
    order = np.argsort(joined, kind="stable")
    groups = np.array_split(order, max(1, len(order) // _LEAST_PAIRS))
    means = np.array([joined[group].mean() for group in groups])
    hits, sizes = (np.array([how(taken[group]) for group in groups]) for how in (np.sum, len))
    levels = IsotonicRegression().fit(means, hits / sizes, sizes).predict(means)
    level = np.unique(levels, return_inverse=True)[1]  # groups that share a probability
    shares = (np.bincount(level, hits) + 1.0) / (np.bincount(level, sizes) + 2.0)
    isotonic = IsotonicRegression().fit(means, shares[level], sizes)
    return centre, slope, isotonic.X_thresholds_, isotonic.y_thresholds_


def rank_threshold(ranks: Ranks | None, coverage: float) -> int:
    """Return the conformal quantile of ranks (n,), ascending, for a coverage in (0, 1)."""
    if ranks is None:
        raise InputError(
            "nothing was held out to learn from where next items rank; fit with "
            "validation_share > 0."
        )
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage={coverage!r} must be a share between 0 and 1.")
    place = int(np.ceil((len(ranks) + 1) * coverage))
    if place > len(ranks):
        raise InputError(
            f"coverage={coverage} cannot be learned from {len(ranks)} users with held-out "
            "interactions; ask for less, or give more users."
        )
    return int(ranks[place - 1])


def next_ranks(
    model: HistoryModel, train: csr_array, held_out: csr_array, seed: int = 0
) -> Ranks | None:
    """Return the rank of one held-out item of each user, ascending; None if there are none.

    The seed draws the items, and users if there are more than 10,000.
    """
    generator = np.random.default_rng([seed, 8])
    users = np.flatnonzero((np.diff(train.indptr) > 0) & (np.diff(held_out.indptr) > 0))
    if len(users) > _MOST_USERS:
        users = np.sort(generator.choice(users, _MOST_USERS, replace=False))
    if not len(users):
        return None
    counts = np.diff(held_out.indptr)[users]
    chosen = held_out.indices[held_out.indptr[users] + generator.integers(0, counts)]
    found = np.empty(len(users), dtype=np.int64)
    for start in range(0, len(users), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        seen = csr_array(train[users[rows]])
        found[rows] = item_ranks(model.scores(seen, users[rows]), chosen[rows], seen)
    return np.sort(found)


def item_ranks(scores: NDArray[np.float32], items: NDArray[np.integer], seen: csr_array) -> Ranks:
    """Return the rank, from 1, of one item (n,) of each user (n,) among those not seen (n, items).

    Items of equal score before it count, as in the lists.
    """
    scores = np.array(scores, dtype=np.float32)
    row = np.repeat(np.arange(len(items)), np.diff(seen.indptr))
    scores[row, seen.indices] = -np.inf
    own = scores[np.arange(len(items)), items][:, None]
    is_before = np.arange(scores.shape[1]) < np.asarray(items)[:, None]
    found: Ranks = 1 + np.sum((scores > own) | ((scores == own) & is_before), axis=1)
    return found
