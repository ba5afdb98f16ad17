r"""The committee: Bayesian model averaging over what the true graph may be.

1. `first_grounds`: views that need no learning (features only, the observed graph, with and
   without edges that look random, how neighbours differ, which nodes are linked) are weighted by
   how well they predict left-out training labels, with a prior for views of the observed graph
   that grows with the agreement of predictions from features across its edges.
2. `learned_grounds`: graphs are learned from the features and, where that first look speaks for
   the observed graph, from features spread over it; all views are weighted together.
   Where edges seem to have been put at labelled nodes to mislead, `set_aside` leaves the views of
   the observed graph out.
3. `grow_trees`, `train_members`: where views of the features alone have weight a random forest,
   and where those that rest on the observed graph have weight a trained recipe takes over a part
   of it, if they predict left-out labels as well.
4. `conclude`: the prediction is the mean of the members' by their weights, sharpened to the
   confidence that they have on average, with classes as frequent as it says itself where that
   clearly differs from the labels. Enough left-out labels teach a temperature per node.

Views, temperatures and weights see the training labels only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truegraph.learning.learned import LearnedGraph
from truegraph.tasks.base import Run
from truegraph.tasks.classify.class_shares import estimated_factors, uneven_classes
from truegraph.tasks.classify.committee.belief import Belief, believed
from truegraph.tasks.classify.committee.cleaning import judge_edges
from truegraph.tasks.classify.committee.features import feature_space, no_space
from truegraph.tasks.classify.committee.fitted import FittedCommittee, Voice, averaged
from truegraph.tasks.classify.committee.graphs import learn_from, structure_axes
from truegraph.tasks.classify.committee.members import TrainedMember, grow_trees, train_members
from truegraph.tasks.classify.committee.opinions import open_trial, opinions_on
from truegraph.tasks.classify.committee.options import CommitteeOptions
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.views import GRAPH_OF, KINDS, Grounds, Views
from truegraph.tasks.classify.inputs import NodeInputs
from truegraph.tasks.classify.methods import Method
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import all_wrong
from truegraph.tasks.classify.recipes.ensemble import Prediction
from truegraph.tasks.classify.results import TrialResults
from truegraph.tasks.classify.trust.committee_evidence import (
    learned_temperatures,
    left_out_labels,
)
from truegraph.tasks.classify.trust.left_out import LeftOutLabels
from truegraph.tasks.classify.trust.surroundings import misleading_edges, rests_on_edges
from truegraph.tasks.classify.trust.temperatures import log_degrees

_DEGREE_OF_FEATURES, _DEGREE_OF_BOTH = 30.0, 80.0
_LOOK = 0.02  # weight of the observed graph in the first look from which on it is learned from
_MANY_NODES = 200_000  # beyond, only what a recipe learns is learned
_FALSE = 0.1  # share of false edges from which on the observed graph is cleaned
_MEMORY = 5e8


@dataclass(frozen=True, eq=False)
class Verdict:
    """The conclusion of one trial."""

    prediction: Prediction
    belief: Belief
    committee: FittedCommittee
    left_out: LeftOutLabels


class Committee(Method):
    """The recommended recipe."""

    options_type = CommitteeOptions

    def trials_at_once(self, problem: Problem, options: CommitteeOptions) -> int:
        """Return how many trials' scores fit into memory together."""
        scores = 4.0 * len(KINDS) * problem.inputs.n_nodes * problem.classes
        return max(1, min(int(_MEMORY / scores), super().trials_at_once(problem, options)))

    def run(self, problem: Problem, options: CommitteeOptions, run: Run) -> TrialResults:
        """Do all steps for every trial."""
        inputs = problem.inputs
        rows = zip(problem.labels, problem.train, problem.seeds, strict=True)
        panels = [
            Panel(open_trial(*row, problem.classes), inputs.n_nodes, options.weights == "equal")
            for row in rows
        ]
        with run.stage("views"):
            grounds = first_grounds(inputs, options)
            listen(panels, Views(grounds, inputs), grounds.names)
            if grounds.has_graph:
                for panel in panels:
                    panel.look_across_edges(inputs.graph)
        with run.stage("graph learning"):
            grounds = learned_grounds(grounds, panels, inputs, options)
        views = Views(grounds, inputs)
        with run.stage("views"):
            hear_learned(panels, grounds, views)
            if grounds.has_graph:
                for panel in panels:
                    set_aside(panel, run)
        if inputs.features_from == "given":
            with run.stage("trees"):
                grow_trees(panels, views, *inputs.raw.shape)
        members = train_members(problem, panels, views, options, run)
        verdicts = [
            conclude(panel, grounds, inputs, own, options)
            for panel, own in zip(panels, members, strict=True)
        ]
        for panel, verdict in zip(panels, verdicts, strict=True):
            run.note(verdict.belief.sentence)
            uneven = uneven_classes(panel.trial.labels, verdict.committee.class_factors)
            if options.estimates_shares and uneven is not None:
                run.note(uneven)
            if panel.always_wrong():
                run.alarm(all_wrong(len(panel.opinions[0].densities)))
        graphs = [main_graph(grounds, panel) for panel in panels]
        learned = [graph for graph in graphs if graph is not None] or None
        return TrialResults(
            np.stack([one.prediction.probabilities for one in verdicts]),
            np.stack([one.prediction.expected_entropy for one in verdicts]),
            learned if run.keep_graphs else None,
            None if learned is None else [graph.certificate for graph in learned],
            [one.committee for one in verdicts] if run.keep_weights else None,
            beliefs=[one.belief for one in verdicts],
            left_out=[one.left_out for one in verdicts],
        )


def first_grounds(inputs: NodeInputs, options: CommitteeOptions) -> Grounds:
    """Return what views can be made of without learning a graph."""
    has_graph = inputs.graph_from == "given" and options.observed_graph
    has_features = inputs.features_from != "identity"
    space = feature_space(inputs.raw) if has_features else no_space(inputs.raw.shape[1])
    if not has_graph:
        return Grounds(space, has_graph)
    grounds = Grounds(space, has_graph, structure_axes(inputs.graph))
    if inputs.n_nodes > _MANY_NODES or not options.learned_graphs:
        return grounds
    judge = judge_edges(inputs.graph, Views(grounds, inputs).coordinates)
    if judge is None or judge.false_share < _FALSE:
        return grounds
    return replace(grounds, judge=judge)


def listen(panels: Sequence[Panel], views: Views, names: Sequence[str]) -> None:
    """Add the opinions of some views to the panels."""
    for name in names:
        found = opinions_on(name, views, [panel.trial for panel in panels])
        for panel, opinion in zip(panels, found, strict=True):
            panel.opinions.append(opinion)


def learned_grounds(
    grounds: Grounds, panels: Sequence[Panel], inputs: NodeInputs, options: CommitteeOptions
) -> Grounds:
    """Add the graphs that are worth learning; each panel notes which it will hear."""
    if not options.learned_graphs or inputs.n_nodes > _MANY_NODES:
        return grounds
    views, unit = Views(grounds, inputs), grounds.space.has_directions
    learned = learn_from(views.coordinates, options.degree or _DEGREE_OF_FEATURES, unit)
    if not grounds.has_graph:
        return replace(grounds, learned=learned, nearest=learn_from(views.coordinates, None, unit))
    for panel in panels:
        panel.trusts_graph = panel.weight_of("observed", "cleaned") >= _LOOK
    both = None
    if grounds.space.dimension and any(panel.trusts_graph for panel in panels):
        both = learn_from(views.twice, options.degree or _DEGREE_OF_BOTH, True)
    return replace(grounds, learned=learned, learned_from_both=both)


def hear_learned(panels: Sequence[Panel], grounds: Grounds, views: Views) -> None:
    """Let panels hear the views of learned graphs, those of both only where they are wanted."""
    of_both = [name for name in grounds.names if name.startswith("learned from both")]
    rest = [
        name
        for name in grounds.names
        if name not in of_both and name not in {one.name for one in panels[0].opinions}
    ]
    listen(panels, views, rest)
    listen([panel for panel in panels if panel.trusts_graph], views, of_both)


def set_aside(panel: Panel, run: Run) -> None:
    """Let a panel forget the views of the observed graph where its edges seem to mislead."""
    message = misleading_edges(panel.opinions, panel.trial.train, panel.trial.folds)
    if message is not None:
        run.alarm(message)
        panel.opinions = [one for one in panel.opinions if not rests_on_edges(one.name)]


def conclude(
    panel: Panel,
    grounds: Grounds,
    inputs: NodeInputs,
    members: dict[str, TrainedMember],
    options: CommitteeOptions,
) -> Verdict:
    """Return the mean of views and trained members by their weights."""
    weights = panel.weights(members)
    factors = options.class_factors(panel.trial.labels, panel.trial.classes)
    counting = [one for one in panel.heard if one.name in weights]
    parts: list[Any] = [(weights[one.name], one.probabilities) for one in counting]
    parts += [(weights[name], one.probabilities) for name, one in members.items()]
    prediction, temperature = averaged(parts, factors)
    if options.estimates_shares:
        unlabelled = np.delete(prediction.probabilities, panel.trial.train, axis=0)
        factors = estimated_factors(unlabelled, panel.trial.labels)
        prediction, temperature = averaged(parts, factors)
    left_out = left_out_labels(panel, members, factors, temperature)
    temperatures, left_out = learned_temperatures(left_out, inputs.graph)
    if temperatures is not None:
        prediction = temperatures.calibrated(prediction, log_degrees(inputs.graph))
    graph = inputs.graph if grounds.has_graph else None
    false_share = None if grounds.judge is None else grounds.judge.false_share
    belief = believed(weights, graph, prediction.probabilities, false_share, panel.agreement)
    voices = [Voice(one.name, weights[one.name], one.sharpness, one.classifier) for one in counting]
    trained = {name: (weights[name], one.weights) for name, one in members.items() if one.weights}
    given = (panel.trial.train, panel.trial.labels, factors, temperatures)
    committee = FittedCommittee(grounds, tuple(voices), trained, *given)
    return Verdict(prediction, belief, committee, left_out)


def main_graph(grounds: Grounds, panel: Panel) -> LearnedGraph | None:
    """Return the learned graph whose views have the largest weight."""
    named = {"learned": grounds.learned, "learned from both": grounds.learned_from_both}
    there = {kind: graph for kind, graph in named.items() if graph is not None}
    if not there:
        return None
    weights = panel.weights({})
    own = {
        kind: sum(weights[name] for name in weights if GRAPH_OF.get(name) == kind) for kind in there
    }
    return there[max(own, key=lambda kind: own[kind])].learned
