"""How well scores tell links from pairs without a link, and how far probabilities can be trusted.

All metrics take the scores of links and those of non-links; only Hits@k and the reciprocal rank
depend on how many non-links there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from truegraph import gate
from truegraph.errors import InputError
from truegraph.evaluation.calibration import expected_calibration_error
from truegraph.evaluation.metrics import brier_score, negative_log_likelihood

HITS = (20, 50, 100)


def link_auc(links: ArrayLike, non_links: ArrayLike) -> float:
    """Return the probability that a link scores higher than a non-link, ties counting half.

    Parameters
    ----------
    links, non_links : array-like of float, shapes (n,) and (m,)
        Scores.
    """
    return float(roc_auc_score(*_labelled(links, non_links)))


def link_average_precision(links: ArrayLike, non_links: ArrayLike) -> float:
    """Return the precision at each link's score, averaged over the links: no interpolation.

    Parameters
    ----------
    links, non_links : array-like of float, shapes (n,) and (m,)
        Scores; equal scores are one step.
    """
    return float(average_precision_score(*_labelled(links, non_links)))


def hits_at(links: ArrayLike, non_links: ArrayLike, k: int) -> float:
    """Return the share of links that score higher than the k-th best non-link.

    With fewer than k non-links every link is a hit.

    Parameters
    ----------
    links, non_links : array-like of float, shapes (n,) and (m,)
        Scores.
    k : int
    """
    if k < 1:
        raise InputError(f"k={k} must be at least 1.")
    positive, negative = _scores(links, non_links)
    if len(negative) < k:
        return 1.0
    return float(np.mean(positive > np.partition(negative, -k)[-k]))


def mean_reciprocal_rank(links: ArrayLike, non_links: ArrayLike) -> float:
    """Return 1 / (rank of a link among all non-links), averaged over the links.

    Half of the non-links with the same score count as ranked before the link.

    Parameters
    ----------
    links, non_links : array-like of float, shapes (n,) and (m,)
        Scores.
    """
    positive, negative = _scores(links, non_links)
    ordered = np.sort(negative)
    below, not_above = (np.searchsorted(ordered, positive, side) for side in ("left", "right"))
    before = len(negative) - 0.5 * (below + not_above)
    return float(np.mean(1.0 / (1.0 + before)))


def link_metrics(
    links: ArrayLike,
    non_links: ArrayLike,
    link_probabilities: ArrayLike | None = None,
    non_link_probabilities: ArrayLike | None = None,
) -> dict[str, float]:
    """Return every metric of link prediction.

    Parameters
    ----------
    links, non_links : array-like of float, shapes (n,) and (m,)
        Scores.
    link_probabilities, non_link_probabilities : array-like of float, shapes (n,) and (m,)
        Probabilities of a link; without them there are no metrics of calibration.

    Returns
    -------
    metrics : dict of str to float
        auc, ap, hits_20, hits_50, hits_100, mrr, and with probabilities
        negative_log_likelihood, brier_score and expected_calibration_error.
    """
    metrics = {
        "auc": link_auc(links, non_links),
        "ap": link_average_precision(links, non_links),
        **{f"hits_{k}": hits_at(links, non_links, k) for k in HITS},
        "mrr": mean_reciprocal_rank(links, non_links),
    }
    if link_probabilities is None or non_link_probabilities is None:
        return metrics
    truth, chance = _labelled(link_probabilities, non_link_probabilities)
    table = np.column_stack([1.0 - chance, chance])
    return metrics | {
        "negative_log_likelihood": negative_log_likelihood(truth, table),
        "brier_score": brier_score(truth, table),
        "expected_calibration_error": expected_calibration_error(truth, table),
    }


def _scores(
    links: ArrayLike, non_links: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    arrays = [gate.as_floats("links", links), gate.as_floats("non_links", non_links)]
    for name, array in zip(("links", "non_links"), arrays, strict=True):
        if array.ndim != 1 or len(array) == 0 or np.isnan(array).any():
            raise InputError(
                f"{name} has shape {array.shape}; give one score per pair, at least one pair, and "
                "no NaN."
            )
    return arrays[0], arrays[1]


def _labelled(
    links: ArrayLike, non_links: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return whether each pair is a link, and all scores, links first."""
    positive, negative = _scores(links, non_links)
    truth = np.repeat([1, 0], [len(positive), len(negative)])
    return truth, np.concatenate([positive, negative])
