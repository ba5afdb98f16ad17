r"""Bayesian graph learning around predictions that are propagated: "bgcn-refined", "bgcn-fast".

1. `_classify`: an ensemble of APPNP on the observed graph, one member on features whose rows have
   sum one and one on rows of length one; both are sampled by Monte Carlo dropout, tempered to the
   same mean confidence and averaged.
2. `_round_graph`, then `_classify` again: the labels of the current prediction (training nodes keep
   theirs) give D2, an embedding gives D1, D = D1 + delta D2 the most probable graph; new members
   are trained on it and predict on the observed graph. That is the new prediction, and a new round
   can begin.
3. `_step_shares`: a round counts by how much more confident it is, on average over the nodes, than
   the first prediction; what the rounds do not earn, the first prediction keeps. Both predict on
   the observed graph: members that find it no clearer than before were trained on a graph that does
   not fit. No label is needed for that. The mean by these shares is the prediction.
4. `left_out_predictions`: labelled nodes, left out of training in turn, say how confident the first
   prediction should be; the result, meant to be at least as good, is made no less confident.

"bgcn-fast" is the same with an embedding that needs no training, one scaling of the features, the
probabilities themselves in D2, and one round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
#: scalings : sequence of {"sum", "length"}
#:     How rows of features are normalised, one member for each.
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
#:     Of the members, those of "appnp".
REFINED_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        **GRAPH_DEFAULTS,
        "rounds": 2,
        "scalings": ("sum", "length"),
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
        "scalings": ("length",),
        "label_distance": "soft",
        "safeguard": (-0.01, 0.01),  # soft labels do not confirm themselves
    }
)
_SCALINGS = ("sum", "length")
_EDGES = 600_000.0  # more nodes than these allow 100 edges each get fewer, but not below:
_LEAST_DEGREE = 10.0
_MANY_NODES = 50_000
_FEW_DIMENSIONS = 16  # the search among many nodes costs ever more with the dimension
_GRAPHLESS = "without the graph"
# lab/choose/bgcn_refined.py
_WORSE = (-4.0, -2.0)  # standard errors: from nothing to all of a share
_BETTER = 2.0  # standard errors by which features alone must be better for a graph to be left
_FOLD_STREAM, _STEP_STREAM = 8, 16  # of the seed

Prediction = tuple[NDArray[np.float32], NDArray[np.float32]]  # (N, C), and expected entropy (N,)


@savable
@dataclass(frozen=True, eq=False)
class PropagationModel:
    """Ensembles of APPNP whose average is the prediction.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
    expected_entropy : ndarray of float32, shape (N,)
    learned_graph : LearnedGraph or None
        Of the last round.
    ensembles : list of AppnpEnsemble
        One per step that counts.
    temperatures, shares : list of list of float
        Of the members of each: at which their samples are tempered, and their part of the average.
    samples : int
        Passes with dropout.
    temperature : float
        At which the average is tempered.
    on_neighbours : bool
        Whether the nearest neighbours of the features take the place of the observed graph.
    """

    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32]
    learned_graph: LearnedGraph | None
    ensembles: list[AppnpEnsemble]
    temperatures: list[list[float]]
    shares: list[list[float]]
    samples: int
    temperature: float
    on_neighbours: bool

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""
        features = inputs.features
        graph = neighbour_graph(features)[0] if self.on_neighbours else inputs.graph
        found, shares = [], []
        for ensemble, heat, own in zip(self.ensembles, self.temperatures, self.shares, strict=True):
            passes = ensemble.sample_proba(self.samples, graph, features)
            means, entropies = mean_of_samples(tempered(one, np.array(heat)) for one in passes)
            found += list(zip(means, entropies, strict=True))
            shares += own
        return tempered(_mean_of(found, shares)[0], self.temperature).astype(np.float32)

    def _check_saved(self) -> None:
        if not 1 <= self.samples <= 10_000:  # they are drawn anew and not stored
            raise InputError(f"samples={self.samples} must be between 1 and 10000.")
        if not len(self.ensembles) == len(self.temperatures) == len(self.shares):
            raise InputError("ensembles, temperatures and shares do not fit.")


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of members for labelled nodes that were left out of training.

    Attributes
    ----------
    nodes : ndarray of int64, shape (m,)
    folds : ndarray of int64, shape (m,)
        Those of one fold were left out together.
    labels : ndarray of int64, shape (m,)
    chances : dict of str to ndarray of float32, shape (m, C)
        Trained on the observed graph with each scaling, the usual one last, and with the usual one
        on the features alone.
    """

    nodes: NDArray[np.int64]
    folds: NDArray[np.int64]
    labels: NDArray[np.int64]
    chances: dict[str, NDArray[np.float32]]

    @property
    def usual(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The nodes, their folds, and the predictions with the usual scaling."""
        return self.nodes, self.folds, self.chances["length"]

    def densities(self, name: str) -> NDArray[np.float64]:
        """Return the log densities (m,) of the labels at the best temperature."""
        chances = self.chances[name]
        fitting = tempered(chances, fitted_temperature(chances, self.labels))
        own = fitting[np.arange(len(self.labels)), self.labels]
        found: NDArray[np.float64] = np.log(np.maximum(own, 1e-12))
        return found


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
    left_out = left_out_predictions(problem, recipe, log)
    gain = left_out.densities(_GRAPHLESS) - left_out.densities("length")
    if problem.inputs.graph_from != "given" or standard_errors(gain) <= _BETTER:
        return fit_with(problem, recipe, left_out, log)
    log.note(
        "left-out labels are clearly better predicted from features alone than with the observed "
        "graph: the nearest neighbours of the features take its place"
    )
    nearest = neighbour_graph(problem.inputs.features)[0]
    apart = replace(problem, inputs=replace(problem.inputs, graph=nearest))
    again = left_out_predictions(apart, recipe, log, graphless=False)
    return replace(fit_with(apart, recipe, again, log), on_neighbours=True)


def auto_recipe(problem: Problem, options: Mapping[str, Any], log: FitLog) -> SimpleNamespace:
    """Return the recipe of the network of "auto", see `fit_auto`: the fast one.

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
    """Return checked options without what the data do not allow, see `REFINED_DEFAULTS`."""
    o = SimpleNamespace(**checked_options(defaults, options))
    check_graph_options(o)
    check_choice("label_distance", o.label_distance, ("hard", "soft"))
    check_choice("graph", o.graph, ("learned", "nearest", "none"))
    _check_scalings(o.scalings)
    if o.safeguard is not None:
        _check_gains(o.safeguard)
    if problem.inputs.normalised_by == "length" and "sum" in o.scalings:
        o.scalings = ("length",)
        log.note("features have negative values: only rows of length one are used")
    if o.graph == "none":
        return o
    nodes = problem.inputs.n_nodes
    usual = wanted_degree(o.degree, nodes, problem.classes)
    if o.degree is None:
        o.degree = min(usual, max(_LEAST_DEGREE, round(_EDGES / nodes)))
        if o.degree < usual:
            log.note(
                f"learned graphs: {o.degree:g} edges per node, not {usual:g}, on this many nodes"
            )
    if isinstance(o.embedding, str) and o.embedding == "svd" and nodes > _MANY_NODES:
        o.embedding_options = {"dimension": _FEW_DIMENSIONS, **(o.embedding_options or {})}
        log.note(f"embedding: {o.embedding_options['dimension']} dimensions on this many nodes")
    return o


def _check_scalings(scalings: Any) -> None:
    if isinstance(scalings, str) or not scalings or not set(scalings) <= set(_SCALINGS):
        raise InputError(f"scalings={scalings!r} must be one or both of {', '.join(_SCALINGS)}.")
    if scalings[-1] != "length":
        raise InputError(f"scalings={scalings!r} must end with 'length', the usual one.")


def _check_gains(gains: Any) -> None:
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
    problem: Problem, recipe: SimpleNamespace, log: FitLog, *, graphless: bool = True
) -> LeftOut:
    """Train members without a part of the labelled nodes in turn, if asked without graph too."""
    parts = balanced_folds(problem.labels, problem.train, problem.seed)
    names = [*recipe.scalings, *[_GRAPHLESS] * graphless]
    if not parts:  # no class has two labelled nodes
        nobody = np.empty(0, dtype=np.int64)
        nothing = np.zeros((0, problem.classes), dtype=np.float32)
        return LeftOut(nobody, nobody, nobody, dict.fromkeys(names, nothing))
    kept = [np.setdiff1d(problem.train, part) for part in parts]
    nodes = np.concatenate(parts)
    folds = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    seed = derived_seed(problem.seed, _FOLD_STREAM)

    def chances_on(graph: csr_array, scalings: Sequence[str]) -> list[NDArray[np.float32]]:
        each = [scaling for scaling in scalings for _ in parts]
        members = _trained(problem, graph, kept * len(scalings), each, seed, recipe, log)
        found = members.predict_proba(graph, problem.inputs.features)
        return [found[place * len(parts) + folds, nodes] for place in range(len(scalings))]

    with log.stage("calibration"):
        found = chances_on(problem.inputs.graph, recipe.scalings)
        if graphless:
            found += chances_on(csr_array(problem.inputs.graph.shape), ("length",))
    chances = dict(zip(names, found, strict=True))
    left_out = LeftOut(nodes, folds, problem.labels[nodes], chances)
    if not np.any(left_out.usual[2].argmax(axis=1) == left_out.labels):
        log.alarm(all_wrong(len(nodes)))
    return left_out


def fit_with(
    problem: Problem, recipe: SimpleNamespace, left_out: LeftOut, log: FitLog
) -> PropagationModel:
    """Do all steps with checked options and with predictions for left-out nodes."""
    counts = _scaling_shares(recipe.scalings, left_out)
    steps = [_classify(problem, problem.inputs.graph, 0, counts, recipe, log)]
    learned: LearnedGraph | None = None
    if recipe.graph != "none":
        embedded = EmbeddingDistance(embed_nodes(problem, recipe, log))
        for number in range(1, recipe.rounds + 1):
            chances = steps[-1].prediction[0]
            learned, graph = _round_graph(problem, embedded, chances, learned, recipe, log)
            steps.append(_classify(problem, graph, number, counts, recipe, log))
    shares = _step_shares([confidence(one.prediction[0]) for one in steps], recipe, log)
    mean, entropies = _mean_of([one.prediction for one in steps], shares)
    wanted = fitted_temperature(left_out.usual[2], left_out.labels)
    heat = _result_temperature(steps[0].prediction[0], mean, wanted)
    found = tempered(mean, heat)
    kept = [(one, share) for one, share in zip(steps, shares, strict=True) if share > 0.0]
    return PropagationModel(
        found.astype(np.float32),
        moved_entropy(entropies, mean, found),
        learned,
        [one.ensemble for one, _ in kept],
        [one.temperatures for one, _ in kept],
        [[share * count for count in counts] for _, share in kept],
        recipe.samples,
        heat,
        False,
    )


def _classify(
    problem: Problem,
    graph: csr_array,
    step: int,
    counts: Sequence[float],
    recipe: SimpleNamespace,
    log: FitLog,
) -> SimpleNamespace:
    """Train one member per scaling on a graph; predict on the observed graph and average.

    Step 0 is that of the observed graph, then they are the rounds. The last scaling stays as it is;
    the others get the temperature at which their mean confidence equals its own.
    """
    features, observed = problem.inputs.features, problem.inputs.graph
    scalings, seed = recipe.scalings, derived_seed(problem.seed, _STEP_STREAM + step)
    with log.stage(f"classifiers, round {step}" if step else "classifiers"):
        train = [problem.train] * len(scalings)
        ensemble = _trained(problem, graph, train, scalings, seed, recipe, log)
        samples = ensemble.sample_proba(recipe.samples, observed, features)
        if len(scalings) == 1:
            means, entropies = mean_of_samples(samples)
            temperatures = [1.0]
        else:
            kept = list(samples)
            plain = np.mean(kept, axis=0)
            level = confidence(plain[-1])
            temperatures = [confidence_temperature(one, level) for one in plain[:-1]] + [1.0]
            heat = np.array(temperatures)
            means, entropies = mean_of_samples(tempered(one, heat) for one in kept)
    prediction = _mean_of(list(zip(means, entropies, strict=True)), counts)
    return SimpleNamespace(prediction=prediction, ensemble=ensemble, temperatures=temperatures)


def _trained(
    problem: Problem,
    graph: csr_array,
    train: Sequence[NDArray[np.int64]],
    scalings: Sequence[str],
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
        scalings=scalings,
        options=recipe.network_options,
        seed=seed,
        device=problem.device,
        progress=log.progress,
    )


def _round_graph(
    problem: Problem,
    embedded: EmbeddingDistance,
    chances: NDArray[np.float32],
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
    problem: Problem, probabilities: NDArray[np.float32], label_distance: str
) -> NDArray[np.float64]:
    """Return class probabilities (N, C) for D2; training nodes have their own class."""
    chances, pure = probabilities.astype(np.float64), np.eye(problem.classes)
    if label_distance == "hard":
        chances = pure[chances.argmax(axis=1)]
    chances /= chances.sum(axis=1, keepdims=True)
    chances[problem.train] = pure[problem.labels[problem.train]]
    return chances


def _scaling_shares(scalings: Sequence[str], left_out: LeftOut) -> list[float]:
    """Return how much each scaling counts, the best one in full.

    A scaling whose members predict left-out labels clearly worse than the best one's counts less:
    in full up to two standard errors, not at all from four on.
    """
    own = [left_out.densities(name) for name in scalings]
    best = max(own, key=lambda densities: float(densities.sum()))
    none, full = _WORSE
    worse = [standard_errors(densities - best) for densities in own]
    return [float(np.clip((one - none) / (full - none), 0.0, 1.0)) for one in worse]


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


def _result_temperature(
    first: NDArray[np.float32], result: NDArray[np.float32], wanted: float
) -> float:
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
