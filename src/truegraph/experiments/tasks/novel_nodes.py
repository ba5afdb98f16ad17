"""Nodes unlike those that were learned from, as a task of the engine.

The condition ``change`` says what is strange (after Stadler et al., "Graph Posterior Network",
2021): nothing ("none"), all nodes of one class, which no label names ("left-out-class", class
number seed modulo C), or a tenth of the nodes without a label, whose features are words drawn as
often as they occur ("noise-features"), standard normal numbers ("normal-features") or those of
other words ("shifted-features"), or whose edges lead anywhere ("foreign-edges"). Scores are judged
by how well they tell strange nodes from the others among all nodes without a label, and by how
well they tell errors on test nodes of known classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from truegraph.data import NodeDataset, NodeSplit
from truegraph.data.nodes.perturbation import foreign_edges, noisy_features
from truegraph.errors import InputError
from truegraph.evaluation.scores import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, TrialResult, finite
from truegraph.experiments.tasks.classification import ClassificationTask, split_of
from truegraph.experiments.tasks.opened_data import same_data

if TYPE_CHECKING:
    from truegraph.tasks.classify.results import TrialResults

NOISE = {"noise": "bernoulli", "normal": "normal", "shifted": "shifted"}
CHANGES = (
    "none",
    "left-out-class",
    *(f"{kind}-features" for kind in NOISE),
    "foreign-edges",
)
SCORES = ("max", "entropy", "mutual_information", "energy", "novelty")
PARTS = ("class", "neighbours", "features")
_HEADINGS = {"max": "1 - max", "mutual_information": "mutual information"}
NOVELTY_METRICS = {
    **{
        f"novel_by_{name}": Metric(f"strange by {_HEADINGS.get(name, name)}", "higher")
        for name in SCORES
    },
    **{f"novel_by_part_{name}": Metric(f"strange by part {name}", "higher") for name in PARTS},
    **{
        f"error_by_{name}": Metric(f"error by {_HEADINGS.get(name, name)}", "higher")
        for name in SCORES
    },
}
_SHARE = 0.1

Values = NDArray[np.float64]


class NoveltyTask(ClassificationTask):
    """Scores of strangeness beside those of uncertainty."""

    name = "novelty"
    metrics: Mapping[str, Metric] = {**ClassificationTask.metrics, **NOVELTY_METRICS}
    conditions: Mapping[str, Condition] = {
        **ClassificationTask.conditions,
        "change": Condition(("none",), str, CHANGES),
    }
    keeps_weights = True

    def check(self, cell: Cell) -> None:
        """Raise an error for what cannot be run, and for data without a graph or features."""
        super().check(cell)
        dataset = self.open(cell)
        if dataset.graph is None or dataset.features is None:
            raise InputError(f"data set {dataset.name!r} has no graph with features.")

    def batch_size(self, cell: Cell) -> int:
        """Return 1: every trial has data of its own."""
        return 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed among strange nodes, and score it."""
        dataset = same_data(self.open(cell), cell, context)
        found = []
        for seed in seeds:
            changed, _ = strange_nodes(dataset, cell, seed)
            found += self.run_on(changed, cell, [seed], context)
        return found

    def more_metrics(
        self, dataset: NodeDataset, cell: Cell, results: TrialResults, trial: int, seed: int
    ) -> dict[str, float | None]:
        """Return how well each score tells strange nodes, and errors."""
        from truegraph.evaluation.metrics import error_detection_auroc

        split = self.split(dataset, cell, seed)
        _, strange = strange_nodes(self.open(cell), cell, seed)
        asked = np.ones(dataset.n_nodes, dtype=bool)
        asked[split.train] = False
        scores, parts = all_scores(dataset, split, results, trial)
        known = split.test[~strange[split.test]]
        right = results.predictions[trial, known] == dataset.labels[known]
        found: dict[str, float | None] = dict.fromkeys(NOVELTY_METRICS)
        for name, values in scores.items():
            found[f"error_by_{name}"] = finite(error_detection_auroc(values[known], right))
        named = scores | {f"part_{name}": values for name, values in parts.items()}
        for name, values in named.items() if strange.any() else ():
            found[f"novel_by_{name}"] = finite(
                error_detection_auroc(values[asked], ~strange[asked])
            )
        return found


def strange_nodes(
    dataset: NodeDataset, cell: Cell, seed: int
) -> tuple[NodeDataset, NDArray[np.bool_]]:
    """Return a data set with strange nodes, and which they are, shape (N,)."""
    change = cell.conditions["change"]
    strange = np.zeros(dataset.n_nodes, dtype=bool)
    if change == "none":
        return dataset, strange
    if change == "left-out-class":
        out = seed % dataset.n_classes
        strange = dataset.labels == out
        labels = np.where(strange, -1, dataset.labels - (dataset.labels > out))
        names = dataset.class_names
        rest = None if names is None else tuple(n for i, n in enumerate(names) if i != out)
        return replace(dataset, labels=labels, class_names=rest), strange
    split = split_of(dataset, cell, seed)
    others = np.setdiff1d(np.arange(dataset.n_nodes), split.train)
    generator = np.random.default_rng([seed, 6])
    chosen = generator.choice(others, round(_SHARE * dataset.n_nodes), replace=False)
    strange[chosen] = True
    if change == "foreign-edges":
        graph = foreign_edges(dataset.graph, chosen, random_state=seed)
        return replace(dataset, graph=graph), strange
    kind = NOISE[change.removesuffix("-features")]
    features = noisy_features(dataset.features, chosen, kind=kind, random_state=seed)
    return replace(dataset, features=features), strange


def all_scores(
    dataset: NodeDataset, split: NodeSplit, results: TrialResults, trial: int
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return every score that a model has, and the parts of its novelty: each (N,)."""
    from truegraph.tasks.classify.inputs import complete_inputs
    from truegraph.tasks.classify.trust.novelty import novelty, novelty_parts

    probabilities = results.probabilities[trial]
    scores: dict[str, Values] = {
        "max": 1.0 - probabilities.max(axis=1).astype(np.float64),
        "entropy": results.predictive_entropy[trial],
    }
    if results.mutual_information is not None:
        scores["mutual_information"] = results.mutual_information[trial]
    if results.beliefs is None:
        energy = None if results.weights is None else _energy(results.weights[trial])
        return scores if energy is None else scores | {"energy": energy}, {}
    inputs = complete_inputs(dataset.features, dataset.graph, dataset.n_nodes)
    parts = novelty_parts(inputs, probabilities, split.train)
    return scores | {"novelty": novelty(parts)}, parts


def _energy(weights: Any) -> Values | None:
    """Return minus the log of the sum of exponentials of a network's scores; None without one."""
    from truegraph.tasks.classify.recipes.weight_samples import WeightSamples

    if not isinstance(weights, WeightSamples) or weights.rule != "point":
        return None
    trained = weights.classifier
    scores = trained.model.forward(trained.weights, trained.inputs, None).detach().numpy()[0]
    return -np.asarray(logsumexp(scores.astype(np.float64), axis=1))
