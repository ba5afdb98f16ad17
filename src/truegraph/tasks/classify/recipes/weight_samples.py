"""Samples of a network's weights, and the average of what they predict.

The Monte Carlo average of the paper, p(Z) = (1/S) sum_s softmax GCN(W_s, G, X), is kept together
with the mean entropy of the samples: the entropy of the average minus it is the mutual information
between a node's class and the weights, the part of the uncertainty that more data would remove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:  # averages are taken without torch too
    import torch

    from truegraph.nn.training.trained import TrainedClassifier

Probabilities = NDArray[np.float32]


def entropy(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the entropy in nats along the last axis, with 0 log 0 = 0."""
    p = np.asarray(probabilities, dtype=np.float64)
    return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)


class MonteCarloAverage:
    """Running mean of probabilities (..., C) and of their entropy (...), in the order given."""

    def __init__(self) -> None:
        self.samples = 0
        self._sum: Any = 0.0
        self._entropy: Any = 0.0

    def add(self, probabilities: NDArray[Any]) -> None:
        """Add one sample."""
        self._sum = self._sum + probabilities.astype(np.float64)
        self._entropy = self._entropy + entropy(probabilities)
        self.samples += 1

    @property
    def probabilities(self) -> Probabilities:
        """Mean of the samples, float32."""
        return np.asarray(self._sum / self.samples, dtype=np.float32)

    @property
    def expected_entropy(self) -> Probabilities:
        """Mean entropy of the samples, float32."""
        return np.asarray(self._entropy / self.samples, dtype=np.float32)


def average_of(samples: Iterable[NDArray[Any]]) -> MonteCarloAverage:
    """Return the average of some samples."""
    average = MonteCarloAverage()
    for sample in samples:
        average.add(sample)
    return average


@dataclass(frozen=True, eq=False)
class WeightSamples:
    """The trained weights of one trial, to be applied to any graph.

    Attributes
    ----------
    classifier : TrainedClassifier
        One trial; or, for "snapshots", one trial per sample.
    rule : {"point", "mc-dropout", "snapshots"}
        One prediction without dropout, passes with dropout, or one prediction per snapshot.
    samples : int
    """

    classifier: TrainedClassifier
    rule: str
    samples: int = 1

    def predict(self, graph: csr_array, features: csr_array) -> MonteCarloAverage:
        """Return the average prediction (N', C) on a graph (N', N') with features (N', F)."""
        return average_of(self.passes(graph, features))

    def passes(self, graph: csr_array, features: csr_array) -> Iterator[NDArray[Any]]:
        """Yield the prediction (N', C) of each sample."""
        if self.rule == "mc-dropout":
            for sample in self.classifier.sample_proba(self.samples, graph, features):
                yield sample[0]
        else:
            yield from self.classifier.predict_proba(graph, features)


class Snapshots:
    """Collects what a network in training predicts after each epoch from a first one on.

    Parameters
    ----------
    first : int
        First epoch to collect.
    graph : csr_array, or None
        Where to predict; None: on the graph of the epoch.
    keep_weights : bool
        Whether to keep the weights as well, for `samples`.
    """

    def __init__(self, first: int, graph: csr_array | None, keep_weights: bool) -> None:
        self.average = MonteCarloAverage()
        self._first = first
        self._graph: Any = graph
        self._states: list[dict[str, torch.Tensor]] | None = [] if keep_weights else None

    def __call__(self, epoch: int, classifier: TrainedClassifier) -> None:
        """Take in the weights after an epoch; to be given as ``on_epoch``."""
        if epoch < self._first:
            return
        if self._graph is not None:
            self._graph = classifier.prepare_graphs(self._graph)
        self.average.add(classifier.predict_proba(self._graph))
        if self._states is not None:
            # the next epoch writes over the weights
            state = {name: tensor.clone() for name, tensor in classifier.state_dict().items()}
            self._states.append(state)

    def samples(self, last: TrainedClassifier, graph: csr_array) -> list[WeightSamples] | None:
        """Return the weights of each trial, snapshot after snapshot; None if they were not kept."""
        if self._states is None:
            return None
        import torch

        from truegraph.nn.training.base import Inputs
        from truegraph.nn.training.trained import TrainedClassifier

        inputs = Inputs(last.inputs.features, last.prepare_graphs(graph))
        count = len(self._states)
        found = []
        for trial in range(last.trials):
            weights = {
                name: torch.stack([state[name][trial] for state in self._states])
                for name in self._states[0]
            }
            seeds = np.repeat(last.seeds[trial : trial + 1], count)
            stacked = TrainedClassifier(last.model, weights, seeds, inputs)
            found.append(WeightSamples(stacked, "snapshots", count))
        return found
