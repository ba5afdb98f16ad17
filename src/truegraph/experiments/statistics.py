"""The statistics of data sets as a task of the engine: one trial describes one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truegraph.evaluation import Metric
from truegraph.experiments.classification import open_dataset
from truegraph.experiments.task import Cell, Condition, Context, Source, TrialResult


class StatisticsTask:
    """What the paper's table of data sets says of each."""

    name = "datasets"
    metrics: Mapping[str, Metric] = {
        "classes": Metric("classes", "neither", digits=0),
        "features": Metric("features", "neither", digits=0),
        "nodes": Metric("nodes", "neither", digits=0),
        "edges": Metric("edges", "neither", digits=0),
        "density": Metric("edge density %", "neither", percent=True, digits=2),
    }
    models = ("statistics",)
    keeps: tuple[str, ...] = ()
    conditions: Mapping[str, Condition] = {
        "component": Condition(("full",), str, ("full", "largest")),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for a data set that is not here."""
        open_dataset(cell.dataset, cell.conditions["component"])

    def source(self, dataset: str, conditions: Mapping[str, Any]) -> Source:
        """Return where the data set was found."""
        found = open_dataset(dataset, conditions["component"])
        return Source(found.fingerprint, found.source, found.notes)

    def batch_size(self, cell: Cell) -> int:
        """Return 1: there is one trial."""
        return 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Count; density is the share of the pairs of nodes that have an edge."""
        dataset = open_dataset(cell.dataset, cell.conditions["component"])
        counts = dataset.statistics()
        pairs = dataset.n_nodes * (dataset.n_nodes - 1) / 2
        density = None if counts["edges"] is None else counts["edges"] / pairs
        metrics = {name: counts[name] for name in self.metrics if name != "density"}
        details = {"homophily": counts["homophily"], "isolated": counts["isolated"]}
        return [TrialResult(seed, metrics | {"density": density}, details) for seed in seeds]
