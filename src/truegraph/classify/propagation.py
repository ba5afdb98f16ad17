r"""Bayesian graph learning around predictions that are propagated: "bgcn-refined", "bgcn-fast".

1. `_classify`: APPNP on the observed graph, sampled by Monte Carlo dropout.
2. `_round_graph`, then `_classify` again: the labels of the current prediction (training nodes keep
   theirs) give D2, an embedding gives D1, D = D1 + delta D2 the most probable graph; a new network
   is trained on it and predicts on the observed graph. That is the new prediction, and a new round
   can begin.
3. `_step_shares`: a round counts by how much more confident it is, on average over the nodes, than
   the first prediction; what the rounds do not earn, the first prediction keeps. Both predict on
   the observed graph: a network that finds it no clearer than before was trained on a graph that
   does not fit. No label is needed for that. The mean by these shares is the prediction.
4. `left_out_predictions`: labelled nodes, left out of training in turn, say how confident the first
   prediction should be; the result, meant to be at least as good, is made no less confident.

"bgcn-fast" is the same with an embedding that needs no training, the probabilities themselves in
D2, and one round. It is the trained member of "auto".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.classify.calibration import (
    confidence,
    confidence_temperature,
    fitted_temperature,
    moved_entropy,
    tempered,
)
from truegraph.classify.inputs import NodeInputs, distance_graph, neighbour_graph
from truegraph.classify.left_out import all_wrong, balanced_folds, standard_errors
from truegraph.classify.problem import Problem
from truegraph.classify.spaces import EDGES, LEAST_DEGREE
from truegraph.errors import InputError
from truegraph.evaluation.samples import mean_of_samples
from truegraph.fit_log import FitLog
from truegraph.learning.core import learn
from truegraph.learning.inputs import check_choice
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance, LabelDisagreement, SumDistance
from truegraph.learning.settings import Settings
from truegraph.options import checked_options
from truegraph.paper.algorithm1 import GRAPH_DEFAULTS, check_graph_options, wanted_degree
from truegraph.paper.embedding import embed_nodes
from truegraph.paper.ensemble import AppnpEnsemble, train_ensemble
from truegraph.saving import savable
from truegraph.seeds import derived_seed

#: Options of "bgcn-refined", beside those of the graph.
#:
#: rounds : int
#:     How often a graph is learned from the current prediction.
#: label_distance : {"hard", "soft"}
#:     Whether predicted classes or their probabilities make D2.
#: graph : {"learned", "nearest", "none"}
#:     The most probable graph, as many nearest neighbours by the same distance, or no round at all.
#: safeguard : (float, float) or None
#:     Rounds count by the mean confidence that they gain over the first prediction: not at all up
#:     to the first number, in full from the second one on, in between in proportion. None: always
#:     in full.
#: samples : int
#:     Passes with dropout.
#: network_options : mapping or None
#:     Those of "appnp".
REFINED_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        **GRAPH_DEFAULTS,
        "rounds": 2,
        "label_distance": "hard",
        "graph": "learned",
        "safeguard": (0.01, 0.05),
        "samples": 20,
        "network_options": None,
    }
)
FAST_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        **REFINED_DEFAULTS,
        "embedding": "svd",
        "rounds": 1,
        "label_distance": "soft",
        "safeguard": (-0.01, 0.01),  # soft labels do not confirm themselves
    }
)
_MANY_NODES = 50_000
_FEW_DIMENSIONS = 16  # the search among many nodes costs ever more with the dimension
_BETTER = 2.0  # standard errors by which features alone must win; lab/choose/bgcn_refined.py
_FOLD_STREAM, _STEP_STREAM = 8, 16  # of the seed

Nodes = NDArray[np.int64]
Chances = NDArray[np.float32]
Prediction = tuple[Chances, Chances]  # (N, C), and expected entropy (N,)


@savable
class PropagationModel:
    """Networks, one per step that counts, whose average by their shares is the prediction.

    `temperature` is that of the average. With `on_neighbours` the nearest neighbours of the
    features take the place of the observed graph.
    """

    def __init__(
        self,
        mean: Prediction,
        learned: LearnedGraph | None,
        networks: list[AppnpEnsemble],
        shares: list[float],
        samples: int,
        temperature: float,
    ) -> None:
        found = tempered(mean[0], temperature)
        self.probabilities = found.astype(np.float32)
        self.expected_entropy = moved_entropy(mean[1], mean[0], found)
        self.learned_graph = learned
        self.networks, self.shares = networks, shares
        self.samples, self.temperature = samples, temperature
        self.on_neighbours = False

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""
        graph = neighbour_graph(inputs.features)[0] if self.on_neighbours else inputs.graph
        found = [_sampled(one, self.samples, graph, inputs.features) for one in self.networks]
        return tempered(_mean_of(found, self.shares)[0], self.temperature).astype(np.float32)

    def _check_saved(self) -> None:
        if not 1 <= self.samples <= 10_000:  # they are drawn anew and not stored
            raise InputError(f"samples={self.samples} must be between 1 and 10000.")
        if len(self.networks) != len(self.shares) or not self.temperature > 0.0:
            raise InputError("networks, shares and temperature do not fit.")


def refined(problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> PropagationModel:
    """Fit "bgcn-refined"."""
    return _fit_recipe(problem, checked_recipe(problem, options, log, REFINED_DEFAULTS), log)


def fast(problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> PropagationModel:
    """Fit "bgcn-fast"."""
    return _fit_recipe(problem, checked_recipe(problem, options, log, FAST_DEFAULTS), log)


def _fit_recipe(problem: Problem, recipe: SimpleNamespace, log: FitLog) -> PropagationModel:
    """Do all steps; where the observed graph misleads, without it.

    That is where left-out labels are clearly better predicted from features alone: the nearest
    neighbours of the features then take its place.
    """
    nodes, _, chances = left_out_predictions(problem, recipe, log)
    own, on_neighbours = problem.labels[nodes], False
    if problem.inputs.graph_from == "given":
        graphless = csr_array(problem.inputs.graph.shape)
        _, _, alone = left_out_predictions(problem, recipe, log, graphless)
        gain = _log_densities(alone, own) - _log_densities(chances, own)
        on_neighbours = standard_errors(gain) > _BETTER
    if on_neighbours:
        log.note(
            "left-out labels are clearly better predicted from features alone than with the "
            "observed graph: the nearest neighbours of the features take its place"
        )
        nearest = neighbour_graph(problem.inputs.features)[0]
        problem = replace(problem, inputs=replace(problem.inputs, graph=nearest))
        _, _, chances = left_out_predictions(problem, recipe, log)
    found = fit_steps(problem, recipe, fitted_temperature(chances, own), log)
    found.on_neighbours = on_neighbours
    return found


def auto_recipe(problem: Problem, options: Mapping[str, Any], log: FitLog) -> SimpleNamespace:
    """Return the recipe of the network of "auto", see `AUTO_DEFAULTS`: the fast one.

    The refined one takes one and a half times as long, and is no better (lab/choose/member.py).
    """
    given = {"degree": options["degree"], "samples": options["samples"]}
    if not options["learned_graphs"]:
        given["graph"] = "none"
    return checked_recipe(problem, given, log, FAST_DEFAULTS)


def checked_recipe(
    problem: Problem,
    options: Mapping[str, Any] | None,
    log: FitLog,
    defaults: Mapping[str, Any],
) -> SimpleNamespace:
    """Return checked options, with fewer edges and dimensions on many nodes."""
    o = SimpleNamespace(**checked_options(defaults, options))
    check_graph_options(o)
    check_choice("label_distance", o.label_distance, ("hard", "soft"))
    check_choice("graph", o.graph, ("learned", "nearest", "none"))
    _check_gains(o.safeguard)
    if o.graph == "none":
        return o
    nodes = problem.inputs.n_nodes
    usual = wanted_degree(o.degree, nodes, problem.classes)
    if o.degree is None:
        o.degree = min(usual, max(LEAST_DEGREE, round(EDGES / nodes)))
        if o.degree < usual:
            log.note(
                f"learned graphs: {o.degree:g} edges per node, not {usual:g}, on this many nodes"
            )
    if isinstance(o.embedding, str) and o.embedding == "svd" and nodes > _MANY_NODES:
        o.embedding_options = {"dimension": _FEW_DIMENSIONS, **(o.embedding_options or {})}
        log.note(f"embedding: {o.embedding_options['dimension']} dimensions on this many nodes")
    return o


def _check_gains(gains: Any) -> None:
    if gains is None:
        return
    try:
        none, full = (float(gain) for gain in gains)
    except (TypeError, ValueError):
        none, full = 0.0, 0.0
    if not -1.0 <= none < full <= 1.0:
        raise InputError(
            f"safeguard={gains!r} must be two gains of confidence, the smaller one first, such as "
            "(0.01, 0.05), or None to let all rounds count."
        )


def left_out_predictions(
    problem: Problem, recipe: SimpleNamespace, log: FitLog, graph: csr_array | None = None
) -> tuple[Nodes, Nodes, Chances]:
    """Train networks without a part of the labelled nodes in turn, if asked on another graph.

    Returns these nodes (m,), the folds in which they were left out (m,), and predictions (m, C).
    """
    parts = balanced_folds(problem.labels, problem.train, problem.seed)
    if not parts:  # no class has two labelled nodes
        nobody = np.empty(0, dtype=np.int64)
        return nobody, nobody, np.zeros((0, problem.classes), dtype=np.float32)
    nodes = np.concatenate(parts)
    folds = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    kept = [np.setdiff1d(problem.train, part) for part in parts]
    graph = problem.inputs.graph if graph is None else graph
    with log.stage("calibration"):
        seed = derived_seed(problem.seed, _FOLD_STREAM)
        networks = _trained(problem, graph, kept, seed, recipe, log)
        found = networks.predict_proba(graph, problem.inputs.features)[folds, nodes]
    if not np.any(found.argmax(axis=1) == problem.labels[nodes]):
        log.alarm(all_wrong(len(nodes)))
    return nodes, folds, found


def _log_densities(chances: Chances, own: Nodes) -> NDArray[np.float64]:
    """Return the log densities (m,) of labels (m,) at the best temperature."""
    fitting = tempered(chances, fitted_temperature(chances, own))[np.arange(len(own)), own]
    found: NDArray[np.float64] = np.log(np.maximum(fitting, 1e-12))
    return found


def fit_steps(
    problem: Problem, recipe: SimpleNamespace, heat: float, log: FitLog
) -> PropagationModel:
    """Do all steps with checked options; `heat` is the temperature that left-out labels ask for."""
    networks, found = _classify(problem, problem.inputs.graph, 0, recipe, log)
    steps, trained = [found], [networks]
    learned: LearnedGraph | None = None
    if recipe.graph != "none":
        embedded = EmbeddingDistance(embed_nodes(problem, recipe, log))
        for number in range(1, recipe.rounds + 1):
            learned, graph = _round_graph(problem, embedded, steps[-1][0], learned, recipe, log)
            networks, found = _classify(problem, graph, number, recipe, log)
            steps.append(found)
            trained.append(networks)
    shares = _step_shares([confidence(one[0]) for one in steps], recipe, log)
    mean = _mean_of(steps, shares)
    temperature = _result_temperature(steps[0][0], mean[0], heat)
    kept = [one for one, share in zip(trained, shares, strict=True) if share > 0.0]
    counting = [share for share in shares if share > 0.0]
    return PropagationModel(mean, learned, kept, counting, recipe.samples, temperature)


def _classify(
    problem: Problem, graph: csr_array, step: int, recipe: SimpleNamespace, log: FitLog
) -> tuple[AppnpEnsemble, Prediction]:
    """Train on a graph, in step 0 the observed one, and predict on the observed one."""
    seed = derived_seed(problem.seed, _STEP_STREAM + step)
    with log.stage(f"classifiers, round {step}" if step else "classifiers"):
        network = _trained(problem, graph, [problem.train], seed, recipe, log)
        inputs = problem.inputs
        return network, _sampled(network, recipe.samples, inputs.graph, inputs.features)


def _sampled(
    network: AppnpEnsemble, samples: int, graph: csr_array, features: csr_array
) -> Prediction:
    means, entropies = mean_of_samples(network.sample_proba(samples, graph, features))
    return means[0], entropies[0]


def _trained(
    problem: Problem,
    graph: csr_array,
    train: Sequence[Nodes],
    seed: int,
    recipe: SimpleNamespace,
    log: FitLog,
) -> AppnpEnsemble:
    return train_ensemble(
        problem.inputs.features,
        graph,
        problem.labels,
        train,
        classes=problem.classes,
        scalings=["length"] * len(train),
        options=recipe.network_options,
        seed=seed,
        device=problem.device,
        counts=problem.weights,
        progress=log.progress,
    )


def _round_graph(
    problem: Problem,
    embedded: EmbeddingDistance,
    chances: Chances,
    before: LearnedGraph | None,
    recipe: SimpleNamespace,
    log: FitLog,
) -> tuple[LearnedGraph | None, csr_array]:
    """Return the learned graph of a round, if any, and the graph to train on.

    The search for theta begins where it ended for the graph of the round before.
    """
    with log.stage("graph learning"):
        labels = _round_labels(problem, chances, recipe.label_distance)
        distance = SumDistance(embedded, LabelDisagreement(labels, problem.inputs.graph))
        degree = wanted_degree(recipe.degree, problem.inputs.n_nodes, problem.classes)
        if recipe.graph == "nearest":
            return None, distance_graph(distance, round(degree))
        theta = None if before is None else before.certificate.theta
        learned = learn(distance, Settings(degree, first_theta=theta), progress=log.progress)
        return learned, learned.adjacency


def _round_labels(
    problem: Problem, probabilities: Chances, label_distance: str
) -> NDArray[np.float64]:
    """Return class probabilities (N, C) for D2; training nodes have their own class."""
    chances, pure = probabilities.astype(np.float64), np.eye(problem.classes)
    if label_distance == "hard":
        chances = pure[chances.argmax(axis=1)]
    chances /= chances.sum(axis=1, keepdims=True)
    chances[problem.train] = pure[problem.labels[problem.train]]
    return chances


def _step_shares(sure: Sequence[float], recipe: SimpleNamespace, log: FitLog) -> list[float]:
    """Return the shares of the steps in the prediction, given the confidence of each."""
    if len(sure) == 1:
        return [1.0]
    gains = np.array(sure[1:]) - sure[0]
    earned = np.ones(len(gains))
    if recipe.safeguard is not None:
        none, full = recipe.safeguard
        earned = np.clip((gains - none) / (full - none), 0.0, 1.0)
    learned = float(earned.mean())
    if learned < 1.0:
        share = f"{100 * learned:.0f} %"
        text = (
            "learned graphs made predictions little or no more confident: their share of the "
            f"result is {share}"
        )
        if share == "0 %":
            log.alarm(f"{text}. Scale the features, or try another degree")
        else:
            log.note(text)
    return [1.0 - learned, *(earned / len(earned)).tolist()]


def _result_temperature(first: Chances, result: Chances, wanted: float) -> float:
    """Return the temperature of the result, `wanted` being that of the first prediction.

    Training on learned graphs has made the result more confident than the first prediction, often
    enough already; the temperature of the first would overshoot. So it only sets a level: the mean
    confidence that it gives the first prediction. A result below that level is raised to it.
    """
    level = confidence(tempered(first, wanted))
    if wanted < 1.0 and confidence(result) < level:
        return confidence_temperature(result, level)
    return 1.0


def _mean_of(predictions: Sequence[Prediction], shares: Sequence[float]) -> Prediction:
    """Return the average of predictions and of their expected entropies by their shares."""
    weights = np.array(shares, dtype=np.float64) / sum(shares)
    means, entropies = (
        sum(weight * one[part] for weight, one in zip(weights, predictions, strict=True))
        for part in (0, 1)
    )
    return np.asarray(means, dtype=np.float32), np.asarray(entropies, dtype=np.float32)
