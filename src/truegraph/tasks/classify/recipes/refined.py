r"""The refined recipe: the paper's graph learning around a stronger classifier, in rounds.

1. `classify`: APPNP on the observed graph, once on features whose rows have sum one and once on
   rows of length one; both are sampled by Monte Carlo dropout, tempered to the same mean
   confidence and averaged.
2. `round_graphs`, then `classify` again: the labels of the current prediction (training nodes keep
   theirs) give D2, an embedding gives D1, D = D1 + delta D2 the most probable graph; new
   classifiers are trained on it and scored on the observed graph. That is the new prediction, and
   a new round can begin.
3. `step_shares`: a round counts by how much more confident it is, on average over the nodes, than
   the first prediction; what the rounds do not earn, the first prediction keeps. Both are scored
   on the observed graph: classifiers that find it no clearer than before were trained on a graph
   that does not fit. No label is needed for that. The mean by these shares is the prediction.
4. `temperatures`, `result_temperatures`: labelled nodes, left out of training in turn, say how
   confident the first prediction should be; the result, meant to be at least as good, is made
   no less confident than that.

The recipe "fast" is the same with an embedding that needs no training, one feature scaling, the
probabilities themselves in D2, and one round.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truegraph.learning.learned import LearnedGraph
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import neighbour_graph
from truegraph.tasks.classify.methods import Method
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.calibration import (
    LeftOut,
    distrusted_graphs,
    left_out_predictions,
    result_temperatures,
    scaling_shares,
    temperatures,
)
from truegraph.tasks.classify.recipes.ensemble import Ensemble
from truegraph.tasks.classify.recipes.node_graphs import (
    embed_nodes,
    embedding_distances,
    noted_degree,
)
from truegraph.tasks.classify.recipes.refined_options import (
    FastOptions,
    RefinedOptions,
    round_degree,
)
from truegraph.tasks.classify.recipes.rounds import means, round_graphs, step_shares
from truegraph.tasks.classify.recipes.scaled_classifiers import Classified, classify
from truegraph.tasks.classify.results import TrialResults, joined_results

_MEMORY = 1e9
_BYTES_PER_ENTRY = 24  # of a learned graph, and of the operator made of it
_MANY_NODES = 50_000
_FEW_DIMENSIONS = {"dimension": 16}


class Refined(Method):
    """The refined recipe and, with other options, its controls."""

    options_type = RefinedOptions

    def trials_at_once(self, problem: Problem, options: RefinedOptions) -> int:
        """Return how many learned graphs and sets of samples fit into memory together."""
        nodes = problem.inputs.n_nodes
        graph = _BYTES_PER_ENTRY * (round_degree(problem, options) if options.rounds else 0.0)
        labelled = max(len(train) for train in problem.train)
        samples = 4 * problem.classes * options.samples * len(options.scalings)
        fitting = int(_MEMORY / (nodes * (graph + samples + 12 * labelled)))
        return max(1, min(fitting, super().trials_at_once(problem, options)))

    def run(self, problem: Problem, options: RefinedOptions, run: Run) -> TrialResults:
        """Do all steps for every trial."""
        options = fitting_options(problem, options, run)
        if options.calibration == "none":
            return self.run_given(problem, options, None, run)
        left_out = left_out_predictions(problem, options, run)
        distrusted = distrusted_graphs(problem, left_out, options.scalings[-1])
        if problem.inputs.graph_from != "given" or not any(distrusted):
            return self.run_given(problem, options, left_out, run)
        run.note(
            "left-out labels are clearly better predicted from features alone than with the "
            "observed graph: the nearest neighbours of the features take its place"
        )
        return self._run_apart(problem, options, left_out, distrusted, run)

    def _run_apart(
        self,
        problem: Problem,
        options: RefinedOptions,
        left_out: LeftOut,
        distrusted: list[bool],
        run: Run,
    ) -> TrialResults:
        """Do all steps without the observed graph in the trials that distrust it."""
        groups = [
            [trial for trial, apart in enumerate(distrusted) if apart == wanted]
            for wanted in (False, True)
        ]
        parts = []
        if groups[0]:
            kept = left_out.select(groups[0])
            parts.append(self.run_given(problem.select(groups[0]), options, kept, run))
        nearest = neighbour_graph(problem.inputs.features)[0]
        apart = replace(problem.select(groups[1]), inputs=replace(problem.inputs, graph=nearest))
        again = left_out_predictions(apart, options, run)
        results = self.run_given(apart, options, again, run)
        weights = results.weights
        if weights is not None:
            weights = [replace(one, on_neighbours=True) for one in weights]
        parts.append(replace(results, weights=weights))
        joined = joined_results(parts, {}, ())
        return joined.in_order(np.argsort(groups[0] + groups[1]))

    def run_given(
        self, problem: Problem, options: RefinedOptions, left_out: LeftOut | None, run: Run
    ) -> TrialResults:
        """Do all steps with options that fit and with predictions for left-out nodes."""
        usual = options.scalings[-1]
        counts = None
        if left_out is not None:
            counts = scaling_shares(problem, options.scalings, left_out)
        steps = [classify(problem, problem.inputs.graph, 0, options, run, counts)]
        graphs: list[LearnedGraph] | None = None
        if options.rounds:
            distances = embedding_distances(embed_nodes(problem, options, run))
            for number in range(1, options.rounds + 1):
                graphs, trained_on = round_graphs(
                    problem, distances, steps[-1].prediction, graphs, options, run
                )
                steps.append(classify(problem, trained_on, number, options, run, counts))
        shares = step_shares(steps, options, run)
        results = means(steps, shares)
        wanted = np.ones(problem.trials)
        if left_out is not None:
            wanted = temperatures(problem, left_out, usual)
        heat = result_temperatures(steps[0].prediction, results, wanted)
        tempered_results = [one.at(degrees) for one, degrees in zip(results, heat, strict=True)]
        ensembles = _ensembles(steps, shares, heat) if run.keep_weights else None
        return TrialResults(
            np.stack([one.probabilities for one in tempered_results]),
            np.stack([one.expected_entropy for one in tempered_results]),
            graphs if run.keep_graphs else None,
            None if graphs is None else [graph.certificate for graph in graphs],
            ensembles,
        )


class Fast(Refined):
    """The fast recipe."""

    options_type = FastOptions


def fitting_options(problem: Problem, options: RefinedOptions, run: Run) -> RefinedOptions:
    """Leave out what the data do not allow, and record the degree that will be used."""
    if problem.inputs.normalised_by == "length" and "sum" in options.scalings:
        options = replace(options, scalings=("length",))
        run.note("features have negative values: only rows of length one are used")
    if options.rounds == 0:
        return options
    uses_svd = isinstance(options.embedding, str) and options.embedding == "svd"
    if uses_svd and problem.inputs.n_nodes > _MANY_NODES:
        # The search for neighbours among many nodes costs ever more with the dimension.
        options = replace(
            options, embedding_options=_FEW_DIMENSIONS | dict(options.embedding_options)
        )
        run.note(
            f"embedding: {options.embedding_options['dimension']} dimensions on this many nodes"
        )
    degree = noted_degree(problem, options, run)
    large = round_degree(problem, options)
    if large < degree:
        run.note(f"learned graphs: {large:g} edges per node, not {degree:g}, on this many nodes")
    return replace(options, degree=large)


def _ensembles(
    steps: list[Classified], shares: NDArray[np.float64], heat: list[float]
) -> list[Ensemble]:
    """Return the classifiers of each trial's steps that count, to predict further nodes with."""
    found = []
    for trial, own in enumerate(shares):
        members = tuple(
            replace(one, share=float(share) * one.share)
            for step, share in zip(steps, own, strict=True)
            if share > 0.0 and step.members is not None
            for one in step.members[trial]
        )
        found.append(Ensemble(members, heat[trial]))
    return found
