"""How node classifiers are trained, and what they predict.

A `task` is `truegraph.classify.problem.Problem` or the like: a `graph` (N, N), `features` (N, F)
with normalised rows and `raw` (N, F) ones, `labels` (N,), of which those of the nodes `train` (n,)
and `validation` (v,) are read, the number of `classes`, `seed`, `device`, and a folder `cache`.

A training goes on where it stopped, with the same weights, moments of Adam and random numbers::

    training = Training("gcn", task)
    training.run(task.graph)
    for network in training.epochs(learned, 100):           # after each epoch
        probabilities = predict_proba(network, task.graph, task.features)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch.nn.functional import cross_entropy

from truegraph.errors import InputError
from truegraph.paper.networks import network_class
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.step import Adam, check_finite, one_thread, stream
from truegraph.progress import Progress

_WEIGHTS, _DROPOUT, _PASSES = 0, 1, 2  # streams of a seed

Graph = csr_array | Callable[[int], csr_array]  # one for all epochs, or that of each
Floats = NDArray[np.float32]


class Training:
    """A network in training; `epoch` counts epochs, and `graph` is that of the last one."""

    def __init__(
        self,
        name: str,
        task: Any,
        options: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        seed = task.seed if seed is None else seed
        kind, width = network_class(name), task.features.shape[1]
        self.network: NodeNetwork = kind(width, task.classes, stream(seed, _WEIGHTS), options)
        self.network.to(task.device)
        self.options, self.epoch, self._task = self.network.options, 0, task
        self._labels = torch.from_numpy(task.labels[task.train]).to(task.device)
        weights, decay = dict(self.network.named_parameters()), self.network.weight_decay()
        self._adam = Adam(weights, self.options.learning_rate, decay)
        self._noise = stream(seed, _DROPOUT, task.device)
        stops_early = getattr(self.options, "patience", None) is not None
        if stops_early and not len(task.validation):
            raise InputError(f"{name} stops early, but validation is None; give validation nodes.")
        self._patience = _Patience(self.network, task) if stops_early else None

    def run(
        self, graph: Graph, epochs: int | None = None, *, progress: Progress | None = None
    ) -> NodeNetwork:
        """Train for some epochs and return the network; parameters as in `epochs`."""
        for _ in self.epochs(graph, epochs, progress=progress):
            pass
        return self.network

    def epochs(
        self, graph: Graph, count: int | None = None, *, progress: Progress | None = None
    ) -> Iterator[NodeNetwork]:
        """Train on a graph (N, N), by default for the epochs of the options; yield after each.

        A function is asked for the graph of each epoch by its number since the start, from 0. Where
        training stops early, the network has its best weights in the end.
        """
        task, patience = self._task, self._patience
        count = self.options.epochs if count is None else count
        for done in range(count):
            with one_thread():
                if done == 0 or callable(graph):
                    self.graph = graph(self.epoch) if callable(graph) else graph
                    given = (self.graph, task.features, task.train, self._labels)
                    prepared = self.network.prepare_loss(*given)
                    if patience is not None:
                        patience.set_graph(self.graph)
                loss = self.network.loss(prepared, self._noise)
                self._adam.step(loss)
                self.network.constrain()
                self.epoch += 1
                is_over = patience is not None and patience.is_over()
            if progress is not None:
                progress.update(done + 1, count)
            yield self.network
            if is_over:
                break
        check_finite(loss, self.network.name)
        if patience is not None:
            self.network.load_state_dict(patience.best)


class _Patience:
    """Keeps the best weights on the validation nodes, and says when to stop.

    A gain is a lower loss, and its weights are kept. Where the accuracy is watched too (the rule of
    GAT), a gain is a loss or an accuracy at least as good as the best, and the weights are kept
    only when both are.
    """

    def __init__(self, network: NodeNetwork, task: Any) -> None:
        self._network, self._task = network, task
        self._labels = torch.from_numpy(task.labels[task.validation]).to(task.device)
        self._loss, self._accuracy, self._waited = np.inf, -np.inf, 0
        self.best = deepcopy(network.state_dict())

    def set_graph(self, graph: csr_array) -> None:
        self._inputs = self._network.prepare(graph, self._task.features, self._task.validation)

    def is_over(self) -> bool:
        """Look at the present weights; return whether there was no gain for too long."""
        with torch.no_grad():
            logits = self._network(self._inputs)
            loss = float(cross_entropy(logits, self._labels))
            accuracy = float((logits.argmax(1) == self._labels).double().mean())
        gain = keep = loss < self._loss
        if self._network.watches_accuracy:
            lower, higher = loss <= self._loss, accuracy >= self._accuracy
            gain, keep = lower or higher, lower and higher
        self._loss, self._accuracy = min(loss, self._loss), max(accuracy, self._accuracy)
        self._waited = 0 if gain else self._waited + 1
        if keep:
            self.best = deepcopy(self._network.state_dict())
        return bool(self._waited >= self._network.options.patience)


def predict_proba(network: NodeNetwork, graph: csr_array, features: csr_array) -> Floats:
    """Return class probabilities (N, C) on a graph, without dropout."""
    return probabilities(network, network.prepare(graph, features))


def sample_proba(
    network: NodeNetwork, samples: int, graph: csr_array, features: csr_array, seed: int
) -> Iterator[Floats]:
    """Yield class probabilities (N, C) of passes with dropout (Monte Carlo dropout)."""
    noise, inputs = stream(seed, _PASSES, network.device), network.prepare(graph, features)
    for _ in range(samples):
        yield probabilities(network, inputs, noise)


def probabilities(
    network: NodeNetwork, inputs: Any, noise: torch.Generator | None = None
) -> Floats:
    """Return class probabilities (N, C) of prepared inputs; dropout only with noise."""
    with one_thread(), torch.no_grad():
        found: Floats = torch.softmax(network(inputs, noise), 1).cpu().numpy()
    return found
