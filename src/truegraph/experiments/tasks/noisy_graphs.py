"""Node classification on graphs with missing or false edges, as a task of the engine.

The condition ``noise`` is one number: -0.5 takes half of the observed edges away, 0.5 adds half as
many random ones. Every seed has noise of its own, the same for all models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from truegraph.data import NodeDataset
from truegraph.data.nodes.perturbation import perturb_graph
from truegraph.errors import InputError
from truegraph.experiments.tasks.base import Cell, Condition, Context, TrialResult
from truegraph.experiments.tasks.classification import ClassificationTask
from truegraph.experiments.tasks.opened_data import same_data


class NoiseTask(ClassificationTask):
    """Classifiers on a perturbed graph; the nodes, features, labels and splits stay."""

    name = "noise"
    conditions: Mapping[str, Condition] = {
        **ClassificationTask.conditions,
        "noise": Condition((0.0,), float, least=-1.0),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for what cannot be run, and for data without a graph."""
        super().check(cell)
        perturbed(self.open(cell), cell, 0)

    def batch_size(self, cell: Cell) -> int:
        """Return 1: every trial has a graph of its own."""
        return 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split and one noisy graph per seed, and score it."""
        dataset = same_data(self.open(cell), cell, context)
        return [
            self.run_on(perturbed(dataset, cell, seed), cell, [seed], context)[0] for seed in seeds
        ]


def perturbed(dataset: NodeDataset, cell: Cell, seed: int) -> NodeDataset:
    """Return a data set with the noise of a cell and a seed in its graph."""
    if dataset.graph is None:
        raise InputError(f"data set {dataset.name!r} has no graph to put noise into.")
    noise = float(cell.conditions["noise"])
    graph = perturb_graph(
        dataset.graph, removed=max(0.0, -noise), added=max(0.0, noise), random_state=seed
    )
    return replace(dataset, graph=graph)
