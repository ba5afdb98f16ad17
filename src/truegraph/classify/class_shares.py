r"""How frequent the classes are among all nodes, where training labels do not say.

Labels are often drawn evenly where the classes are not even. Predictions of the unlabelled nodes
tell: shares pi are those under which the mean of the predictions, each multiplied by pi over the
share among the labels, is pi again (Saerens et al. 2002), with a Dirichlet prior around the shares
of the labels that is the stronger, the less sure the predictions are. Small differences are within
the error of such an estimate and are not believed; a clear one, of `_CLEAR` nats, is in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.errors import InputError

_STEPS = 50  # more change nothing
# lab/choose/auto_class_shares.py
_PRIOR = 3.0  # strength of the prior where predictions are half as sure as they could be
_CLEAR = 0.1  # divergence of the shares from those of the labels, in nats
_SURE = (0.02, 0.99)  # limits of how sure predictions are taken to be
_WORTH_SAYING = 0.05  # difference of a share
_MOST_NODES = 20_000  # unlabelled ones that are asked; more would tell no more

Floats = NDArray[np.float64]


def class_factors(prior: Any, counts: Floats) -> Floats:
    """Return what to multiply class probabilities (..., C) with, given the labels' counts (C,).

    Ones where predictions will have to say it.
    """
    classes = len(counts)
    if isinstance(prior, str) and prior in ("auto", "train"):
        return np.ones(classes)
    wanted = np.full(classes, 1.0 / classes)
    if not isinstance(prior, str):
        wanted = gate.numbers("class_prior", prior)
        if wanted.shape != (classes,) or not (wanted >= 0.0).all() or not wanted.sum() > 0.0:
            raise InputError(
                f"class_prior={prior!r} does not fit; give {classes} shares >= 0, one per class in "
                "the order of classes_."
            )
    given = counts + 1e-9
    factors: Floats = (wanted / wanted.sum()) / (given / given.sum())
    return factors


def estimated_factors(probabilities: NDArray[np.floating], counts: Floats) -> Floats:
    """Return what to multiply class probabilities (..., C) with, so that shares are as estimated.

    Probabilities (n, C) are of unlabelled nodes, if classes were as frequent as among the labels,
    of which there are `counts` (C,). A class without labels keeps the factor 1.
    """
    factors = np.ones(len(counts))
    there = np.flatnonzero(counts)
    some = probabilities[:: max(1, -(-len(probabilities) // _MOST_NODES))]
    chances = np.asarray(some, dtype=np.float64)[:, there]
    total = chances.sum(axis=1, keepdims=True)
    chances = chances[total[:, 0] > 0.0] / total[total[:, 0] > 0.0]
    if len(there) < 2 or not len(chances):
        return factors
    given = counts[there] / counts.sum()
    found = _shares(chances, given, _prior_strength(chances))
    divergence = float(found @ np.log(found / given))
    factors[there] = (found / given) ** min(1.0, divergence / _CLEAR)
    return factors


def _prior_strength(chances: Floats) -> float:
    """Return how many times the prior counts what all predictions (n, C) together count."""
    guess = 1.0 / chances.shape[1]
    sure = (float(chances.max(axis=1).mean()) - guess) / (1.0 - guess)
    sure = float(np.clip(sure, *_SURE))
    return _PRIOR * (1.0 - sure) / sure


def _shares(chances: Floats, given: Floats, prior: float) -> Floats:
    """Return the shares (C,) of the classes, `given` being those of the labels."""
    found = given
    for _ in range(_STEPS):
        moved = chances * (found / given)
        mean = (moved / moved.sum(axis=1, keepdims=True)).mean(axis=0)
        found = (mean + prior * given) / (1.0 + prior)
    return found


def shares_of(counts: Floats, factors: Floats) -> Floats:
    """Return the shares (C,) of the classes that factors mean, given the labels' counts (C,)."""
    found = counts * factors
    return np.asarray(found / found.sum(), dtype=np.float64)


def uneven_classes(counts: Floats, factors: Floats) -> str | None:
    """Return in words that classes are not as frequent as the labels; None if they nearly are."""
    given, found = shares_of(counts, np.ones(len(factors))), shares_of(counts, factors)
    most = int(np.argmax(found - given))
    if found[most] - given[most] < _WORTH_SAYING:
        return None
    return (
        "classes seem less even than the labels: probabilities take one that has "
        f"{given[most]:.0%} of the labels to have {found[most]:.0%} of the nodes (class_shares_)"
    )
