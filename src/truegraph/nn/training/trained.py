"""Trained weights and what they predict, on the graph of the training or on any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse

from truegraph.errors import InputError
from truegraph.nn.classifiers.registry import find_classifier
from truegraph.nn.dropout import Noise, derive_seeds
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Classifier, Inputs, Settings
from truegraph.nn.training.targets import softmax
from truegraph.nn.training.trial_threads import run_all, trial_groups, worker_threads

# A graph: adjacency matrix (N, N); one for all trials, one per trial, or already prepared.
Graphs = Any
Features = Any


@dataclass(frozen=True)
class TrainedClassifier:
    """T trained copies of a model.

    Parameters
    ----------
    model : Classifier
    weights : dict of tensors with leading dimension T
    seeds : ndarray of shape (T,), uint64
    inputs : Inputs
        Features and graph of the training, which predictions use by default.
    """

    model: Classifier
    weights: Weights
    seeds: np.ndarray
    inputs: Inputs

    @property
    def trials(self) -> int:
        """Number of trials T."""
        return len(self.seeds)

    def prepare_graphs(self, graphs: Graphs) -> FixedSparse:
        """Return the model's operator of a graph, to be given as ``graphs`` more than once."""
        return prepare_graphs(self.model, graphs)

    def predict_proba(self, graphs: Graphs = None, features: Features = None) -> np.ndarray:
        """Return class probabilities without dropout.

        Parameters
        ----------
        graphs : sparse matrix (N', N'), sequence of T of them, or a prepared one, optional
            The graph to predict on; that of the training by default.
        features : array or sparse matrix (N', F), optional
            Prepared as those of the training were; N' may differ from N (new nodes).

        Returns
        -------
        ndarray of shape (T, N', C), float32
        """
        return self._probabilities(self._inputs(graphs, features), noise=None)

    def sample_proba(
        self, samples: int, graphs: Graphs = None, features: Features = None, seed: int = 0
    ) -> Iterator[np.ndarray]:
        """Yield class probabilities of passes with dropout on (Monte Carlo dropout).

        Parameters
        ----------
        samples : int
            Number of passes; each yields an array of shape (T, N', C), float32.
        graphs, features
            As in :meth:`predict_proba`.
        seed : int
            Chooses the masks, together with each trial's own seed.
        """
        inputs = self._inputs(graphs, features)
        # training uses the trials' seeds as they are: samples take another stream
        seeds = derive_seeds(self.seeds, seed)
        for sample in range(samples):
            yield self._probabilities(inputs, Noise(seeds, sample))

    def state_dict(self) -> Weights:
        """Return the weights as tensors on the CPU, by name."""
        return {name: tensor.detach().cpu() for name, tensor in self.weights.items()}

    def select(self, trials: Sequence[int] | np.ndarray) -> TrainedClassifier:
        """Return some of the trials."""
        index = np.asarray(trials)
        weights = {name: tensor[index] for name, tensor in self.weights.items()}
        inputs = Inputs(self.inputs.features, self.inputs.operator.select(index))
        return TrainedClassifier(self.model, weights, self.seeds[index], inputs)

    def _inputs(self, graphs: Graphs, features: Features) -> Inputs:
        operator = self.inputs.operator if graphs is None else self.prepare_graphs(graphs)
        matrix = self.inputs.features if features is None else prepare_features(features)
        check_inputs(Inputs(matrix, operator), self.trials, self.model.features)
        return Inputs(matrix, operator)

    def _probabilities(self, inputs: Inputs, noise: Noise | None) -> np.ndarray:
        place = next(iter(self.weights.values())).device
        groups = trial_groups(self.trials, self.model.group_size, place)

        def predict(group: np.ndarray) -> np.ndarray:
            weights = {name: tensor[group] for name, tensor in self.weights.items()}
            own = Inputs(inputs.features, inputs.operator.select(group))
            own_noise = None if noise is None else Noise(noise.seeds[group], noise.step)
            with torch.no_grad():
                return softmax(self.model.forward(weights, own, own_noise))

        with worker_threads(len(groups)) as pool:
            return np.concatenate(run_all(pool, predict, groups))


def restore_classifier(
    name: str,
    weights: Weights,
    settings: Settings,
    seeds: Sequence[int],
    features: Features,
    graphs: Graphs,
    classes: int,
) -> TrainedClassifier:
    """Return the classifier that had these weights (:meth:`TrainedClassifier.state_dict`)."""
    matrix = prepare_features(features)
    model = find_classifier(name)(settings, matrix.shape[1], classes)
    inputs = Inputs(matrix, prepare_graphs(model, graphs))
    check_inputs(inputs, len(seeds), model.features)
    return TrainedClassifier(model, weights, np.array(seeds, dtype=np.uint64), inputs)


def prepare_features(features: Features) -> FixedSparse:
    """Return features (N, F) in the form that the models multiply with."""
    if isinstance(features, FixedSparse):
        return features
    if np.ndim(features) != 2:
        raise InputError(f"features has shape {np.shape(features)}; it must be (N, F).")
    return FixedSparse(csr_array(features))


def prepare_graphs(model: Classifier | type[Classifier], graphs: Graphs) -> FixedSparse:
    """Return the model's operator of an adjacency matrix, or of one per trial."""
    if isinstance(graphs, FixedSparse):
        return graphs
    if issparse(graphs):
        return FixedSparse(model.operator(graphs))
    if isinstance(graphs, np.ndarray) or not isinstance(graphs, Sequence):
        raise InputError(
            f"graphs has type {type(graphs).__name__}; give a SciPy sparse adjacency matrix, or a "
            "list of one per trial."
        )
    return FixedSparse([model.operator(graph) for graph in graphs])


def check_inputs(inputs: Inputs, trials: int, features: int) -> None:
    """Raise InputError where sizes of features, graphs and trials do not fit together."""
    nodes, width = inputs.features.shape
    if width != features:
        raise InputError(f"features has {width} columns; the model expects {features}.")
    if inputs.operator.shape != (nodes, nodes):
        raise InputError(
            f"graphs has shape {inputs.operator.shape}; it must be {(nodes, nodes)}, like the "
            f"{nodes} rows of features."
        )
    if inputs.operator.count not in (1, trials):
        raise InputError(
            f"graphs holds {inputs.operator.count} graphs; give one, or one per trial ({trials})."
        )
