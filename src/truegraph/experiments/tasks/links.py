"""Link prediction as a task of the engine: many splits of a graph's links, scored on test pairs.

All models see the same split of a seed, and start from the same seed. With the condition
``oracle`` the true test links are given to the models: a leak, on purpose, to see what they could
reach at most.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truegraph.data import NodeDataset
from truegraph.data.graphs.link_splits import LinkSplit, split_links
from truegraph.errors import InputError
from truegraph.evaluation import Metric, reliability_curve
from truegraph.evaluation.link_metrics import HITS, link_auc, link_average_precision, link_metrics
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult
from truegraph.experiments.tasks.classification import curve_facts, graph_facts
from truegraph.experiments.tasks.opened_data import LINK_FILES, open_nodes, same_data
from truegraph.runtime.threads import use_threads
from truegraph.tasks.links.names import BAYESIAN, LEARNED_GRAPH, MODELS, REFINED, RIVALS

if TYPE_CHECKING:
    from truegraph.learning.learned import LearnedGraph
    from truegraph.tasks.links.base import LinkEstimator
    from truegraph.tasks.links.problem import LinkProblem

METRICS = {
    "auc": Metric("AUC %", "higher", percent=True, digits=1),
    "ap": Metric("AP %", "higher", percent=True, digits=1),
    **{f"hits_{k}": Metric(f"Hits@{k} %", "higher", percent=True, digits=1) for k in HITS},
    "mrr": Metric("MRR %", "higher", percent=True, digits=1),
    "negative_log_likelihood": Metric("NLL", "lower"),
    "brier_score": Metric("Brier", "lower"),
    "expected_calibration_error": Metric("ECE %", "lower", percent=True, digits=1),
    "validation_auc": Metric("validation AUC %", "higher", percent=True, digits=1),
    "validation_ap": Metric("validation AP %", "higher", percent=True, digits=1),
}
# Parameters of a predictor that an experiment cannot set.
_SET_BY_ENGINE = {"model", "options", "samples", "random_state", "device", "cache", "progress"}
_SET_BY_ENGINE |= {"embedding", "held_out", "prior", "missing"}
_LEAK = "LEAK: the true test links were given to the models (oracle)"


class LinksTask(Task):
    """Auto-encoders, their Bayesian versions and simple rivals on splits of named data sets."""

    name = "links"
    metrics = METRICS
    models = MODELS
    files = LINK_FILES
    conditions: Mapping[str, Condition] = {
        "component": Condition(("largest",), str, ("largest", "full")),
        "split": Condition(("random",), str, ("random", "connected")),
        "oracle": Condition((False,), bool),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for unknown settings and impossible splits."""
        try:
            check_settings(cell)
        except (TypeError, InputError) as error:
            raise InputError(f"model {cell.label!r} of the experiment: {error}") from error
        split_of(self.open(cell), cell, 0)

    def open(self, cell: Cell) -> NodeDataset:
        """Return the nodes of a cell, whose graph holds the links."""
        dataset = open_nodes(cell)
        if dataset.graph is None:
            raise InputError(f"data set {cell.dataset!r} has no graph, hence no links to predict.")
        return dataset

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split per seed, and score it."""
        dataset = same_data(self.open(cell), cell, context)
        if cell.conditions["oracle"]:
            context.notes.append(_LEAK)
        with use_threads(context.threads):
            return [_trial(dataset, cell, seed, context) for seed in seeds]


def split_of(dataset: NodeDataset, cell: Cell, seed: int) -> LinkSplit:
    """Return the 85/5/10 split of a trial."""
    connected = cell.conditions["split"] == "connected"
    return split_links(dataset.graph, connected=connected, random_state=seed)


def _trial(dataset: NodeDataset, cell: Cell, seed: int, context: Context) -> TrialResult:
    from truegraph.tasks.links.heuristics import RIVALS as SCORES
    from truegraph.tasks.links.heuristics import learned_weights
    from truegraph.tasks.links.problem import open_link_problem, with_links

    split = split_of(dataset, cell, seed)
    graph = with_links(split.train, split.test_links) if cell.conditions["oracle"] else split.train
    if cell.model in SCORES:
        score = SCORES[cell.model]
        return _scored(seed, split, lambda pairs: score(graph, pairs))
    tested = np.concatenate([split.test_links, split.test_non_links])
    given: dict[str, Any] = {
        "validation": (split.validation_links, split.validation_non_links),
        "asked": tested[np.lexsort((tested[:, 1], tested[:, 0]))],
    }
    if cell.model == LEARNED_GRAPH:
        problem = open_link_problem(graph, dataset.features, **given, held_out=0.05, seed=seed)
        learned = _learned_graph(cell, problem, seed, context)
        facts = {"learned_graph": graph_facts(dataset, learned)}
        return _scored(seed, split, lambda pairs: learned_weights(learned, pairs), facts)
    predictor = predictor_of(cell, seed, context)
    predictor.fit(graph, dataset.features, validation=given["validation"], pairs=given["asked"])
    context.notes.extend(predictor.notes_)
    details: dict[str, Any] = {}
    if predictor.learned_graph_ is not None:
        details["learned_graph"] = graph_facts(dataset, predictor.learned_graph_)
    if predictor.filling_ is not None:
        details["filling"] = asdict(predictor.filling_)
    return _scored(seed, split, predictor.decision_function, details, predictor)


def _scored(
    seed: int,
    split: LinkSplit,
    score: Any,
    details: dict[str, Any] | None = None,
    predictor: LinkEstimator | None = None,
) -> TrialResult:
    """Return all metrics; those of calibration only for models with probabilities."""
    validation = score(split.validation_links), score(split.validation_non_links)
    scores = [score(split.test_links), score(split.test_non_links)]
    found = dict(details or {})
    if predictor is not None:
        chances = [predictor.predict_proba(p) for p in (split.test_links, split.test_non_links)]
        scores += chances
        found["reliability"] = _reliability(*chances)
    metrics = link_metrics(*scores) | {
        "validation_auc": link_auc(*validation),
        "validation_ap": link_average_precision(*validation),
    }
    return TrialResult(seed, {name: metrics.get(name) for name in METRICS}, found)


def _reliability(links: NDArray[np.float64], non_links: NDArray[np.float64]) -> dict[str, Any]:
    truth = np.repeat([1, 0], [len(links), len(non_links)])
    chance = np.concatenate([links, non_links])
    curve = reliability_curve(truth, np.column_stack([1.0 - chance, chance]))
    return curve_facts(curve)


# --- from a cell to a predictor -----------------------------------------------------------------


def _kind(model: str) -> tuple[Callable[..., LinkEstimator], str]:
    """Return the class of predictor, and the auto-encoder in it."""
    from truegraph.tasks.links.estimator import BayesianLinkPredictor, LinkPredictor

    if model not in BAYESIAN:
        return LinkPredictor, model
    return BayesianLinkPredictor, model[1:]


def predictor_of(cell: Cell, seed: int, context: Context) -> LinkEstimator:
    """Return the predictor of a cell, not yet fitted."""
    kind, name = _kind(cell.model)
    own, options = _parts(cell, kind)
    return kind(
        name,
        **own,
        options=options or None,
        random_state=seed,
        device=context.device,
        cache=context.cache,
        samples=0,  # no metric needs draws
    )


def _parts(cell: Cell, kind: Callable[..., LinkEstimator]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the predictor, and those of the auto-encoder in it."""
    known = set(inspect.signature(kind).parameters) - _SET_BY_ENGINE
    own = {key: value for key, value in cell.settings.items() if key in known}
    return own, {key: value for key, value in cell.settings.items() if key not in known}


def _learned_graph(cell: Cell, problem: LinkProblem, seed: int, context: Context) -> LearnedGraph:
    """Return the graph learned from the embedding of the auto-encoder that is set as "base"."""
    from truegraph.tasks.base import Run
    from truegraph.tasks.links.algorithm2 import BayesianChoices, learned_graph
    from truegraph.tasks.links.training import base_embedding, fitting_settings, link_model

    choices = dict(cell.settings)
    run = Run(context.device, context.cache)
    model = fitting_settings(link_model(choices.pop("base", "vgae"), None), problem, run)
    embedding = base_embedding(model, problem, seed, run)
    return learned_graph(embedding, BayesianChoices(**choices), problem)


def check_settings(cell: Cell) -> None:
    """Raise an InputError for settings that the model of a cell does not have."""
    from truegraph.nn.options import options_from
    from truegraph.tasks.links.algorithm2 import BayesianChoices
    from truegraph.tasks.links.refined.model import RefinedSettings
    from truegraph.tasks.links.training import link_model

    if cell.model in RIVALS and cell.model != LEARNED_GRAPH:
        if cell.settings:
            raise InputError(
                f"{cell.model} has no settings, but {cell.settings} is given; remove it."
            )
        return
    if cell.model == LEARNED_GRAPH:
        choices = dict(cell.settings)
        link_model(choices.pop("base", "vgae"), None)
        BayesianChoices(**choices)
        return
    kind, name = _kind(cell.model)
    own, options = _parts(cell, kind)
    kind(name, **own)
    if name == REFINED:
        options_from(options, RefinedSettings)
    else:
        link_model(name, options)
