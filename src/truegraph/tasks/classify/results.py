"""What a method of node classification predicts in many trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.tasks.classify.recipes.weight_samples import entropy
from truegraph.tasks.classify.trust.left_out import LeftOutLabels


@dataclass(frozen=True, eq=False)
class TrialResults:
    """What a model predicts in T trials, for every node.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (T, N, C)
    expected_entropy : ndarray of float32, shape (T, N), or None
        Mean over the weight samples of the entropy of each; None for models without samples.
    graphs : list of T LearnedGraph, or None
    certificates : list of T Certificate, or None
    weights : list of T WeightSamples, Ensemble or FittedCommittee, or None
    seconds : dict of str to float
        Per stage, for all trials together, and "total".
    notes : tuple of str
        What was chosen for the user.
    model : str
        Its name.
    beliefs : list of T Belief, or None
        What the committee believes about the true graph.
    left_out : list of T LeftOutLabels, or None
        Training nodes predicted without their own labels.
    """

    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32] | None = None
    graphs: list[LearnedGraph] | None = None
    certificates: list[Certificate] | None = None
    weights: list[Any] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    model: str = ""
    beliefs: list[Any] | None = None
    left_out: list[LeftOutLabels] | None = None

    @property
    def predictions(self) -> NDArray[np.int64]:
        """Most probable class, shape (T, N)."""
        return self.probabilities.argmax(axis=2)

    @property
    def predictive_entropy(self) -> NDArray[np.float64]:
        """Entropy of the averaged probabilities in nats, shape (T, N)."""
        return entropy(self.probabilities)

    @property
    def mutual_information(self) -> NDArray[np.float64] | None:
        """Predictive minus expected entropy, shape (T, N); None for models without samples."""
        if self.expected_entropy is None:
            return None
        return np.maximum(0.0, self.predictive_entropy - self.expected_entropy)

    def in_order(self, trials: Sequence[int] | NDArray[np.integer]) -> TrialResults:
        """Return the trials in another order."""
        order = [int(trial) for trial in trials]

        def picked(items: list[Any] | None) -> list[Any] | None:
            return None if items is None else [items[trial] for trial in order]

        entropies = self.expected_entropy
        return replace(
            self,
            probabilities=self.probabilities[order],
            expected_entropy=None if entropies is None else entropies[order],
            graphs=picked(self.graphs),
            certificates=picked(self.certificates),
            weights=picked(self.weights),
            beliefs=picked(self.beliefs),
            left_out=picked(self.left_out),
        )


def joined_results(
    parts: Sequence[TrialResults], seconds: dict[str, float], notes: Sequence[str]
) -> TrialResults:
    """Return the trials of several portions as one, with the log of the run."""
    entropies = [one.expected_entropy for one in parts if one.expected_entropy is not None]
    return TrialResults(
        np.concatenate([one.probabilities for one in parts]),
        np.concatenate(entropies) if entropies else None,
        _joined([one.graphs for one in parts]),
        _joined([one.certificates for one in parts]),
        _joined([one.weights for one in parts]),
        seconds,
        tuple(notes),
        beliefs=_joined([one.beliefs for one in parts]),
        left_out=_joined([one.left_out for one in parts]),
    )


def _joined(parts: list[Any]) -> list[Any] | None:
    return None if parts[0] is None else [item for part in parts for item in part]
