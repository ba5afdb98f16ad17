"""The quality of graphs of points as a task of the engine: labels spread over them, clusters found.

A model is a kind of graph. No graph sees a label: a trial draws the labelled nodes and seeds the
clusterers, on the same graph of the data set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from truegraph.errors import InputError
from truegraph.evaluation import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult
from truegraph.experiments.tasks.graph_scores import (
    LABELS,
    LeidenGroups,
    SpectralGroups,
    agreement,
    spreading_accuracy,
)
from truegraph.experiments.tasks.neighbour_graphs import knn_graph, umap_graph
from truegraph.experiments.tasks.opened_data import same_data
from truegraph.experiments.tasks.point_sets import SET_NAMES, PointSet, load_points
from truegraph.suggestions import suggestion

_LEARNED = {"degree": "auto", "connected": "auto", "mutual": False, "local_scaling": "auto"}
_KNN = {"k": 10, "weights": "binary", "mutual": False}
_SETTINGS: dict[str, dict[str, Any]] = {"learned": _LEARNED, "knn": _KNN, "umap": {"k": 15}}
_WEIGHTS = ("binary", "gaussian", "self-tuned")
_MANY = 1000  # trials that share a graph


class GraphQualityTask(Task):
    """Label spreading, Leiden's method and spectral clustering on graphs of the same points."""

    name = "graph-quality"
    metrics: Mapping[str, Metric] = {
        **{
            f"accuracy_{count}": Metric(
                f"accuracy %, {count} label{'s' if count > 1 else ''} per class",
                "higher",
                percent=True,
                digits=1,
            )
            for count in LABELS
        },
        "leiden_ari": Metric("Leiden ARI", "higher"),
        "leiden_nmi": Metric("Leiden NMI", "higher"),
        "spectral_ari": Metric("spectral ARI", "higher"),
        "spectral_nmi": Metric("spectral NMI", "higher"),
        "edges_per_node": Metric("edges per node", "neither", digits=1),
        "components": Metric("components", "neither", digits=0),
    }
    models = tuple(_SETTINGS)
    conditions: Mapping[str, Condition] = {}

    def check(self, cell: Cell) -> None:
        """Raise an error for settings that are not known, and for data that are not here."""
        self.open(cell)
        known = _SETTINGS[cell.model]
        for name in cell.settings:
            if name not in known:
                raise InputError(f"{cell.model} has no setting {name!r}.{suggestion(name, known)}")
        if cell.model == "knn" and cell.settings.get("weights", "binary") not in _WEIGHTS:
            raise InputError(
                f"weights={cell.settings['weights']!r} must be one of {', '.join(_WEIGHTS)}"
            )

    def open(self, cell: Cell) -> PointSet:
        """Return the points of a cell."""
        return _points(cell.dataset)

    def batch_size(self, cell: Cell) -> int:
        """Return how many trials share the work of building a graph."""
        return _MANY

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Build the graph, then spread labels and find clusters with every seed."""
        points = same_data(self.open(cell), cell, context)
        graph = build_graph(points.points, cell.model, cell.settings, context.notes)
        leiden = LeidenGroups(graph, points.n_classes)
        spectral = SpectralGroups(graph, points.n_classes)
        shape: dict[str, float | None] = {
            "edges_per_node": graph.nnz / graph.shape[0],
            "components": float(connected_components(graph, directed=False)[0]),
        }
        return [
            TrialResult(seed, _scores(graph, points, leiden, spectral, seed) | shape)
            for seed in seeds
        ]


def _points(dataset: str) -> PointSet:
    if dataset not in SET_NAMES:
        raise InputError(f"no set of points is called {dataset!r}.{suggestion(dataset, SET_NAMES)}")
    return load_points(dataset)


def build_graph(
    points: Any, model: str, settings: Mapping[str, Any], notes: list[str]
) -> csr_array:
    """Return the graph of a model with its settings; what was chosen for the user goes to notes."""
    chosen = _SETTINGS[model] | dict(settings)
    builders: dict[str, Callable[[], csr_array]] = {
        "knn": lambda: knn_graph(points, chosen["k"], chosen["weights"], chosen["mutual"]),
        "umap": lambda: umap_graph(points, chosen["k"]),
        "learned": lambda: _learned(points, chosen, notes),
    }
    return builders[model]()


def _learned(points: Any, options: Mapping[str, Any], notes: list[str]) -> csr_array:
    from truegraph.learning import learn_graph

    graph = learn_graph(points, random_state=0, **options)
    if options["degree"] == "auto":
        notes.append(f"degree {graph.certificate.wanted_degree:g} was chosen")
    return graph.adjacency


def _scores(
    graph: csr_array, points: PointSet, leiden: LeidenGroups, spectral: SpectralGroups, seed: int
) -> dict[str, float | None]:
    scores: dict[str, float | None] = {
        f"accuracy_{count}": spreading_accuracy(graph, points.labels, count, seed)
        for count in LABELS
    }
    found = {
        "leiden": leiden.groups(leiden.resolution, seed),
        "spectral": spectral.groups(seed),
    }
    for name, groups in found.items():
        scores[f"{name}_ari"], scores[f"{name}_nmi"] = agreement(points.labels, groups)
    return scores
