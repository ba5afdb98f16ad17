"""Node classification as a task of the engine: many splits of a data set, scored on test nodes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truegraph.data import NodeDataset, NodeSplit, fixed_split, random_split
from truegraph.data.nodes.containers import homophily
from truegraph.data.nodes.registry import REGISTRY
from truegraph.data.storage import csr_to_arrays
from truegraph.errors import InputError
from truegraph.evaluation import (
    COVERAGES,
    METRICS,
    SET_METRICS,
    ReliabilityCurve,
    reliability_curve,
    score_trial,
)
from truegraph.evaluation.scores import score_sets
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult, finite
from truegraph.experiments.tasks.opened_data import NODE_FILES, open_nodes, same_data
from truegraph.runtime.threads import use_threads
from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from truegraph.evaluation import Metric
    from truegraph.learning.learned import LearnedGraph
    from truegraph.tasks.classify.results import TrialResults

# A batch is what a killed run loses, so it is no larger than what training takes up at once.
_BATCH = 8
_LARGE = 10_000  # nodes; above it the candidate pairs of a learned graph take 100 MB a trial
_LARGE_BATCH = 4
_LEAST_LEFT = 20  # labelled nodes beside those for training


class ClassificationTask(Task):
    """Models compared on random or fixed splits of named data sets."""

    name = "classification"
    metrics: Mapping[str, Metric] = METRICS | SET_METRICS
    models = MODELS
    keeps = ("graph",)
    files = NODE_FILES
    keeps_weights = False  # whether `more_metrics` looks at trained weights
    conditions: Mapping[str, Condition] = {
        "labels": Condition((5,), int, least=1),
        "split": Condition(("random",), str, ("random", "fixed")),
        "component": Condition(("full",), str, ("full", "largest")),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for unknown settings and impossible splits."""
        from truegraph.tasks.classify.trials import find_method

        try:
            find_method(cell.model).options(cell.settings)
        except (TypeError, InputError) as error:
            raise InputError(f"model {cell.label!r} of the experiment: {error}") from error
        dataset = self.open(cell)
        if dataset.n_classes < 2:
            raise InputError(f"data set {cell.dataset!r} has no classes; choose one that has.")
        split_of(dataset, cell, 0)

    def open(self, cell: Cell) -> NodeDataset:
        """Return the nodes of a cell."""
        return open_nodes(cell)

    def batch_size(self, cell: Cell) -> int:
        """Return how many trials are trained together."""
        nodes = self.open(cell).n_nodes if cell.files else REGISTRY[cell.dataset].nodes
        is_large = nodes > _LARGE
        learns = cell.model in (*GRAPH_LEARNERS, "bgcn-parametric")
        return _LARGE_BATCH if is_large and learns else _BATCH

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed, and score it."""
        return self.run_on(same_data(self.open(cell), cell, context), cell, seeds, context)

    def split(self, dataset: NodeDataset, cell: Cell, seed: int) -> NodeSplit:
        """Return the split of a trial."""
        return split_of(dataset, cell, seed)

    def run_on(
        self, dataset: NodeDataset, cell: Cell, seeds: Sequence[int], context: Context
    ) -> list[TrialResult]:
        """Do what `run` does, on a data set that was opened before."""
        from truegraph.tasks.classify.trials import run_trials

        splits = [self.split(dataset, cell, seed) for seed in seeds]
        with use_threads(context.threads):
            results = run_trials(
                cell.model,
                dataset.features,
                dataset.graph,
                dataset.labels,
                splits,
                seeds,
                options=cell.settings,
                classes=dataset.n_classes,
                device=context.device,
                cache=context.cache,
                keep_graphs=True,
                keep_weights=self.keeps_weights,
            )
        context.notes.extend(results.notes)
        stages = {name: seconds / len(seeds) for name, seconds in results.seconds.items()}
        found = []
        for trial, (seed, split) in enumerate(zip(seeds, splits, strict=True)):
            metrics, details = _scored(dataset, split, results, trial)
            metrics |= self.more_metrics(dataset, cell, results, trial, seed)
            details["stages"] = stages
            if results.graphs is not None:
                graph = results.graphs[trial]
                details["learned_graph"] = graph_facts(dataset, graph)
                if "graph" in context.keep and seed == context.first_seed:
                    details |= _keep_graph(dataset, graph, cell, seed, context)
            found.append(TrialResult(seed, metrics, details))
        return found

    def more_metrics(
        self, dataset: NodeDataset, cell: Cell, results: TrialResults, trial: int, seed: int
    ) -> dict[str, float | None]:
        """Return what a task measures beside the metrics of classification."""
        return {}


def split_of(dataset: NodeDataset, cell: Cell, seed: int) -> NodeSplit:
    """Return the split of a trial; with split "fixed" the seed starts the training only."""
    labels = cell.conditions["labels"]
    if cell.conditions["split"] == "fixed":
        return fixed_split(dataset, labels)
    sizes = _sizes(dataset, labels) if cell.files else {}
    return random_split(dataset.labels, labels, random_state=seed, **sizes)


def _sizes(dataset: NodeDataset, per_class: int) -> dict[str, int]:
    """Return the sizes of the test and validation sets of the user's own data.

    They are those of the paper, 1000 and 500, or where the labels do not suffice for these two
    thirds and one third of what training leaves.
    """
    left = int((dataset.labels >= 0).sum()) - per_class * dataset.n_classes
    if left < _LEAST_LEFT:
        raise InputError(
            f"{per_class} labels of each of {dataset.n_classes} classes for training leave "
            f"{max(left, 0)} labelled nodes to test on; give {_LEAST_LEFT} or more labels beyond "
            "those, or train on fewer."
        )
    test = min(1000, 2 * left // 3)
    return {"test_size": test, "validation_size": min(500, left - test)}


def _scored(
    dataset: NodeDataset, split: NodeSplit, results: TrialResults, trial: int
) -> tuple[dict[str, float | None], dict[str, Any]]:
    drawn, test = split.test, np.sort(split.test)
    scores = score_trial(
        dataset.labels[drawn],
        results.probabilities[trial, drawn],
        results.predictive_entropy[trial, drawn],
    )
    labels, probabilities = dataset.labels[test], results.probabilities[trial, test]
    curve = reliability_curve(labels, probabilities)
    details: dict[str, Any] = {
        "correct": packed(probabilities.argmax(axis=1) == labels),
        "reliability": curve_facts(curve),
    }
    if dataset.graph is not None:
        degrees = np.diff(dataset.graph.indptr)[test]
        details["high_degree"] = packed(degrees > np.median(degrees))
    found = {name: finite(value) for name, value in scores.items()}
    return found | _scored_sets(dataset, split, results, trial), details


def _scored_sets(
    dataset: NodeDataset, split: NodeSplit, results: TrialResults, trial: int
) -> dict[str, float | None]:
    """Return coverage and size of a trial's prediction sets; None for models without any."""
    if results.left_out is None:
        return dict.fromkeys(SET_METRICS)
    from truegraph.tasks.classify.trust.prediction_sets import sets_from_left_out

    probabilities, test = results.probabilities[trial], np.sort(split.test)
    unlabelled = np.delete(probabilities, split.train, axis=0)
    classes = np.arange(probabilities.shape[1])
    found: list[float] = []
    for coverage in COVERAGES:
        given = (probabilities[test], unlabelled, classes, coverage)
        sets = sets_from_left_out(results.left_out[trial], *given)
        found += score_sets(dataset.labels[test], sets.members)
    return dict(zip(SET_METRICS, found, strict=True))


def curve_facts(curve: ReliabilityCurve) -> dict[str, Any]:
    """Return a reliability curve as it is stored; None where a bin is empty."""
    return {
        "confidence": [finite(value) for value in curve.confidence],
        "accuracy": [finite(value) for value in curve.accuracy],
        "count": curve.count.tolist(),
    }


def packed(bits: NDArray[np.bool_]) -> str:
    """Return bits as text: packed eight to a byte, in base64."""
    return base64.b64encode(np.packbits(bits).tobytes()).decode("ascii")


def unpacked(text: str, count: int) -> NDArray[np.bool_]:
    """Return the first `count` bits of what `packed` made."""
    found = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=count)
    return found.astype(bool)


def graph_facts(dataset: NodeDataset, graph: LearnedGraph) -> dict[str, Any]:
    """Return the facts about a learned graph, and how much of the observed one it keeps."""
    certificate = graph.certificate
    return {
        "edges": graph.n_edges,
        "mean_degree": certificate.degree,
        "homophily": homophily(graph.adjacency, dataset.labels),
        "observed_kept": _share_kept(dataset.graph, graph.adjacency),
        "relative_gap": certificate.relative_gap,
        "scope": certificate.scope,
        "converged": certificate.converged,
        "theta": certificate.theta,
    }


def _share_kept(observed: csr_array | None, learned: csr_array) -> float | None:
    """Return the share of the observed edges that the learned graph has as well."""
    if observed is None or observed.nnz == 0:
        return None
    return observed.multiply(learned).nnz / observed.nnz


def _keep_graph(
    dataset: NodeDataset, graph: LearnedGraph, cell: Cell, seed: int, context: Context
) -> dict[str, str]:
    """Keep what is drawn of a trial's graphs, and the learned one as `LearnedGraph.load` reads."""
    arrays = csr_to_arrays(graph.adjacency, "learned") | {"labels": dataset.labels}
    if dataset.graph is not None:
        arrays |= csr_to_arrays(dataset.graph, "observed")
    name = f"graphs/{cell.dataset}-{cell.model}-{cell.key[:8]}-seed{seed}"
    return {
        "graph_file": context.keep_arrays(f"{name}.npz", arrays),
        "learned_graph_file": context.keep_arrays(f"{name}-learned.npz", graph.to_arrays()),
    }
