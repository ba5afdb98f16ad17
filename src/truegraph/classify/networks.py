"""The paper's networks as models of node classification: one set of weights, or samples of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.inputs import NodeInputs
from truegraph.classify.problem import Problem, row_scaling
from truegraph.data.operators import normalise_features
from truegraph.evaluation.samples import mean_of_samples
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.paper.networks import network_class
from truegraph.saving import savable

if TYPE_CHECKING:  # loaded only where a network is used
    from truegraph.paper.algorithm1 import BayesianGCN
    from truegraph.paper.networks.base import NodeNetwork

# The accuracy on few nodes is soon perfect, and then GAT's rule would not stop for hours.
_FEW_VALIDATION, _EPOCHS_IF_FEW = 100, 1000


@savable
@dataclass(eq=False)
class FittedNetwork:
    """What a network learned, to be applied to any graph.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
    expected_entropy : ndarray of float32, shape (N,), or None
    learned_graph : LearnedGraph or None
    network : str
        A name of `truegraph.paper.networks.CLASSIFIERS`.
    features : int
        Number F of features.
    options : dict
        Of the network.
    weights : dict of str to Tensor, shape (S, ...)
        The first dimension counts samples of the weights.
    passes : int
        With dropout, of each sample; 0: one without.
    seed : int
        Of these passes.
    scaling : {"sum", "length"}
        How the rows of its features are normalised.
    """

    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32] | None
    learned_graph: LearnedGraph | None
    network: str
    features: int
    options: dict[str, Any]
    weights: dict[str, Any]
    passes: int
    seed: int
    scaling: str

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the nodes of other inputs."""
        features = normalise_features(inputs.raw, by=self.scaling)
        found, _ = mean_of_samples(self.samples(inputs.graph, features))
        return found

    def samples(self, graph: csr_array, features: csr_array) -> Iterator[NDArray[np.float32]]:
        """Yield what each sample predicts (N', C) on a graph (N', N') with features (N', F)."""
        from truegraph.paper.training import predict_proba, sample_proba

        network = self._network()
        for number in range(len(next(iter(self.weights.values())))):
            network.load_state_dict({name: each[number] for name, each in self.weights.items()})
            if self.passes:
                yield from sample_proba(network, self.passes, graph, features, self.seed)
            else:
                yield predict_proba(network, graph, features)

    def _network(self) -> NodeNetwork:
        from truegraph.paper.step import stream

        kind, classes = network_class(self.network), self.probabilities.shape[1]
        device = next(iter(self.weights.values())).device
        found: NodeNetwork = kind(self.features, classes, stream(0, 0), self.options).to(device)
        return found

    def _check_saved(self) -> None:
        first = {name: each[0] for name, each in self.weights.items()}
        self._network().load_state_dict(first)  # raises where names or shapes do not fit


@dataclass(frozen=True)
class Network:
    """A model by name: a network of `truegraph.paper`, trained on the observed graph."""

    name: str
    stops_early: bool = False

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the options with their defaults."""
        import_extra("torch")
        found: Mapping[str, Any] = network_class(self.name).DEFAULTS
        return found

    def fit(
        self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog
    ) -> FittedNetwork:
        """Train, and predict without dropout."""
        import_extra("torch")
        from truegraph.paper.algorithm1 import BayesianGCN
        from truegraph.paper.training import Training, predict_proba

        training = Training(self.name, problem, self._limited(problem, options, log))
        if row_scaling(problem.inputs) != problem.inputs.normalised_by:
            log.note("features are dense counts: rows are divided by length, not by sum")
        with log.stage(self.name):
            network = training.run(problem.graph, progress=log.progress)
            found = predict_proba(network, problem.graph, problem.features)
            means, entropies = mean_of_samples([found])
        trained = BayesianGCN(network, [network.state_dict()], 0, means, entropies)
        return fitted_network(trained, problem)

    def _limited(
        self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog
    ) -> Mapping[str, Any] | None:
        """Return the options with fewer epochs where few validation nodes say when to stop."""
        is_vague = self.stops_early and len(problem.validation) < _FEW_VALIDATION
        if not is_vague or "epochs" in (options or {}):
            return options
        log.note(f"few validation nodes: at most {_EPOCHS_IF_FEW} epochs unless set")
        return {**(options or {}), "epochs": min(self.defaults["epochs"], _EPOCHS_IF_FEW)}


@dataclass(frozen=True)
class Bayesian:
    """A model by name: a Bayesian GCN, by the names of its module, function and options."""

    module: str
    function: str
    options: str
    stops_early: bool = False

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the options with their defaults."""
        found: Mapping[str, Any] = getattr(self._loaded(), self.options)
        return found

    def fit(
        self, problem: Problem, options: Mapping[str, Any] | None, log: FitLog
    ) -> FittedNetwork:
        """Train it."""
        run = getattr(self._loaded(), self.function)
        return fitted_network(run(problem, options, log), problem)

    def _loaded(self) -> Any:
        import_extra("torch")
        return import_module(f"truegraph.paper.{self.module}")


def fitted_network(found: BayesianGCN, problem: Problem) -> FittedNetwork:
    """Return a model of trained weights."""
    import torch

    network, states = found.network, found.weights
    weights = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    return FittedNetwork(
        found.probabilities,
        found.expected_entropy if found.passes or len(states) > 1 else None,
        found.learned,
        network.name,
        network.features,
        vars(network.options),
        weights,
        found.passes,
        problem.seed,
        row_scaling(problem.inputs),
    )
