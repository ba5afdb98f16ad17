r"""The recommended model: Bayesian model averaging over what the true graph may be.

1. `observed_sources`, `fit_view`: views that need no learning (features only, the observed graph,
   with and without edges that look random, how neighbours differ, which nodes are linked) are
   weighted by how well they predict left-out training labels, with a prior for views of the
   observed graph that grows with the agreement of predictions from features across its edges
   (`averaging`).
2. `learned_sources`: graphs are learned from the features and, where that first look speaks for
   the observed graph, from features spread over it; all views are weighted together. Where edges
   seem to have been put at labelled nodes to mislead, views of the observed graph are left out.
3. `try_forest`, `try_propagation`: where views of the features alone have weight a random forest,
   and where those that rest on the observed graph have weight a trained network takes over a part
   of it, if they predict left-out labels as well.
4. `combined`: the prediction is the mean by the weights, sharpened to the confidence that its parts
   have on average, with classes as frequent as it says itself where that clearly differs from the
   labels. Enough left-out labels teach a temperature per node.

Views, temperatures and weights see the training labels only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.classify.averaging import (
    ALIKE,
    PROPAGATION,
    graph_agreement,
    handed_over,
    misleading_edges,
    observed_graph_weight,
    rests_on_edges,
    weight_of,
    weights_in_words,
    weights_of_views,
)
from truegraph.classify.calibration import (
    NodeTemperatures,
    class_factors,
    confidence_temperature,
    estimated_factors,
    fitted_temperature,
    learned_temperatures,
    log_degrees,
    moved_entropy,
    shares_of,
    tempered,
    uneven_classes,
)
from truegraph.classify.edges import edge_model
from truegraph.classify.inputs import NodeInputs
from truegraph.classify.left_out import (
    LeftOutLabels,
    TrainingLabels,
    all_wrong,
    standard_errors,
    training_labels,
)
from truegraph.classify.problem import Problem
from truegraph.classify.spaces import FeatureSpace, PointGraph, can_learn_from, structure_axes
from truegraph.classify.view_models import (
    FOREST,
    FittedView,
    ViewModel,
    fit_class_shares,
    fit_forest,
    fit_view,
)
from truegraph.classify.views import GRAPH_OF, KINDS, Views, ViewSources
from truegraph.errors import InputError
from truegraph.evaluation.samples import entropy
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.learning.inputs import check_number
from truegraph.learning.learned import LearnedGraph
from truegraph.options import checked_options
from truegraph.saving import savable

#: effort : {"low", "normal"}
#:     "low" trains no network, "normal" one where left-out labels support the observed graph.
#: degree : float or None
#:     Average number of edges per node of the learned graphs. None: 30 if learned from features, 80
#:     if from features and graph, in both cases fewer on few nodes and on many.
#: samples : int
#:     Passes with dropout of the network.
#: class_prior : {"auto", "train", "uniform"} or array of shape (C,)
#:     How frequent the classes are among all nodes: as the predictions say where they clearly
#:     differ from the training labels (None is the same), as among these, all alike, or as given.
#: weights : {"left-out", "equal"}
#:     Whether views are weighted by left-out labels or all alike.
#: learned_graphs, observed_graph, trained_member : bool
#:     Whether views of learned graphs, views of the observed graph, and the network take part.
AUTO_DEFAULTS: dict[str, Any] = {
    "effort": "normal",
    "degree": None,
    "samples": 20,
    "class_prior": None,
    "weights": "left-out",
    "learned_graphs": True,
    "observed_graph": True,
    "trained_member": True,
}
_CHOICES = {"effort": ("low", "normal"), "weights": ("left-out", "equal")}
_PRIORS = ("auto", "train", "uniform")

# lab/choose/auto_graphs.py
_DEGREE_OF_FEATURES, _DEGREE_OF_BOTH = 30.0, 80.0
_LOOK = 0.02  # weight of the observed graph in the first look from which on it is learned from
_MANY_NODES = 200_000  # beyond, graphs and forests would take longer than all else
# lab/choose/auto_members.py
_FALSE = 0.1  # share of false edges from which on the observed graph is cleaned
_LEAST = 0.05  # weight of its views from which on a member is tried
_TAKEN = 0.6  # share of the weight of their views that the trained network takes over
_TAKEN_BY_FOREST = 0.5
_MOST_NUMBERS = 5e7  # of labelled rows, which trees sort
_GAIN = 0.1  # in nats per label over the frequencies of the classes that a member must show
_WORSE = (-3.0, -1.0)  # standard errors from the best view: from nothing to all of the share
# lab/choose/auto_temperatures.py
_SHARPER = 1.15

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]


@savable
@dataclass(frozen=True, eq=False)
class AutoModel:
    """The fitted average, to be applied to the fitted nodes with new ones after them."""

    probabilities: NDArray[np.float32]  # (N, C)
    expected_entropy: NDArray[np.float32]  # (N,)
    learned_graph: LearnedGraph | None  # that whose views have the largest weight
    sources: ViewSources
    views: list[ViewModel]  # those that count
    view_weights: dict[str, float]  # of each view and of the network, the largest first
    observed_graph_weight: float
    labels: TrainingLabels
    class_factors: Floats  # (C,), by which the probabilities of the classes are multiplied
    temperature: float  # of the average
    left_out: LeftOutLabels
    temperatures: NodeTemperatures | None  # where there were enough labels to learn them
    member: Any  # the trained network, a PropagationModel, or None

    @property
    def class_shares(self) -> Floats:
        """How frequent the classes are taken to be among all nodes, shape (C,)."""
        return shares_of(self.labels.class_counts, self.class_factors)

    def predict(self, inputs: NodeInputs) -> NDArray[np.float32]:
        """Return the class probabilities (N', C) of the fitted nodes with new ones after them."""
        views = Views(self.sources, inputs)
        parts: list[Any] = []
        for one in self.views:
            chances = one.probabilities(one.scores(views, self.labels))
            parts.append((self.view_weights[one.name], chances))
        if self.member is not None:
            trusted = replace(inputs, graph=views.trusted_graph)
            parts.append((self.view_weights[PROPAGATION], self.member.predict(trusted)))
        mean, _, _ = averaged(parts, self.class_factors)
        found = tempered(mean, self.temperature).astype(np.float32)
        if self.temperatures is None:
            return found
        return self.temperatures.applied(found, log_degrees(inputs.graph)).astype(np.float32)

    def _check_saved(self) -> None:
        nodes, classes = self.probabilities.shape
        if self.class_factors.shape != (classes,) or self.labels.classes != classes:
            raise InputError("class factors or labels do not fit the classes.")
        gate.indices("training nodes", self.labels.nodes, nodes)
        named = {one.name for one in self.views} | ({PROPAGATION} if self.member else set())
        if not named <= set(self.view_weights):
            raise InputError("views lack their weights.")


class _Average:
    """The views of one fit while it goes on, and what takes over a part of their weights."""

    def __init__(self, labels: TrainingLabels, all_alike: bool) -> None:
        self.labels, self.all_alike = labels, all_alike
        self.views: list[FittedView] = []
        self.agreement = 0.0
        self.forest: FittedView | None = None
        self.forest_share = 0.0
        self.member: Any = None  # its module loads torch
        self.member_kinds: tuple[str, ...] = ALIKE  # views whose hypothesis the network shares
        self.member_share = 0.0
        self.member_left_out: tuple[Nodes, Nodes, NDArray[Any]] | None = None

    @property
    def all_views(self) -> list[FittedView]:
        """All views, the forest last."""
        return self.views if self.forest is None else [*self.views, self.forest]

    def weights(self, *, with_member: bool = True) -> dict[str, float]:
        """Return the weight of each view that counts, and of the members; they sum to one."""
        densities = {one.name: one.densities for one in self.views}
        labels = self.labels
        how: dict[str, Any] = {"all_alike": self.all_alike, "counts": labels.tested_weights}
        found = weights_of_views(densities, self.agreement, labels.seed, **how)
        if with_member and self.member is not None:
            found = handed_over(found, self.member_kinds, self.member_share, PROPAGATION)
        if self.forest is not None:
            found = handed_over(found, ("none",), self.forest_share, FOREST)
        return found

    def weight_of(self, *kinds: str) -> float:
        """Return the weight of all views of some kinds."""
        return weight_of(self.weights(), kinds)

    def tested_probabilities(self, *, with_member: bool = True) -> Floats:
        """Return the class probabilities (m, C) of tested nodes without their own labels.

        The mean over the views by their weights, and over the repeats of leaving out. In place of
        the network stand those that were trained without a third of the labels. Weights and
        temperatures, a few numbers, have seen all labels.
        """
        weights, labels = self.weights(with_member=with_member), self.labels
        found = np.zeros((len(labels.tested_nodes), labels.classes))
        for one in self.all_views:
            if one.name in weights:
                chances = one.model.probabilities(one.left_out).mean(axis=0)
                found += weights[one.name] * chances
        if PROPAGATION in weights and self.member_left_out is not None:
            nodes, _, chances = self.member_left_out
            places = places_of(nodes, labels.tested_nodes)
            found[places] += weights[PROPAGATION] * self.fitting(labels.tested_labels[places])
        return found / found.sum(axis=1, keepdims=True) if len(labels.aside) else found

    def fitting(self, own: Nodes) -> Floats:
        """Return what the network says of left-out nodes with these labels, at its temperature."""
        assert self.member_left_out is not None
        chances = self.member_left_out[2]
        return tempered(chances, fitted_temperature(chances, own))

    def always_wrong(self) -> bool:
        """Return whether every left-out label is thought less likely than by guessing."""
        labels = self.labels.tested_labels
        chances = self.tested_probabilities(with_member=False)[np.arange(len(labels)), labels]
        return bool(len(chances)) and bool(np.all(chances < 1.0 / self.labels.classes))


def places_of(nodes: Nodes, among: Nodes) -> Nodes:
    """Return where nodes (k,) stand among others (m,), which hold them all."""
    order = np.argsort(among)
    return order[np.searchsorted(among, nodes, sorter=order)]


def fit_auto(problem: Problem, options: Mapping[str, Any] | None, log: FitLog) -> AutoModel:
    """Fit the recommended model; options are those of `AUTO_DEFAULTS`."""
    chosen = auto_options(options)
    inputs = problem.inputs
    labels = training_labels(problem)
    average = _Average(labels, chosen["weights"] == "equal")
    with log.stage("views"):
        sources = observed_sources(inputs, chosen)
        views = Views(sources, inputs)
        average.views = [fit_class_shares(views, labels)]
        average.views += [fit_view(name, views, labels) for name in sources.names]
        if sources.has_graph:
            average.agreement = graph_agreement(inputs.graph, average.views)
    with log.stage("graph learning"):
        first_look = average.weight_of("observed", "cleaned")
        sources = learned_sources(sources, views, first_look, chosen)
        views = Views(sources, inputs)
    with log.stage("views"):
        fitted = {one.name for one in average.views}
        new = [name for name in sources.names if name not in fitted]
        average.views += [fit_view(name, views, labels) for name in new]
        if sources.has_graph:
            set_aside(average, log)
    if inputs.features_from == "given":
        with log.stage("forest"):
            try_forest(average, views)
    if chosen["effort"] != "low" and chosen["trained_member"]:
        try_propagation(problem, average, views, chosen, log)
    found = combined(average, sources, inputs, chosen)
    add_notes(found, average, inputs, chosen, log)
    return found


def auto_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return checked options, see `fit_auto`."""
    chosen = checked_options(AUTO_DEFAULTS, options)
    for name, allowed in _CHOICES.items():
        if chosen[name] not in allowed:
            raise InputError(f"{name}={chosen[name]!r} must be one of {', '.join(allowed)}.")
    if chosen["degree"] is not None:
        check_number("degree", chosen["degree"], above=0.0)
    prior = "auto" if chosen["class_prior"] is None else chosen["class_prior"]
    if isinstance(prior, str) and prior not in _PRIORS:
        raise InputError(
            f"class_prior={prior!r} must be 'auto', 'train', 'uniform' or one share per class."
        )
    return chosen | {"class_prior": prior}


def observed_sources(
    inputs: NodeInputs, options: Mapping[str, Any], *, keeps_lengths: bool = False
) -> ViewSources:
    """Return what views can be made of without learning a graph."""
    has_graph = inputs.graph_from == "given" and options["observed_graph"]
    is_known = inputs.features_from != "identity"
    own, width = inputs.raw if is_known else None, inputs.raw.shape[1]
    space = FeatureSpace(own, width, keeps_lengths=keeps_lengths)
    if not has_graph:
        return ViewSources(space, has_graph)
    sources = ViewSources(space, has_graph, structure_axes(inputs.graph))
    if inputs.n_nodes > _MANY_NODES or not options["learned_graphs"]:
        return sources
    model = edge_model(inputs.graph, Views(sources, inputs).coordinates)
    if model is None or model.false_share < _FALSE:
        return sources
    return replace(sources, edge_model=model)


def learned_sources(
    sources: ViewSources, views: Views, observed_weight: float, options: Mapping[str, Any]
) -> ViewSources:
    """Add the graphs that are worth learning, given the observed graph's weight in a first look."""
    if not options["learned_graphs"] or views.n_nodes > _MANY_NODES:
        return sources
    unit, degree = sources.space.has_directions, options["degree"]
    nearest = learned = both = None
    if can_learn_from(views.coordinates):
        learned = PointGraph(views.coordinates, degree or _DEGREE_OF_FEATURES, unit)
        if not sources.has_graph:
            nearest = PointGraph(views.coordinates, None, unit)
    if sources.has_graph and sources.space.dimension and observed_weight >= _LOOK:
        spread = views.twice
        if can_learn_from(spread):
            both = PointGraph(spread, degree or _DEGREE_OF_BOTH, True)
    return replace(sources, learned=learned, learned_from_both=both, nearest=nearest)


def set_aside(average: _Average, log: FitLog) -> None:
    """Leave out the views of the observed graph where its edges seem to mislead."""
    message = misleading_edges(average.views, average.labels)
    if message is not None:
        log.alarm(message)
        average.views = [one for one in average.views if not rests_on_edges(one.name)]


def try_forest(average: _Average, views: Views) -> None:
    """Add a random forest where views of the features alone have weight.

    It takes over a part of that weight: less if it predicts left-out labels worse than the best of
    these views does, and nothing if it hardly knows more than the frequencies of the classes.
    """
    labels = average.labels
    nodes, width = views.table(FOREST).shape
    is_large = nodes > _MANY_NODES or 1.0 * len(labels.nodes) * width > _MOST_NUMBERS
    if is_large or not len(labels.tested_nodes) or average.weight_of("none") < _LEAST:
        return
    forest, counts = fit_forest(views, labels), labels.tested_weights
    alone = [one.densities for one in average.views if KINDS.get(one.name) == "none"]
    best = max(alone, key=lambda densities: float(counts @ densities))
    earned = earned_share(labels, forest.densities, labels.tested_labels, best, counts)
    if earned > 0.0:
        average.forest, average.forest_share = forest, _TAKEN_BY_FOREST * earned


def try_propagation(
    problem: Problem, average: _Average, views: Views, options: Mapping[str, Any], log: FitLog
) -> None:
    """Train a network that propagates its predictions, where its views have weight.

    It shares the hypothesis of the views that rest on the observed graph, without its false edges
    where it has many; the more of these, the less it counts, down to nothing from one half on.
    Where no graph was observed it is trained on the nearest neighbours and shares the hypothesis of
    all views. How large a part of their weight it takes over, networks say that were trained
    without some labels. Only then is the network itself trained.
    """
    most = _TAKEN * max(0.0, 1.0 - 2.0 * views.false_share)
    if problem.inputs.graph_from != "given":
        if views.of_table:  # where it gains nothing: lab/experiments/small_tables.toml
            return
        average.member_kinds = ("learned", "none")
    if most == 0.0 or average.weight_of(*average.member_kinds) < _LEAST:
        return
    import_extra("torch")
    from truegraph.classify.propagation import auto_recipe, fit_steps, left_out_predictions

    quiet = FitLog(log.progress)  # notes of the network are not those of the average
    quiet.seconds = log.seconds
    part = replace(problem, inputs=replace(problem.inputs, graph=views.trusted_graph))
    recipe = auto_recipe(part, options, quiet)
    nodes, folds, chances = left_out_predictions(part, recipe, quiet)
    known = np.isin(nodes, average.labels.nodes)  # of very many labels a part
    average.member_left_out = nodes[known], folds[known], chances[known]
    average.member_share = most * _member_share(average, views)
    if average.member_share > 0.0:
        heat = fitted_temperature(chances, problem.labels[nodes])
        average.member = fit_steps(part, recipe, heat, quiet)


def _member_share(average: _Average, views: Views) -> float:
    """Return the part, from 0 to 1, of its share that the network earns by left-out labels."""
    assert average.member_left_out is not None
    nodes, folds, _ = average.member_left_out
    if not len(nodes):
        return 1.0
    places = places_of(nodes, average.labels.nodes)
    own, counts = average.labels.labels[places], average.labels.counts[places]
    chances = average.fitting(own)[np.arange(len(own)), own]
    densities = np.log(np.maximum(chances, 1e-12))
    rival = _rival(average, views, places, folds)
    return earned_share(average.labels, densities, own, rival, counts)


def _rival(average: _Average, views: Views, places: Nodes, folds: Nodes) -> Floats:
    """Return the log densities (m,) of left-out labels under the best view the network rivals.

    Its classifier is fitted without the same labels, given by their places, as the network was.
    """
    row = np.full((1, len(average.labels.nodes)), -1, dtype=np.int64)
    row[0, places] = folds
    labels = replace(average.labels, folds=row, aside=places[:0], aside_labels=places[:0])
    found = []
    for name in (one.name for one in average.views):
        if KINDS.get(name) in average.member_kinds and KINDS.get(name) != "both":
            densities = np.empty(row.shape[1])
            densities[row[0] >= 0] = fit_view(name, views, labels).densities
            found.append(densities[places])
    counts = labels.counts[places]
    return max(found, key=lambda densities: float(counts @ densities))


def earned_share(
    labels: TrainingLabels, densities: Floats, own: Nodes, rival: Floats, counts: Floats
) -> float:
    """Return the part, from 0 to 1, of its share that a member earns beside a view.

    `densities` and `rival` (m,) are log densities of left-out labels `own` (m,), each of which
    counts `counts` (m,), under the member and under the best view.
    """
    shares = labels.class_counts + 1.0
    known = np.log(shares / shares.sum())[own]
    if (counts * densities).mean() < (counts * known).mean() + _GAIN:
        return 0.0
    none, full = _WORSE
    errors = standard_errors(counts * (densities - rival))
    return float(np.clip((errors - none) / (full - none), 0.0, 1.0))


def combined(
    average: _Average, sources: ViewSources, inputs: NodeInputs, options: Mapping[str, Any]
) -> AutoModel:
    """Return the mean of views and members by their weights, calibrated."""
    weights, labels = average.weights(), average.labels
    counting = [one for one in average.all_views if one.name in weights]
    parts: list[Any] = [(weights[one.name], one.probabilities) for one in counting]
    if average.member is not None:
        parts.append((weights[PROPAGATION], average.member.probabilities))
    factors = class_factors(options["class_prior"], labels.class_counts)
    mean, entropies, confidence = averaged(parts, factors)
    if isinstance(options["class_prior"], str) and options["class_prior"] == "auto":
        sharpened = tempered(mean, mean_temperature(mean, confidence)).astype(np.float32)
        factors = estimated_factors(np.delete(sharpened, labels.nodes, axis=0), labels.class_counts)
        mean, entropies, confidence = averaged(parts, factors)
    temperature = mean_temperature(mean, confidence)
    chances = tempered(mean, temperature)
    entropies = moved_entropy(entropies, mean, chances)
    found = chances.astype(np.float32)
    left_out = left_out_labels(average, factors, temperature)
    temperatures, left_out = learned_temperatures(left_out, inputs.graph)
    if temperatures is not None:
        before = found
        found = temperatures.applied(before, log_degrees(inputs.graph)).astype(np.float32)
        entropies = moved_entropy(entropies, before, found)
    ordered = dict(sorted(weights.items(), key=lambda one: -one[1]))
    return AutoModel(
        found,
        entropies,
        main_graph(sources, average),
        sources,
        [one.model for one in counting],
        ordered,
        observed_graph_weight(ordered, sources.has_graph),
        labels,
        factors,
        temperature,
        left_out,
        temperatures,
        average.member,
    )


def averaged(
    parts: Iterable[tuple[float, NDArray[Any]]], class_factors: Floats
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Return the mean (N, C) of predictions by their weights, and of their entropies (N,)."""
    total: float = 0.0
    mean: Any = 0.0
    uncertainty: Any = 0.0
    confidence: float = 0.0
    for weight, probabilities in parts:
        own = probabilities * class_factors
        own = own / own.sum(axis=1, keepdims=True)
        mean = mean + weight * own
        uncertainty = uncertainty + weight * entropy(own)
        confidence += weight * float(own.max(axis=1).mean())
        total += weight
    mean = (mean / total).astype(np.float32)
    return mean, (uncertainty / total).astype(np.float32), confidence / total


def mean_temperature(mean: NDArray[np.float32], confidence: float) -> float:
    """Return the temperature of a mean (N, C) of predictions of some confidence."""
    return min(1.0, confidence_temperature(mean, confidence)) / _SHARPER


def left_out_labels(average: _Average, factors: Floats, temperature: float) -> LeftOutLabels:
    """Return tested nodes with predictions that their own labels had no part in.

    Views and members are averaged as in the prediction of all nodes, at the same temperature, with
    the same factors (C,) of the classes, by which labels count, too.
    """
    found = average.tested_probabilities() * factors
    found /= found.sum(axis=1, keepdims=True)
    labels = average.labels
    own, counts = labels.tested_labels, labels.tested_weights
    chances = tempered(found, temperature)
    return LeftOutLabels(labels.tested_nodes, own, chances, counts * factors[own])


def main_graph(sources: ViewSources, average: _Average) -> LearnedGraph | None:
    """Return the learned graph whose views have the largest weight."""
    named = {"learned": sources.learned, "learned from both": sources.learned_from_both}
    there = {name: graph for name, graph in named.items() if graph is not None}
    if not there:
        return None
    weights = average.weights(with_member=False)
    own = {
        name: sum(w for view, w in weights.items() if GRAPH_OF.get(view) == name) for name in there
    }
    return there[max(own, key=lambda name: own[name])].learned


def add_notes(
    found: AutoModel,
    average: _Average,
    inputs: NodeInputs,
    options: Mapping[str, Any],
    log: FitLog,
) -> None:
    """Say in the log what predictions rest on, and why they may be unreliable."""
    sources = found.sources
    graph = inputs.graph if sources.has_graph else None
    false_share = None if sources.edge_model is None else sources.edge_model.false_share
    log.note(weights_in_words(found.view_weights, graph, found.probabilities, false_share))
    uneven = uneven_classes(found.labels.class_counts, found.class_factors)
    is_estimated = isinstance(options["class_prior"], str) and options["class_prior"] == "auto"
    if is_estimated and uneven is not None:
        log.note(uneven)
    if average.always_wrong():
        log.alarm(all_wrong(len(average.views[0].densities)))
