"""Node classification as a task of the engine: many splits of a data set, scored on test nodes."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from truegraph.data import NodeDataset, NodeSplit, fixed_split, load_dataset, random_split
from truegraph.data.nodes.registry import REGISTRY
from truegraph.data.storage import csr_to_arrays
from truegraph.errors import DataError, InputError
from truegraph.evaluation import METRICS, reliability_curve, score_trial
from truegraph.experiments.tasks.base import (
    Cell,
    Condition,
    Context,
    Source,
    TrialResult,
)
from truegraph.suggestions import suggestion
from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS
from truegraph.threads import use_threads

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from truegraph.learning.learned import LearnedGraph
    from truegraph.tasks.classify.results import TrialResults

# A batch is what a killed run loses, so it is no larger than what training takes up at once.
_BATCH = 8
_LARGE = 10_000  # nodes; above it the candidate pairs of a learned graph take 100 MB a trial
_LARGE_BATCH = 4


class ClassificationTask:
    """Models compared on random or fixed splits of named data sets."""

    name = "classification"
    metrics = METRICS
    models = MODELS
    keeps = ("graph",)
    conditions: Mapping[str, Condition] = {
        "labels": Condition((5,), int, least=1),
        "split": Condition(("random",), str, ("random", "fixed")),
        "component": Condition(("full",), str, ("full", "largest")),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for settings that the model does not have and splits that cannot be."""
        from truegraph.tasks.classify.trials import find_method

        try:
            find_method(cell.model).options(cell.settings)
        except (TypeError, InputError) as error:
            raise InputError(f"model {cell.label!r} of the experiment: {error}") from error
        dataset = open_dataset(cell.dataset, cell.conditions["component"])
        if dataset.n_classes < 2:
            raise InputError(f"data set {cell.dataset!r} has no classes to tell apart.")
        split_of(dataset, cell, 0)

    def source(self, dataset: str, conditions: Mapping[str, Any]) -> Source:
        """Return where the data set was found."""
        found = open_dataset(dataset, conditions["component"])
        return Source(found.fingerprint, found.source, found.notes)

    def batch_size(self, cell: Cell) -> int:
        """Return how many trials are trained together."""
        is_large = REGISTRY[cell.dataset].nodes > _LARGE
        learns = cell.model in (*GRAPH_LEARNERS, "bgcn-parametric")
        return _LARGE_BATCH if is_large and learns else _BATCH

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed, and score it."""
        dataset = checked_dataset(cell, context)
        return self.run_on(dataset, cell, seeds, context)

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
            )
        context.notes.extend(results.notes)
        found = []
        for trial, (seed, split) in enumerate(zip(seeds, splits, strict=True)):
            metrics, details = _scored(dataset, split, results, trial)
            if results.graphs is not None:
                graph = results.graphs[trial]
                details["learned_graph"] = graph_facts(dataset, graph)
                if "graph" in context.keep:
                    details["graph_file"] = _keep_graph(dataset, graph, cell, seed, context)
            found.append(TrialResult(seed, metrics, details))
        return found


@lru_cache(maxsize=4)
def _loaded(name: str, component: Literal["full", "largest"], home: str | None) -> NodeDataset:
    return load_dataset(name, component=component)


def open_dataset(name: str, component: str) -> NodeDataset:
    """Return a named data set; a process reads it once."""
    if name not in REGISTRY:
        raise InputError(f"no data set is called {name!r}.{suggestion(name, REGISTRY)}")
    which = cast(Literal["full", "largest"], component)
    return _loaded(name, which, os.environ.get("TRUEGRAPH_DATA"))


def checked_dataset(cell: Cell, context: Context) -> NodeDataset:
    """Return the data set of a cell, if it is the one that the run was started with."""
    dataset = open_dataset(cell.dataset, cell.conditions["component"])
    if dataset.fingerprint != context.fingerprint:
        raise DataError(
            f"data set {cell.dataset!r} differs from the one that the run was started with. "
            "Give all workers the same data."
        )
    return dataset


def split_of(dataset: NodeDataset, cell: Cell, seed: int) -> NodeSplit:
    """Return the split of a trial; with split "fixed" the seed starts the training only."""
    labels = cell.conditions["labels"]
    if cell.conditions["split"] == "fixed":
        return fixed_split(dataset, labels)
    return random_split(dataset.labels, labels, random_state=seed)


def _scored(
    dataset: NodeDataset, split: NodeSplit, results: TrialResults, trial: int
) -> tuple[dict[str, float | None], dict[str, Any]]:
    test = np.sort(split.test)
    labels, probabilities = dataset.labels[test], results.probabilities[trial, test]
    scores = score_trial(labels, probabilities, results.predictive_entropy[trial, test])
    curve = reliability_curve(labels, probabilities)
    details: dict[str, Any] = {
        "correct": packed(probabilities.argmax(axis=1) == labels),
        "reliability": {
            "confidence": [_number(value) for value in curve.confidence],
            "accuracy": [_number(value) for value in curve.accuracy],
            "count": curve.count.tolist(),
        },
    }
    if dataset.graph is not None:
        degrees = np.diff(dataset.graph.indptr)[test]
        details["high_degree"] = packed(degrees > np.median(degrees))
    return {name: _number(value) for name, value in scores.items()}, details


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def packed(bits: NDArray[np.bool_]) -> str:
    """Return bits as text: packed eight to a byte, in base64."""
    return base64.b64encode(np.packbits(bits).tobytes()).decode("ascii")


def unpacked(text: str, count: int) -> NDArray[np.bool_]:
    """Return the first `count` bits of what `packed` made."""
    found = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=count)
    return found.astype(bool)


def graph_facts(dataset: NodeDataset, graph: LearnedGraph) -> dict[str, Any]:
    """Return what a table says of a learned graph, and of what became of the observed one."""
    certificate = graph.certificate
    return {
        "edges": graph.n_edges,
        "mean_degree": certificate.degree,
        "homophily": _homophily(graph.adjacency, dataset.labels),
        "observed_kept": _share_kept(dataset.graph, graph.adjacency),
        "relative_gap": certificate.relative_gap,
        "scope": certificate.scope,
        "converged": certificate.converged,
        "theta": certificate.theta,
    }


def _homophily(graph: csr_array, labels: NDArray[np.int64]) -> float | None:
    """Return the share of the edges between labelled nodes that join equal labels."""
    ends = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    return float(np.mean(ends[0][known] == ends[1][known])) if known.any() else None


def _share_kept(observed: csr_array | None, learned: csr_array) -> float | None:
    """Return the share of the observed edges that the learned graph has as well."""
    if observed is None or observed.nnz == 0:
        return None
    return observed.multiply(learned).nnz / observed.nnz


def _keep_graph(
    dataset: NodeDataset, graph: LearnedGraph, cell: Cell, seed: int, context: Context
) -> str:
    arrays = csr_to_arrays(graph.adjacency, "learned") | {"labels": dataset.labels}
    if dataset.graph is not None:
        arrays |= csr_to_arrays(dataset.graph, "observed")
    file = f"graphs/{cell.dataset}-{cell.model}-{cell.key[:8]}-seed{seed}.npz"
    return context.keep_arrays(file, arrays)
