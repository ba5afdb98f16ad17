"""Metrics of link prediction: how well scores tell links from pairs without a link."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.errors import InputError
from truegraph.evaluation.class_metrics import calibration_metrics, detection_auroc

HITS = (20, 50, 100)

Floats = NDArray[np.float64]


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
        The keys of `LINK_METRICS`. Hits and the mean reciprocal rank depend on the number of
        non-links.
    """
    positive, negative = _scores(links, non_links)
    metrics = {
        "auc": link_auc(positive, negative),
        "ap": link_average_precision(positive, negative),
        **{f"hits_{k}": hits_at(positive, negative, k) for k in HITS},
        "mrr": mean_reciprocal_rank(positive, negative),
    }
    if link_probabilities is None or non_link_probabilities is None:
        return metrics
    truth, chance = _labelled(*_scores(link_probabilities, non_link_probabilities))
    if chance.min() < 0.0 or chance.max() > 1.0:
        raise InputError("link_probabilities and non_link_probabilities must lie in 0 to 1.")
    return metrics | calibration_metrics(truth, np.column_stack([1.0 - chance, chance]))


def link_auc(links: Floats, non_links: Floats) -> float:
    """Return the probability that a link scores higher than a non-link, ties counting half."""
    truth, scores = _labelled(links, non_links)
    return detection_auroc(scores, truth == 1)


def link_average_precision(links: Floats, non_links: Floats) -> float:
    """Return the precision at each link's score, averaged over the links, without interpolation."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*_labelled(links, non_links)))


def hits_at(links: Floats, non_links: Floats, k: int) -> float:
    """Return the share of links above the k-th best non-link; with fewer than k, all are."""
    if len(non_links) < k:
        return 1.0
    return float(np.mean(links > np.partition(non_links, -k)[-k]))


def mean_reciprocal_rank(links: Floats, non_links: Floats) -> float:
    """Return the mean of 1 / (rank of a link among all non-links); ties count half."""
    ordered = np.sort(non_links)
    below, not_above = (np.searchsorted(ordered, links, side) for side in ("left", "right"))
    before = len(ordered) - 0.5 * (below + not_above)
    return float(np.mean(1.0 / (1.0 + before)))


def _scores(links: ArrayLike, non_links: ArrayLike) -> tuple[Floats, Floats]:
    arrays = [gate.as_floats("links", links), gate.as_floats("non_links", non_links)]
    for name, array in zip(("links", "non_links"), arrays, strict=True):
        if array.ndim != 1 or len(array) == 0 or np.isnan(array).any():
            raise InputError(
                f"{name} has shape {array.shape}; give one score per pair, at least one pair, and "
                "no NaN."
            )
    return arrays[0], arrays[1]


def _labelled(links: Floats, non_links: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return whether each pair is a link, and all scores, links first: (n + m,) each."""
    truth = np.repeat([1, 0], [len(links), len(non_links)])
    return truth, np.concatenate([links, non_links])
