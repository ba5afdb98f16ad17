r"""How sure probabilities should be, learned from labels that were left out or set aside.

A prediction p at temperature t is p^(1/t), normalised: t < 1 makes it surer, t > 1 less sure, and
the order of the classes stays. How much too sure or too modest a prediction is depends on the node:
its entropy and the number of its neighbours tell (nodes with many neighbours are averaged over
more). The logarithm of the temperature of node v is

.. math:: a + b (H_v - 0.3) + c (\log(1 + d_v) - m),

with the entropy H_v of its probabilities as a share of the largest possible, its number of
neighbours d_v, and the mean m over all nodes. Where many labels were set aside, an offset per class
is added to the logarithms of the tempered probabilities: rare classes are often given too little.
All of these are those of greatest likelihood of the labels, with a normal prior around zero: few
labels hardly move them.

How frequent the classes are among all nodes, training labels do not say: they are often drawn
evenly where the classes are not even. Predictions of the unlabelled nodes tell: shares pi are those
under which the mean of the predictions, each multiplied by pi over the share among the labels, is
pi again (Saerens et al. 2002), with a Dirichlet prior around the shares of the labels that is the
stronger, the less sure the predictions are. Small differences are within the error of such an
estimate and count nothing; a clear one, of `_CLEAR` nats, counts in full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from truegraph import gate
from truegraph.classify.left_out import LeftOutLabels
from truegraph.errors import InputError
from truegraph.evaluation.samples import entropy
from truegraph.saving import savable

LEAST_LABELS = 100  # left-out ones; fewer say less than what is usual
_MANY_LABELS = 300  # that offsets of the classes are learned from
# lab/choose/auto_temperatures.py
_DEVIATION = 0.5  # of the priors: few labels cannot move a temperature far
_LITTLE = 0.1  # deviation where the probabilities have learned temperatures already
_USUAL_ENTROPY = 0.3
_LARGEST = 1.5  # of |log temperature| of a node
_LARGEST_OF_ALL = 2.5  # of |log temperature| of all nodes
_TINY = 1e-30  # probabilities below this are as good as zero
_STEPS = 40  # of bisection

Floats = NDArray[np.float64]


def tempered(probabilities: NDArray[Any], temperature: float | NDArray[Any]) -> Floats:
    """Return probabilities (..., C) at a temperature, or (n, ..., C) at one each (n,)."""
    p = np.asarray(probabilities, dtype=np.float64)
    if np.all(temperature == 1.0):
        return p
    heat = np.asarray(temperature, dtype=np.float64)
    if heat.ndim:
        heat = heat.reshape(-1, *[1] * (p.ndim - 1))
    logits = np.log(np.maximum(p, _TINY)) / heat
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return found


def confidence(probabilities: NDArray[Any]) -> float:
    """Return the mean over the nodes of the largest probability of (N, C)."""
    return float(probabilities.max(axis=-1).mean())


def confidence_temperature(probabilities: NDArray[Any], wanted: float) -> float:
    """Return the temperature at which predictions (N, C) have a given mean confidence."""
    p = np.maximum(np.asarray(probabilities, dtype=np.float64), _TINY)
    logits = np.log(p / p.max(axis=-1, keepdims=True))
    low, high = -np.log(30.0), np.log(30.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        # The largest of the tempered probabilities is one divided by the sum that normalises them.
        reached = (1.0 / np.exp(logits * np.exp(-middle)).sum(axis=-1)).mean()
        low, high = (middle, high) if reached > wanted else (low, middle)
    return float(np.exp(0.5 * (low + high)))


def fitted_temperature(
    probabilities: NDArray[Any], labels: NDArray[np.int64], weights: Floats | float = 1.0
) -> float:
    """Return the temperature of least negative log-likelihood, with a prior around one."""
    if len(labels) == 0:
        return 1.0
    nodes = np.arange(len(labels))

    def cost(log_temperature: float) -> float:
        chance = tempered(probabilities, float(np.exp(log_temperature)))[nodes, labels]
        missed = -(weights * np.log(np.maximum(chance, 1e-12))).sum()
        return float(missed + 0.5 * (log_temperature / _DEVIATION) ** 2)

    bounds = (-_LARGEST_OF_ALL, _LARGEST_OF_ALL)
    return float(np.exp(minimize_scalar(cost, bounds=bounds, method="bounded").x))


def moved_entropy(
    expected: NDArray[np.float32], before: NDArray[Any], after: NDArray[Any]
) -> NDArray[np.float32]:
    """Return the expected entropy (N,) of probabilities (N, C) that moved: its share stays."""
    share = np.minimum(1.0, expected / np.maximum(entropy(before), _TINY))
    return (entropy(after) * share).astype(np.float32)


def log_degrees(graph: csr_array) -> Floats:
    """Return log(1 + number of neighbours) of every node, shape (N,)."""
    found: Floats = np.log1p(np.diff(graph.indptr)).astype(np.float64)
    return found


@savable
class NodeTemperatures:
    """How the temperature of a node follows from its entropy and degree, and offsets of classes.

    They are learned from nodes whose labels their probabilities do not know; `degrees` (N,) are
    those of `log_degrees` of all nodes.
    """

    def __init__(
        self,
        seen: LeftOutLabels,
        degrees: Floats,
        *,
        deviation: float = _DEVIATION,
        with_offsets: bool = False,
    ) -> None:
        self.labels, self.centre = len(seen.labels), float(degrees.mean())
        counts, chances = seen.counts, np.asarray(seen.probabilities, dtype=np.float64)
        design = _design(chances, degrees[seen.nodes] - self.centre)
        logits = np.log(np.maximum(chances, _TINY))
        rows, labels = np.arange(self.labels), seen.labels
        classes = logits.shape[1] if with_offsets and len(labels) >= _MANY_LABELS else 0
        told = np.bincount(labels, weights=counts, minlength=logits.shape[1])
        precision = np.array([deviation] * 3 + [_DEVIATION] * classes) ** -2.0

        def cost(values: Floats) -> tuple[float, Floats]:
            coefficients, offsets = values[:3], values[3:]
            inverse = np.exp(-np.clip(design @ coefficients, -_LARGEST, _LARGEST))
            cooled = logits * inverse[:, None]
            scaled = cooled + offsets if classes else cooled
            missed = logsumexp(scaled, axis=1) - scaled[rows, labels]
            likely = softmax(scaled, axis=1)
            # of each node's cost by the logarithm of its temperature
            slope = cooled[rows, labels] - (likely * cooled).sum(axis=1)
            by_offset = (counts @ likely - told)[:classes]
            prior = precision * values
            value = counts @ missed + 0.5 * float(prior @ values)
            return float(value), np.concatenate([design.T @ (counts * slope), by_offset]) + prior

        found = minimize(cost, np.zeros(3 + classes), jac=True, method="L-BFGS-B").x
        self.coefficients, self.offsets = found[:3], found[3:]

    @property
    def described(self) -> str:
        """What was learned, in words."""
        return "temperatures of the nodes" + " and offsets of the classes" * bool(len(self.offsets))

    def temperatures(self, probabilities: NDArray[Any], degrees: Floats) -> Floats:
        """Return the temperatures (n,) of nodes."""
        logs = _design(probabilities, degrees - self.centre) @ self.coefficients
        found: Floats = np.exp(np.clip(logs, -_LARGEST, _LARGEST))
        return found

    def applied(self, probabilities: NDArray[Any], degrees: Floats) -> Floats:
        """Return the probabilities (n, C) of nodes at their temperatures, classes offset."""
        found = tempered(probabilities, self.temperatures(probabilities, degrees))
        if len(self.offsets):
            found = found * np.exp(self.offsets)
            found /= found.sum(axis=1, keepdims=True)
        return found

    def _check_saved(self) -> None:
        gate.array("coefficients", self.coefficients, (3,))
        gate.array("offsets", self.offsets, (None,))
        if self.labels < 0 or not np.isfinite(self.centre):
            raise InputError("temperatures lack their labels or their centre.")


def learned_temperatures(
    left_out: LeftOutLabels, graph: csr_array
) -> tuple[NodeTemperatures | None, LeftOutLabels]:
    """Return the temperatures that left-out labels teach, and these labels' nodes at theirs."""
    if len(left_out.nodes) < LEAST_LABELS:
        return None, left_out
    degrees = log_degrees(graph)
    found = NodeTemperatures(left_out, degrees)
    chances = found.applied(left_out.probabilities, degrees[left_out.nodes])
    return found, replace(left_out, probabilities=chances)


def calibrating_temperatures(
    aside: LeftOutLabels, left_out: LeftOutLabels | None, degrees: Floats
) -> NodeTemperatures:
    """Learn temperatures, and offsets of classes, from labels that were set aside."""
    deviation, seen = _DEVIATION, aside
    if left_out is not None:
        both = (aside, left_out)
        names = ("nodes", "labels", "probabilities", "counts")
        parts = [np.concatenate([getattr(one, name) for one in both]) for name in names]
        seen = LeftOutLabels(*parts)
        deviation = _LITTLE if len(left_out.nodes) >= LEAST_LABELS else _DEVIATION
    found = NodeTemperatures(seen, degrees, deviation=deviation, with_offsets=True)
    found.labels = len(aside.nodes)
    return found


def _design(probabilities: NDArray[Any], degrees: Floats) -> Floats:
    """Return one, entropy and degree of every node, around their usual values: (n, 3)."""
    share = entropy(probabilities) / np.log(probabilities.shape[1])
    return np.column_stack([np.ones(len(share)), share - _USUAL_ENTROPY, degrees])


# --- how frequent the classes are -----------------------------------------------------------------

_STEPS_OF_SHARES = 50  # more change nothing
# lab/choose/auto_class_shares.py
_PRIOR = 3.0  # strength of the prior where predictions are half as sure as they could be
_CLEAR = 0.1  # divergence of the shares from those of the labels, in nats
_SURE = (0.02, 0.99)  # limits of how sure predictions are taken to be
_WORTH_SAYING = 0.05  # difference of a share
_MOST_NODES = 20_000  # unlabelled ones that are asked; more would tell no more


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
    for _ in range(_STEPS_OF_SHARES):
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
