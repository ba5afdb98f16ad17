"""Members with stronger classifiers: trained recipes, and a random forest of the features.

A member shares the hypothesis of some views and takes over a part of their weight. For a recipe
these are the views that rest on the observed graph, without its false edges where it has many; the
more of these, the less it counts, down to nothing from one half on. Where no graph was observed it
is trained on the nearest neighbours and shares the hypothesis of all views. For the forest they are
the views of the features alone. How large a part, classifiers say
that were trained without some labels: none if they do no better on these labels than the
frequencies of the classes do, less if they do clearly worse than the best of the views does with
the same labels left out. Only then is the recipe itself trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truegraph.extras import import_extra
from truegraph.tasks.base import Run
from truegraph.tasks.classify.committee.opinions import opinion_of_trees
from truegraph.tasks.classify.committee.options import CommitteeOptions
from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.committee.views import KINDS, Views
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import fitted_temperature, standard_errors
from truegraph.tasks.classify.recipes.ensemble import Ensemble, tempered

if TYPE_CHECKING:  # recipes load torch, so only where one is trained
    from truegraph.tasks.classify.recipes.calibration import LeftOut
    from truegraph.tasks.classify.recipes.refined import Refined

RECIPES = ("refined", "fast")
_LEAST = 0.05  # weight of its views from which on a member is tried
_REFINED_NODES = 6_000  # up to which training an embedding takes seconds
_TAKEN = 0.6  # share of the weight of their views that trained recipes take over
_TAKEN_BY_TREES = 0.5
_MANY_NODES = 200_000  # beyond, walking down all trees would take longer than all else
_MOST_NUMBERS = 5e7  # of labelled rows, which trees sort
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
    most = _TAKEN * max(0.0, 1.0 - 2.0 * views.false_share)
    if options.effort == "low" or not options.trained_members or most == 0.0:
        return found
    names = list(RECIPES)
    if options.effort == "normal":
        names = ["refined" if problem.inputs.n_nodes <= _REFINED_NODES else "fast"]
    if problem.inputs.graph_from != "given":
        for panel in panels:
            panel.recipe_kinds = ("learned", "none")
    tried = [
        trial
        for trial, panel in enumerate(panels)
        if panel.weight_of(*panel.recipe_kinds) >= _LEAST
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
    part = replace(part, inputs=replace(part.inputs, graph=views.trusted_graph))
    # Notes and alarms of a member are not the committee's.
    run = replace(run, keep_graphs=False, notes=[], alarms=[])
    import_extra("torch")
    from truegraph.tasks.classify.recipes.calibration import left_out_predictions
    from truegraph.tasks.classify.recipes.refined import fitting_options

    first = fitting_options(part, _recipe(names[0]).options(settings), run)
    left_out = left_out_predictions(part, first, run)
    for place, trial in enumerate(tried):
        own = left_out.of_trial(place, first.scalings[-1])
        panels[trial].recipe_left_out = own
        panels[trial].taken = most * earned_share(panels[trial], views, *own)
    kept = [place for place, trial in enumerate(tried) if panels[trial].taken > 0.0]
    for name in names if kept else ():
        chosen = _recipe(name).options(settings)
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
    return _part_earned(panel, own, labels, panel.best_rival(views, places, folds))


def _part_earned(
    panel: Panel,
    own: NDArray[np.float64],
    labels: NDArray[np.int64],
    rival: NDArray[np.float64],
) -> float:
    """Return the part that log densities (m,) of left-out labels earn beside those of a view."""
    shares = np.bincount(panel.trial.labels, minlength=panel.trial.classes) + 1.0
    if own.mean() < np.log(shares / shares.sum())[labels].mean() + _GAIN:
        return 0.0
    none, full = _WORSE
    return float(np.clip((standard_errors(own - rival) - none) / (full - none), 0.0, 1.0))


def grow_trees(panels: Sequence[Panel], views: Views, nodes: int, width: int) -> None:
    """Let panels hear a random forest where views of the features alone have weight.

    Parameters
    ----------
    panels : sequence of Panel
    views : Views
    nodes, width : int
        Numbers N of nodes and F of features.
    """
    for panel in panels:
        trial = panel.trial
        is_large = nodes > _MANY_NODES or 1.0 * len(trial.train) * width > _MOST_NUMBERS
        seen = trial.folds[0] >= 0
        if is_large or not seen.any() or panel.weight_of("none") < _LEAST:
            continue
        trees = opinion_of_trees(views, trial)
        alone = [one.densities for one in panel.opinions if KINDS.get(one.name) == "none"]
        best = max(alone, key=lambda densities: float(densities.sum()))
        part = _part_earned(panel, trees.densities, trial.labels[seen], best)
        if part > 0.0:
            panel.trees, panel.taken_by_trees = trees, _TAKEN_BY_TREES * part


def _trained(
    name: str, problem: Problem, options: Any, left_out: LeftOut, run: Run
) -> list[TrainedMember]:
    from truegraph.tasks.classify.recipes.refined import fitting_options

    method = _recipe(name)
    fitting = fitting_options(problem, options, run)
    at_once = method.trials_at_once(problem, fitting)
    found = []
    for first in range(0, problem.trials, at_once):
        some = range(first, min(first + at_once, problem.trials))
        results = method.run_given(problem.select(some), fitting, left_out.select(some), run)
        weights = results.weights or [None] * len(some)
        found += [TrainedMember(*pair) for pair in zip(results.probabilities, weights, strict=True)]
    return found


def _recipe(name: str) -> Refined:
    from truegraph.tasks.classify.recipes.refined import Fast, Refined

    return Refined() if name == "refined" else Fast()
