"""Run a method of node classification on many splits at once.

>>> from truegraph.data import load_dataset, random_split
>>> from truegraph.tasks.classify.trials import run_trials
>>> cora = load_dataset("cora")
>>> splits = [random_split(cora.labels, 5, random_state=seed) for seed in range(3)]
>>> results = run_trials("gcn", cora.features, cora.graph, cora.labels, splits, seeds=range(3))
>>> results.probabilities.shape
(3, 2708, 7)

Trials that share the observed graph are trained together; each gets the bits that it would get
alone. Labels of test nodes are hidden before anything is computed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from truegraph.data.nodes.containers import NodeSplit
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.nn.classifiers.registry import CLASSIFIERS
from truegraph.progress import Progress
from truegraph.tasks.classify.inputs import NodeInputs, complete_inputs
from truegraph.tasks.classify.methods import (
    LabelPropagation,
    Method,
    Network,
    Outcome,
    Run,
    diffused,
    feature_neighbours,
    nearest,
)
from truegraph.tasks.classify.problem import open_problem
from truegraph.tasks.classify.recipes.algorithm1 import BGCN
from truegraph.tasks.classify.recipes.ensemble import Ensemble
from truegraph.tasks.classify.recipes.parametric_bgcn import ParametricBGCN
from truegraph.tasks.classify.recipes.refined import Fast, Refined
from truegraph.tasks.classify.recipes.weight_samples import WeightSamples, entropy

METHODS: dict[str, Method] = {
    **{name: Network(name) for name in CLASSIFIERS},
    "label-propagation": LabelPropagation(),
    "knn": Network("gcn", feature_neighbours),
    "gdc": Network("gcn", diffused),
    "gdc-appnp": Network("appnp", diffused),
    "bgcn": BGCN(),
    "bgcn-parametric": ParametricBGCN(),
    "refined": Refined(),
    "fast": Fast(),
}


def find_method(name: str) -> Method:
    """Return the method of that name, or raise an InputError that suggests the nearest."""
    if name not in METHODS:
        raise InputError(f"unknown model {name!r}{nearest(name, list(METHODS))}")
    return METHODS[name]


@dataclass(frozen=True, eq=False)
class TrialResults:
    """What a model predicts in T trials, for every node.

    Attributes
    ----------
    model : str
    probabilities : ndarray of float32, shape (T, N, C)
    expected_entropy : ndarray of float32, shape (T, N), or None
        Mean over the weight samples of the entropy of each; None for models without samples.
    graphs : list of T LearnedGraph, or None
    certificates : list of T Certificate, or None
    weights : list of T WeightSamples or Ensemble, or None
    seconds : dict of str to float
        Per stage, for all trials together, and "total".
    notes : tuple of str
        What was chosen for the user.
    """

    model: str
    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32] | None
    graphs: list[LearnedGraph] | None
    certificates: list[Certificate] | None
    weights: list[WeightSamples] | list[Ensemble] | None
    seconds: dict[str, float]
    notes: tuple[str, ...]

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


def run_trials(
    model: str,
    features: Any,
    graph: Any,
    labels: Any,
    splits: Sequence[NodeSplit],
    seeds: Sequence[int],
    *,
    options: Any = None,
    classes: int | None = None,
    device: str = "cpu",
    cache: PathLike | None = None,
    progress: Progress | None = None,
    keep_graphs: bool = False,
    keep_weights: bool = False,
) -> TrialResults:
    """Train a model once per split and predict every node.

    Parameters
    ----------
    model : str
        A name of `METHODS`.
    features : array or sparse matrix of shape (N, F), or None
        As they are: rows are normalised here. None: identity or degree features.
    graph : anything that `truegraph.data.as_adjacency` understands, or None
        None: the nearest-neighbour graph of the features.
    labels : array-like of int, shape (N,)
        -1 where unknown. Only those of each split's training nodes are used, and those of its
        validation nodes where the model stops early.
    splits : sequence of T NodeSplit
    seeds : sequence of T int >= 0
    options : mapping or the model's own options, optional
        `BGCNOptions`, `ParametricOptions` or the settings of a network.
    classes : int, optional
        Number of classes C; default: one more than the largest label that is used.
    device : str
        Anything that torch knows.
    cache : path-like, optional
        Folder of embeddings computed before.
    progress : Progress, optional
    keep_graphs, keep_weights : bool
        Whether the results carry the learned graphs and the trained weights.

    Returns
    -------
    TrialResults
    """
    began = time.perf_counter()
    find_method(model)
    inputs = complete_inputs(features, graph, len(labels))
    run = Run(device, cache, progress or Progress(), keep_graphs, keep_weights)
    results = run_on_inputs(model, inputs, labels, splits, seeds, options, classes, run)
    results.seconds["total"] = time.perf_counter() - began
    return results


def run_on_inputs(
    model: str,
    inputs: NodeInputs,
    labels: Any,
    splits: Sequence[NodeSplit],
    seeds: Sequence[int],
    options: Any,
    classes: int | None,
    run: Run,
) -> TrialResults:
    """Do what `run_trials` does, with features and graph that were completed before."""
    method = find_method(model)
    chosen = method.options(options)
    _check_device(run.device)
    problem = open_problem(
        inputs,
        labels,
        splits,
        seeds,
        classes=classes,
        use_validation=method.stops_early(chosen),
    )
    for note in inputs.notes:
        run.note(note)
    chunks = problem.chunks(method.trials_at_once(problem, chosen))
    outcomes = [method.run(chunk, chosen, run) for chunk in chunks]
    return _joined(model, outcomes, run)


def _check_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"device {device!r} cannot be used: {reason}. Use 'cpu'.") from error


def _joined(model: str, outcomes: list[Outcome], run: Run) -> TrialResults:
    entropies = [o.expected_entropy for o in outcomes if o.expected_entropy is not None]
    return TrialResults(
        model,
        np.concatenate([outcome.probabilities for outcome in outcomes]),
        np.concatenate(entropies) if entropies else None,
        _joined_lists([outcome.graphs for outcome in outcomes]),
        _joined_lists([outcome.certificates for outcome in outcomes]),
        _joined_lists([outcome.weights for outcome in outcomes]),
        run.seconds,
        tuple(run.notes),
    )


def _joined_lists(parts: list[list[Any] | None]) -> list[Any] | None:
    return None if parts[0] is None else [item for part in parts if part for item in part]
