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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from truegraph.data.nodes.containers import NodeSplit
from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.extras import import_extra
from truegraph.progress import Progress
from truegraph.suggestions import suggestion
from truegraph.tasks.base import Run
from truegraph.tasks.classify.committee.committee import Committee
from truegraph.tasks.classify.feature_baselines import LabelSpreading, LearnedSpreading, Logistic
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.methods import (
    LabelPropagation,
    Method,
    Network,
    diffused,
    feature_neighbours,
)
from truegraph.tasks.classify.names import MODELS
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.results import TrialResults, joined_results


class _Methods(Mapping[str, Method]):
    """All methods by name; the recipes that train networks load torch when one is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Method] = {
            "logistic-regression": Logistic(),
            "label-propagation": LabelPropagation(),
            "label-spreading": LabelSpreading(),
            "learned-spreading": LearnedSpreading(),
            "knn": Network("gcn", feature_neighbours),
            "gdc": Network("gcn", diffused),
            "gdc-appnp": Network("appnp", diffused),
            "auto": Committee(),
        }
        self._recipes = {
            "bgcn": ("algorithm1", "BGCN"),
            "bgcn-parametric": ("parametric_bgcn", "ParametricBGCN"),
            "refined": ("refined", "Refined"),
            "fast": ("refined", "Fast"),
        }

    def __getitem__(self, name: str) -> Method:
        if name in self._recipes and name not in self._made:
            import_extra("torch")
            module, kind = self._recipes[name]
            recipes = import_module(f"truegraph.tasks.classify.recipes.{module}")
            self._made[name] = getattr(recipes, kind)()
        elif name in MODELS and name not in self._made:
            self._made[name] = Network(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODELS)

    def __len__(self) -> int:
        return len(MODELS)


METHODS = _Methods()
# Those that learn a graph, by their names in `BayesianNodeClassifier`.
RECIPES = {"auto": "auto", "paper": "bgcn", "refined": "refined", "fast": "fast"}


def find_method(name: str) -> Method:
    """Return the method of that name, or raise an InputError that suggests the nearest."""
    if name not in METHODS:
        raise InputError(f"unknown model {name!r}.{suggestion(name, METHODS)}")
    return METHODS[name]


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
        A torch device, e.g. "cuda".
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
    method = find_method(model)
    chosen = method.options(options)
    inputs = complete_inputs(features, graph, len(labels))
    use_validation = method.stops_early(chosen)
    problem = open_problem(
        inputs, labels, splits, seeds, classes=classes, use_validation=use_validation
    )
    run = Run(device, cache, progress or Progress(), keep_graphs, keep_weights)
    results = solve_problem(method, chosen, problem, run)
    results.seconds["total"] = time.perf_counter() - began
    return replace(results, model=model)


def solve_problem(method: Method, options: Any, problem: Problem, run: Run) -> TrialResults:
    """Train the trials of a problem, as many at once as fit into memory."""
    _check_device(run.device)
    for note in problem.inputs.notes:
        run.note(note)
    chunks = problem.chunks(method.trials_at_once(problem, options))
    parts = [method.run(chunk, options, run) for chunk in chunks]
    return joined_results(parts, run.seconds, run.notes)


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"device {device!r} cannot be used: {reason}; use 'cpu'.") from error
