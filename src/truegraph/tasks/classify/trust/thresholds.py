r"""Thresholds of prediction sets: how improbable a class may be and still belong to the set.

The score of a class at a node is one minus its probability, and zero for the most probable one,
which belongs to every set. A set holds the classes whose scores are at most a threshold t.

`split_threshold`: from labels that were set aside, t is the ceil((m + 1) coverage)-th smallest of
the m true classes' scores. If these nodes and those to be predicted are exchangeable, sets hold
the true class with at least the asked probability (split conformal prediction).

`cross_threshold`: from training labels, each predicted without itself. Few of them do not say
where a high quantile lies: of 15 labels 95 % is more than all. So the quantile is that of a mixture
of the left-out scores with what the probabilities themselves say about unlabelled nodes, in which
class c of node v is the true one with probability p(v, c), counted like `PSEUDO_LABELS` labels. One
more label of infinite score stands for the node to be predicted, and up to five more for the doubt
in probabilities whose temperatures rest on n labels only: 500 / (n + 100). With few labels the sets
rest on the calibration of the probabilities, with many on the labels. Training labels are often
drawn evenly over the classes where the classes are not: each counts by how frequent its class is
thought to be among unlabelled nodes, relative to its frequency among the labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.tasks.classify.trust.left_out import LeftOutLabels

PSEUDO_LABELS = 100.0
_DOUBT, _AT_LEAST = 500.0, 100.0  # labels of infinite score: 1 + 500 / (n + 100)
_MOST_NODES = 20_000  # unlabelled ones that are asked; more would tell no more

Scores = NDArray[np.float64]


def set_scores(
    probabilities: NDArray[np.floating], graph: csr_array | None = None, smoothing: float = 0.0
) -> Scores:
    """Return the score of every class, small ones are believed: (n, C).

    Parameters
    ----------
    probabilities : ndarray of shape (n, C)
    graph : csr_array of shape (n, n), optional
    smoothing : float
        Share, from 0 to 1, of the mean over the neighbours in the graph, as in DAPS; nodes without
        neighbours keep their own scores.
    """
    found: Scores = 1.0 - np.asarray(probabilities, dtype=np.float64)
    if graph is not None and smoothing > 0.0:
        weight = np.asarray(graph.sum(axis=1)).ravel()[:, None]
        around = (graph @ found) / np.where(weight > 0.0, weight, 1.0)
        found = found + smoothing * np.where(weight > 0.0, around - found, 0.0)
    found[np.arange(len(found)), probabilities.argmax(axis=1)] = 0.0
    return found


def split_threshold(scores: Scores, coverage: float) -> float:
    """Return the threshold from the scores (m,) of the true classes of nodes set aside."""
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    if rank > len(scores):
        least = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        raise InputError(
            f"coverage={coverage:g} needs at least {least} calibration labels, for each class if "
            f"class_conditional, and there are {len(scores)}; give more, or lower coverage."
        )
    return float(np.sort(scores)[rank - 1])


def cross_threshold(
    left_out: LeftOutLabels,
    probabilities: NDArray[np.floating],
    coverage: float,
    only: int | None = None,
) -> float:
    """Return the threshold from left-out labels and the probabilities of unlabelled nodes.

    Parameters
    ----------
    left_out : LeftOutLabels
    probabilities : ndarray of shape (n, C)
        Of the unlabelled nodes.
    coverage : float
        Between 0 and 1.
    only : int, optional
        A class: the threshold is then for nodes of this class.
    """
    some = probabilities[:: max(1, -(-len(probabilities) // _MOST_NODES))]
    chances, believed = np.asarray(some, dtype=np.float64), set_scores(some)
    labels = left_out.labels
    own = set_scores(left_out.probabilities)[np.arange(len(labels)), labels]
    weights = _class_weights(labels, chances)
    if only is not None:
        own, weights = own[labels == only], weights[labels == only]
        chances, believed = chances[:, only], believed[:, only]
    if weights.sum() > 0.0:
        weights = weights * len(own) / weights.sum()
    scores = np.concatenate([own, believed.ravel()])
    pseudo = chances.ravel() * (PSEUDO_LABELS / max(chances.sum(), 1e-30))
    beyond = 1.0 + _DOUBT / (len(labels) + _AT_LEAST)
    return _weighted_quantile(scores, np.concatenate([weights, pseudo]), coverage, beyond)


def _class_weights(labels: NDArray[np.int64], chances: Scores) -> Scores:
    """Return how much each label counts, so that classes are as frequent as they are thought."""
    classes = chances.shape[1]
    if not len(labels) or not len(chances):
        return np.ones(len(labels))
    given = np.bincount(labels, minlength=classes)[labels] / len(labels)
    found: Scores = chances.mean(axis=0)[labels] / given
    return found


def _weighted_quantile(scores: Scores, weights: Scores, coverage: float, beyond: float) -> float:
    """Return the least score at or below which a share of the weight lies, `beyond` at infinity."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, coverage * (weights.sum() + beyond) - 1e-9))
    return float(scores[order[place]]) if place < len(scores) else math.inf
