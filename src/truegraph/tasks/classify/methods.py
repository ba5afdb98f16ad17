"""What a method of node classification is, and the methods that need no learned graph.

A method trains many trials at once: `Network` any of the classifiers of `truegraph.nn`, on the
observed graph or on one put in its place, and `LabelPropagation` nothing at all. Networks load
torch when they are asked for, since the committee of few nodes does without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.extras import import_extra
from truegraph.nn.classifiers.diffusion import diffusion_graph
from truegraph.nn.classifiers.label_propagation import propagate_labels
from truegraph.nn.options import options_from
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import NodeInputs, neighbour_graph
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.weight_samples import WeightSamples
from truegraph.tasks.classify.results import TrialResults

if TYPE_CHECKING:
    from truegraph.nn.training.training import Training

_TRIALS_AT_ONCE = 64


class Method(ABC):
    """A way to classify nodes, for many trials at once."""

    options_type: ClassVar[type]

    def options(self, given: Any) -> Any:
        """Return the options from None, a mapping or the options themselves."""
        return options_from(given, self.options_type)

    def stops_early(self, options: Any) -> bool:
        """Whether validation labels are needed, and may be seen."""
        return False

    def trials_at_once(self, problem: Problem, options: Any) -> int:
        """Return how many trials fit into memory together."""
        return _TRIALS_AT_ONCE

    def graph(self, inputs: NodeInputs) -> csr_array:
        """Return the graph that stands for the observed one."""
        return inputs.graph

    def limited(self, options: Any, epochs: int) -> Any:
        """Return the options with at most `epochs` epochs for what stops early by itself."""
        return options

    @abstractmethod
    def run(self, problem: Problem, options: Any, run: Run) -> TrialResults:
        """Train all trials of a problem."""


def stops_early(name: str) -> bool:
    """Whether a classifier of `truegraph.nn` needs validation nodes."""
    from truegraph.nn.classifiers.registry import find_classifier

    kind = find_classifier(name)
    return kind(kind.settings_type(), 1, 1).stopping is not None


class Network(Method):
    """A classifier of `truegraph.nn`.

    Parameters
    ----------
    name : str
        Its name there.
    graph : callable(NodeInputs) -> csr_array, optional
        Makes the graph that takes the place of the observed one.
    """

    def __init__(self, name: str, graph: Callable[[NodeInputs], csr_array] | None = None) -> None:
        self.name = name
        self._graph = graph

    def options(self, given: Any) -> Any:
        """Return the settings of the classifier."""
        import_extra("torch")
        from truegraph.nn.classifiers.registry import find_classifier

        return options_from(given, find_classifier(self.name).settings_type)

    def stops_early(self, options: Any) -> bool:
        """Whether the classifier stops early."""
        return stops_early(self.name)

    def limited(self, options: Any, epochs: int) -> Any:
        """Return the settings with a limit, unless the user chose the number of epochs."""
        is_chosen = options.epochs != type(options)().epochs
        if is_chosen or not self.stops_early(options):
            return options
        return replace(options, epochs=min(options.epochs, epochs))

    def graph(self, inputs: NodeInputs) -> csr_array:
        """Return the graph to train and predict on."""
        return inputs.graph if self._graph is None else self._graph(inputs)

    def run(self, problem: Problem, options: Any, run: Run) -> TrialResults:
        """Train, and predict without dropout."""
        graph = self.graph(problem.inputs)
        with run.stage(self.name):
            training = training_of(problem, self.name, options, run)
            trained = training.run(graph, progress=run.progress)
            probabilities = trained.predict_proba()
        weights = None
        if run.keep_weights:
            weights = [WeightSamples(trained.select([t]), "point") for t in range(problem.trials)]
        return TrialResults(probabilities, weights=weights)


def training_of(problem: Problem, name: str, settings: Any, run: Run, **other: Any) -> Training:
    """Return the training of a problem's trials; `other` takes the place of its own parts."""
    from truegraph.nn.training.training import Training

    own: dict[str, Any] = {
        "features": problem.inputs.features,
        "labels": problem.labels,
        "train": problem.train,
        "validation": problem.validation,
        "seeds": problem.seeds,
        "classes": problem.classes,
    }
    return Training(name, settings=settings, device=run.device, **own | other)


@dataclass(frozen=True)
class PropagationOptions:
    """Options of label propagation.

    Parameters
    ----------
    alpha : float
        Weight of the neighbours against a node's own label, in [0, 1).
    """

    alpha: float = 0.9


class LabelPropagation(Method):
    """Labels spread over the graph; features are not used."""

    options_type = PropagationOptions

    def run(self, problem: Problem, options: Any, run: Run) -> TrialResults:
        """Propagate the training labels of each trial."""
        graph, classes = self.graph(problem.inputs), problem.classes
        with run.stage("label-propagation"):
            rows = [
                self.spread(graph, labels, train, classes, options)
                for labels, train in zip(problem.labels, problem.train, strict=True)
            ]
        return TrialResults(np.stack(rows))

    def spread(
        self,
        graph: csr_array,
        labels: NDArray[np.int64],
        train: NDArray[np.int64],
        classes: int,
        options: Any,
    ) -> NDArray[np.float32]:
        """Return class probabilities (N, C) of one trial, on the given graph."""
        return propagate_labels(graph, labels, train, classes, alpha=options.alpha)


def diffused(inputs: NodeInputs) -> csr_array:
    """Return the observed graph after diffusion (GDC)."""
    return diffusion_graph(inputs.graph)


def feature_neighbours(inputs: NodeInputs) -> csr_array:
    """Return the nearest-neighbour graph of the features."""
    return neighbour_graph(inputs.raw)[0]
