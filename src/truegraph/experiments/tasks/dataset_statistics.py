"""The statistics of data sets as a task of the engine: one trial describes one data set.

Graphs of nodes and sets of interactions have a table each in the paper; here one task counts both,
and what a kind of data does not have stays undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegraph.data import Interactions, NodeDataset, split_randomly
from truegraph.data.nodes.registry import INTERACTION_SETS, REGISTRY
from truegraph.errors import InputError
from truegraph.evaluation import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult
from truegraph.experiments.tasks.opened_data import open_interactions, open_nodes
from truegraph.suggestions import suggestion

Counts = dict[str, float | None]


class StatisticsTask(Task):
    """What the paper's two tables of data sets say of each."""

    name = "datasets"
    metrics: Mapping[str, Metric] = {
        "classes": Metric("classes", "neither", digits=0),
        "features": Metric("features", "neither", digits=0),
        "nodes": Metric("nodes", "neither", digits=0),
        "user_threshold": Metric("fewest per user", "neither", digits=0),
        "item_threshold": Metric("fewest per item", "neither", digits=0),
        "users": Metric("users", "neither", digits=0),
        "items": Metric("items", "neither", digits=0),
        "edges": Metric("edges", "neither", digits=0),
        "training_edges": Metric("training edges", "neither", digits=0),
        "density": Metric("edge density %", "neither", percent=True, digits=2),
    }
    models = ("statistics",)
    conditions: Mapping[str, Condition] = {
        "component": Condition(("full",), str, ("full", "largest")),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for a data set that is not here."""
        self.open(cell)

    def open(self, cell: Cell) -> NodeDataset | Interactions:
        """Return the data set of a cell."""
        known = [*REGISTRY, *INTERACTION_SETS]
        if cell.dataset not in known:
            raise InputError(
                f"no data set is called {cell.dataset!r}.{suggestion(cell.dataset, known)}"
            )
        return open_interactions(cell) if cell.dataset in INTERACTION_SETS else open_nodes(cell)

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Count."""
        is_pairs = cell.dataset in INTERACTION_SETS
        counts = interaction_counts(cell) if is_pairs else node_counts(cell)
        metrics = dict.fromkeys(self.metrics) | counts
        return [TrialResult(seed, metrics) for seed in seeds]


def node_counts(cell: Cell) -> Counts:
    """Return the counts of a graph of nodes; density is the share of the pairs with an edge."""
    dataset = open_nodes(cell)
    found = dataset.statistics()
    counts: Counts = {name: found[name] for name in ("classes", "features", "nodes", "edges")}
    pairs = dataset.n_nodes * (dataset.n_nodes - 1) / 2
    counts["density"] = None if counts["edges"] is None else counts["edges"] / pairs
    return counts


def interaction_counts(cell: Cell) -> Counts:
    """Return the counts of a set of interactions after the paper's filters.

    Density is the share of the pairs of a user and an item; training edges are those of the
    paper's split, whose sizes do not depend on the draw.
    """
    entry = INTERACTION_SETS[cell.dataset]
    pairs = open_interactions(cell)
    found = pairs.statistics()
    return {
        "user_threshold": entry.min_per_user,
        "item_threshold": entry.min_per_item,
        "users": found["users"],
        "items": found["items"],
        "edges": found["interactions"],
        "training_edges": split_randomly(pairs, random_state=0).train.nnz,
        "density": found["density"],
    }
