"""Trained recipes as members of the committee, where views of the observed graph have weight.

A recipe is the hypothesis of the views that rest on the observed graph, with a stronger
classifier: it takes over a part of their weight. How large a part, its classifiers say that were
trained on the observed graph without some labels: none if they do no better on these labels than
the frequencies of the classes do, less if they do clearly worse than the best view of the observed
graph does with the same labels left out. Only then is the recipe itself trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.tasks.base import Run
from truegraph.tasks.classify.committee.options import CommitteeOptions
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.views import Views
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.calibration import (
    LeftOut,
    left_out_predictions,
    standard_errors,
)
from truegraph.tasks.classify.recipes.cross_fitting import fitted_temperature
from truegraph.tasks.classify.recipes.ensemble import Ensemble, tempered
from truegraph.tasks.classify.recipes.refined import Fast, Refined, fitting_options

RECIPES: dict[str, Refined] = {"refined": Refined(), "fast": Fast()}
_LEAST = 0.05  # weight of views that rest on the observed graph from which on a recipe is tried
_REFINED_NODES = 6_000  # up to which training an embedding takes seconds
_TAKEN = 0.6  # share of the weight of views on the observed graph that trained recipes take over
_GAIN = 0.1  # in nats per label over the frequencies of the classes that a recipe must show
_WORSE = (-3.0, -1.0)  # standard errors from the best view: from nothing to all of the share


@dataclass(frozen=True, eq=False)
class TrainedMember:
    """What a trained recipe predicts in one trial.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (N, C)
    weights : Ensemble or None
        To predict new nodes with, if weights are kept.
    """

    probabilities: NDArray[np.float32]
    weights: Ensemble | None


def train_members(
    problem: Problem, panels: Sequence[Panel], views: Views, options: CommitteeOptions, run: Run
) -> list[dict[str, TrainedMember]]:
    """Return the trained recipes of each trial, by name; panels learn what these take over."""
    found: list[dict[str, TrainedMember]] = [{} for _ in panels]
    if options.effort == "low" or not options.trained_members:
        return found
    names = list(RECIPES)
    if options.effort == "normal":
        names = ["refined" if problem.inputs.n_nodes <= _REFINED_NODES else "fast"]
    tried = [
        trial for trial, panel in enumerate(panels) if panel.weight_of("observed", "both") >= _LEAST
    ]
    if not tried:
        return found
    settings = {
        "samples": options.samples,
        "degree": options.degree,
        "embedding_seed": options.embedding_seed,
    }
    if not options.learned_graphs:
        settings["rounds"] = 0
    part = problem.select(tried)
    # Notes and alarms of a member are not the committee's.
    run = replace(run, keep_graphs=False, notes=[], alarms=[])
    first = fitting_options(part, RECIPES[names[0]].options(settings), run)
    left_out = left_out_predictions(part, first, run)
    for place, trial in enumerate(tried):
        own = left_out.of_trial(place, first.scalings[-1])
        panels[trial].taken = _TAKEN * earned_share(panels[trial], views, *own)
    kept = [place for place, trial in enumerate(tried) if panels[trial].taken > 0.0]
    for name in names if kept else ():
        chosen = RECIPES[name].options(settings)
        results = _trained(name, part.select(kept), chosen, left_out.select(kept), run)
        for place, one in zip(kept, results, strict=True):
            found[tried[place]][name] = one
    return found


def earned_share(
    panel: Panel,
    views: Views,
    nodes: NDArray[np.int64],
    folds: NDArray[np.int64],
    chances: NDArray[np.float32],
) -> float:
    """Return the part, from 0 to 1, of its share that a recipe earns by left-out labels.

    Parameters
    ----------
    panel : Panel
    views : Views
    nodes : ndarray of int64, shape (m,)
        Training nodes that were left out.
    folds : ndarray of int64, shape (m,)
        Those of one fold were left out together.
    chances : ndarray of shape (m, C)
        What classifiers trained without them predict for them.
    """
    heard = np.isin(nodes, panel.trial.train)  # of very many labels, panels hear a part
    nodes, folds, chances = nodes[heard], folds[heard], chances[heard]
    if not len(nodes):
        return 1.0
    places = panel.places_of(nodes)
    labels = panel.trial.labels[places]
    fitting = tempered(chances, fitted_temperature(chances, labels))
    own = np.log(np.maximum(fitting[np.arange(len(nodes)), labels], 1e-12))
    shares = np.bincount(panel.trial.labels, minlength=panel.trial.classes) + 1.0
    if own.mean() < np.log(shares / shares.sum())[labels].mean() + _GAIN:
        return 0.0
    worse = standard_errors(own - panel.best_observed(views, places, folds))
    none, full = _WORSE
    return float(np.clip((worse - none) / (full - none), 0.0, 1.0))


def _trained(
    name: str, problem: Problem, options: Any, left_out: LeftOut, run: Run
) -> list[TrainedMember]:
    method = RECIPES[name]
    fitting = fitting_options(problem, options, run)
    at_once = method.trials_at_once(problem, fitting)
    found = []
    for first in range(0, problem.trials, at_once):
        some = range(first, min(first + at_once, problem.trials))
        results = method.run_given(problem.select(some), fitting, left_out.select(some), run)
        weights = results.weights or [None] * len(some)
        found += [TrainedMember(*pair) for pair in zip(results.probabilities, weights, strict=True)]
    return found
