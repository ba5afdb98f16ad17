"""Node classification on data that nobody tuned on, as a task of the engine.

Data sets may be small and their classes of any size: training takes at most half of a class. The
condition ``change`` spoils what the recipes rely on: as many false edges as true ones
("false-edges"), a random graph of as many edges ("random-graph"), or features that belong to other
nodes ("shuffled-features"). Every seed has a change of its own, the same for all models. Data sets
may be contextual block models (`BLOCK_MODELS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from truegraph.data import NodeDataset, NodeSplit
from truegraph.data.nodes.block_models import BLOCK_MODELS
from truegraph.data.nodes.perturbation import perturb_graph
from truegraph.errors import InputError
from truegraph.experiments.tasks.base import Cell, Condition, Context, TrialResult
from truegraph.experiments.tasks.classification import ClassificationTask
from truegraph.experiments.tasks.opened_data import same_data

CHANGES = ("none", "false-edges", "random-graph", "shuffled-features")
_TEST = 1000
_NODES = 4000  # larger data sets are thinned out to so many nodes


class StrangersTask(ClassificationTask):
    """Classifiers on small, unbalanced or spoilt data."""

    name = "strangers"
    conditions: Mapping[str, Condition] = {
        "labels": ClassificationTask.conditions["labels"],
        "component": ClassificationTask.conditions["component"],
        "change": Condition(("none",), str, CHANGES),
    }

    def open(self, cell: Cell) -> NodeDataset:
        """Return the nodes of a cell."""
        if cell.dataset in BLOCK_MODELS and not cell.files:
            return _made(cell.dataset)
        return super().open(cell)

    def check(self, cell: Cell) -> None:
        """Raise an error for unknown settings and impossible changes."""
        from truegraph.tasks.classify.trials import find_method

        find_method(cell.model).options(cell.settings)
        changed(self.open(cell), cell, 0)

    def batch_size(self, cell: Cell) -> int:
        """Return 1 where every trial has data of its own."""
        return 5 if cell.conditions["change"] == "none" else 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed, and score it."""
        dataset = thinned(same_data(self.open(cell), cell, context))
        if cell.conditions["change"] == "none":
            return self.run_on(dataset, cell, seeds, context)
        return [
            self.run_on(changed(dataset, cell, seed), cell, [seed], context)[0] for seed in seeds
        ]

    def split(self, dataset: NodeDataset, cell: Cell, seed: int) -> NodeSplit:
        """Return a split with at most half of a class for training, and no validation nodes."""
        generator = np.random.default_rng(seed)
        classes = np.unique(dataset.labels[dataset.labels >= 0])
        train = []
        for label in classes:
            members = np.flatnonzero(dataset.labels == label)
            count = min(cell.conditions["labels"], max(1, len(members) // 2))
            train.append(generator.choice(members, count, replace=False))
        drawn = np.concatenate(train)
        rest = np.setdiff1d(np.flatnonzero(dataset.labels >= 0), drawn)
        return NodeSplit(drawn, rest[:0], generator.permutation(rest)[:_TEST])


@lru_cache(maxsize=4)
def _made(name: str) -> NodeDataset:
    return BLOCK_MODELS[name]()


def thinned(dataset: NodeDataset) -> NodeDataset:
    """Return the data set itself, or `_NODES` of its nodes if it has no graph and more."""
    if dataset.graph is not None or dataset.n_nodes <= _NODES or dataset.features is None:
        return dataset
    kept = np.sort(np.random.default_rng(0).choice(dataset.n_nodes, _NODES, replace=False))
    return replace(dataset, features=dataset.features[kept], labels=dataset.labels[kept])


def changed(dataset: NodeDataset, cell: Cell, seed: int) -> NodeDataset:
    """Return a data set with the change of a cell and a seed."""
    change = cell.conditions["change"]
    if change == "none":
        return dataset
    if dataset.graph is None or dataset.features is None:
        raise InputError(
            f"data set {dataset.name!r} lacks what change={change!r} needs; leave it out."
        )
    if change == "shuffled-features":
        order = np.random.default_rng(seed).permutation(dataset.n_nodes)
        return replace(dataset, features=dataset.features[order])
    removed = 1.0 if change == "random-graph" else 0.0
    graph = perturb_graph(dataset.graph, removed=removed, added=1.0, random_state=seed)
    return replace(dataset, graph=graph)
