"""The paper's networks as models of node classification: one set of weights, or samples of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.inputs import NodeInputs
from truegraph.classify.problem import Problem, row_scaling
from truegraph.data.operators import normalise_features
from truegraph.evaluation.samples import mean_of_samples
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.paper.algorithm1 import BGCN_DEFAULTS, BayesianGCN, algorithm1
from truegraph.paper.networks import network_class
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.parametric_bgcn import PARAMETRIC_DEFAULTS, parametric_bgcn
from truegraph.paper.step import stream
from truegraph.paper.training import Training, predict_proba, sample_proba
from truegraph.saving import savable

__all__ = ["BGCN_DEFAULTS", "PARAMETRIC_DEFAULTS", "FittedNetwork", "network_class"]

# The accuracy on few nodes is soon perfect, and then GAT's rule would not stop for hours.
_FEW_VALIDATION, _EPOCHS_IF_FEW = 100, 1000


@savable
@dataclass(eq=False)
class FittedNetwork:
    """What a network learned, to be applied to any graph."""

    probabilities: NDArray[np.float32]  # (N, C)
    expected_entropy: NDArray[np.float32] | None  # (N,)
    learned_graph: LearnedGraph | None
    network: str  # a name of `truegraph.paper.networks.CLASSIFIERS`
    features: int
    options: dict[str, Any]
    weights: dict[str, Any]  # tensors (S, ...) of S samples
    passes: int  # with dropout, of each sample; 0: one without
    seed: int  # of these passes
    scaling: str  # how the rows of its features are normalised: by "sum" or by "length"

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the nodes of other inputs."""
        features = normalise_features(inputs.raw, by=self.scaling)
        found, _ = mean_of_samples(self._samples(inputs.graph, features))
        return found

    def _samples(self, graph: csr_array, features: csr_array) -> Iterator[NDArray[np.float32]]:
        network = self._network()
        for number in range(len(next(iter(self.weights.values())))):
            network.load_state_dict({name: each[number] for name, each in self.weights.items()})
            if self.passes:
                yield from sample_proba(network, self.passes, graph, features, self.seed)
            else:
                yield predict_proba(network, graph, features)

    def _network(self) -> NodeNetwork:
        kind, classes = network_class(self.network), self.probabilities.shape[1]
        device = next(iter(self.weights.values())).device
        found: NodeNetwork = kind(self.features, classes, stream(0, 0), self.options).to(device)
        return found

    def _check_saved(self) -> None:
        first = {name: each[0] for name, each in self.weights.items()}
        self._network().load_state_dict(first)  # raises where names or shapes do not fit


def fit_network(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog, name: str
) -> FittedNetwork:
    """Train a network of `truegraph.paper` on the observed graph, and predict without dropout."""
    training = Training(name, problem, _limited(name, problem, options, log))
    if row_scaling(problem.inputs) != problem.inputs.normalised_by:
        log.note("features are dense counts: rows are divided by length, not by sum")
    with log.stage(name):
        network = training.run(problem.graph, progress=log.progress)
        found = predict_proba(network, problem.graph, problem.features)
        means, entropies = mean_of_samples([found])
    return _fitted(BayesianGCN(network, [network.state_dict()], 0, means, entropies), problem)


def fit_bgcn(problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> FittedNetwork:
    """Fit the paper's Bayesian GCN."""
    return _fitted(algorithm1(problem, options, log), problem)


def fit_parametric_bgcn(
    problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> FittedNetwork:
    """Fit the Bayesian GCN of Zhang et al."""
    return _fitted(parametric_bgcn(problem, options, log), problem)


def _limited(
    name: str, problem: Problem, options: Mapping[str, Any] | None, log: FitLog
) -> Mapping[str, Any] | None:
    """Return the options with fewer epochs where few validation nodes say when to stop."""
    usual = network_class(name).DEFAULTS
    is_vague = "patience" in usual and len(problem.validation) < _FEW_VALIDATION
    if not is_vague or "epochs" in (options or {}):
        return options
    log.note(f"few validation nodes: at most {_EPOCHS_IF_FEW} epochs unless set")
    epochs = min(usual["epochs"], _EPOCHS_IF_FEW)
    return {**(options or {}), "epochs": epochs}


def _fitted(found: BayesianGCN, problem: Problem) -> FittedNetwork:
    network, states = found.network, found.weights
    return FittedNetwork(
        found.probabilities,
        found.expected_entropy if found.passes or len(states) > 1 else None,
        found.learned,
        network.name,
        network.features,
        vars(network.options),
        {name: torch.stack([state[name] for state in states]) for name in states[0]},
        found.passes,
        problem.seed,
        row_scaling(problem.inputs),
    )
