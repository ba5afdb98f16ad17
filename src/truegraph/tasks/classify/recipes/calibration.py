"""How confident the refined recipe should be: temperatures from labels left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.nn.dropout import derive_seeds
from truegraph.tasks.base import Run
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import (
    all_wrong,
    balanced_folds,
    fitted_temperature,
    standard_errors,
)
from truegraph.tasks.classify.recipes.ensemble import Prediction, confidence_temperature, tempered
from truegraph.tasks.classify.recipes.refined_options import RefinedOptions
from truegraph.tasks.classify.recipes.scaled_classifiers import confidence, trained_appnp

USUAL_SCALING = "length"
_FOLD_STREAM = 8  # of a trial's seed
_WORSE = (-4.0, -2.0)  # standard errors: from nothing to all of a share
_BETTER = 2.0  # standard errors by which features alone must be better for a graph to be left


GRAPHLESS = "without the graph"


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of classifiers for labelled nodes that were left out of training.

    Attributes
    ----------
    owners : list of int
        Trial that each fold belongs to, of T trials.
    parts : list of index arrays
        Nodes left out of each fold.
    chances : dict of str to ndarray of float32, shape (folds, N, C)
        Trained on the observed graph with each scaling, the usual one last, and, under
        `GRAPHLESS`, with the usual one on the features alone.
    """

    owners: list[int]
    parts: list[NDArray[np.int64]]
    chances: dict[str, NDArray[np.float32]]

    def of_trial(
        self, trial: int, name: str = USUAL_SCALING
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return the nodes (m,) left out in a trial, their folds and predictions (m, C)."""
        mine = [fold for fold, owner in enumerate(self.owners) if owner == trial]
        table = self.chances[name]
        if not mine:
            nobody = np.empty(0, dtype=np.int64)
            return nobody, nobody, np.empty((0, table.shape[2]), np.float32)
        nodes = np.concatenate([self.parts[fold] for fold in mine])
        folds = np.repeat(np.arange(len(mine)), [len(self.parts[fold]) for fold in mine])
        return nodes, folds, np.concatenate([table[f, self.parts[f]] for f in mine])

    def densities(self, trial: int, name: str, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log densities (m,) of a trial's left-out labels at the best temperature."""
        nodes, _, chances = self.of_trial(trial, name)
        own = labels[nodes]
        fitting = tempered(chances, fitted_temperature(chances, own))
        found: NDArray[np.float64] = np.log(np.maximum(fitting[np.arange(len(own)), own], 1e-12))
        return found

    def select(self, trials: Sequence[int]) -> LeftOut:
        """Return some of the trials, by their numbers."""
        places = {trial: place for place, trial in enumerate(trials)}
        mine = [fold for fold, owner in enumerate(self.owners) if owner in places]
        return LeftOut(
            [places[self.owners[fold]] for fold in mine],
            [self.parts[fold] for fold in mine],
            {name: table[mine] for name, table in self.chances.items()},
        )


def left_out_predictions(problem: Problem, options: RefinedOptions, run: Run) -> LeftOut:
    """Train classifiers without a part of the labelled nodes in turn."""
    owners, parts = [], []
    for trial, (seed, train) in enumerate(zip(problem.seeds, problem.train, strict=True)):
        for part in balanced_folds(problem.labels[trial], train, seed):
            owners.append(trial)
            parts.append(part)
    names = [*options.scalings, GRAPHLESS]
    if not parts:  # no class has two labelled nodes
        nothing = np.zeros((0, problem.inputs.n_nodes, problem.classes), dtype=np.float32)
        return LeftOut([], [], dict.fromkeys(names, nothing))
    folds = problem.select(owners)
    kept = [np.setdiff1d(train, part) for train, part in zip(folds.train, parts, strict=True)]
    seeds = derive_seeds(folds.seeds, _FOLD_STREAM)
    graph = problem.inputs.graph
    chances = {}
    with run.stage("calibration"):
        for name in names:
            alone = name == GRAPHLESS
            found = trained_appnp(
                replace(folds, train=kept),
                csr_array(graph.shape) if alone else graph,
                seeds,
                options.scalings[-1] if alone else name,
                options,
                run,
            )
            chances[name] = found.predict_proba()
    left_out = LeftOut(owners, parts, chances)
    for trial, labels in enumerate(problem.labels):
        nodes, _, usual = left_out.of_trial(trial)
        if len(nodes) and not np.any(usual.argmax(axis=1) == labels[nodes]):
            run.alarm(all_wrong(len(nodes)))
    return left_out


def scaling_shares(
    problem: Problem, scalings: Sequence[str], left_out: LeftOut
) -> NDArray[np.float64]:
    """Return how much each scaling counts in each trial, (T, S), the best one in full.

    A scaling whose classifiers predict left-out labels clearly worse than the best one's counts
    less: in full up to two standard errors, not at all from four on.
    """
    found = np.ones((problem.trials, len(scalings)))
    for row, labels, trial in zip(found, problem.labels, range(problem.trials), strict=True):
        own = [left_out.densities(trial, name, labels) for name in scalings]
        best = max(own, key=lambda densities: float(densities.sum()))
        none, full = _WORSE
        for place, densities in enumerate(own):
            worse = standard_errors(densities - best)
            row[place] = np.clip((worse - none) / (full - none), 0.0, 1.0)
    return found


def distrusted_graphs(problem: Problem, left_out: LeftOut, usual: str) -> list[bool]:
    """Return for each trial whether left-out labels are clearly better predicted without graph."""
    gains = [
        left_out.densities(trial, GRAPHLESS, labels) - left_out.densities(trial, usual, labels)
        for trial, labels in enumerate(problem.labels)
    ]
    return [standard_errors(gain) > _BETTER for gain in gains]


def temperatures(
    problem: Problem, left_out: LeftOut, usual: str = USUAL_SCALING
) -> NDArray[np.float64]:
    """Return the temperature (T,) that each trial's first prediction should have.

    It is the one at which the predictions for left-out nodes fit best.
    """
    found = np.ones(problem.trials)
    for trial, labels in enumerate(problem.labels):
        nodes, _, chances = left_out.of_trial(trial, usual)
        found[trial] = fitted_temperature(chances, labels[nodes])
    return found


def result_temperatures(
    first: Prediction, results: list[Prediction], wanted: NDArray[np.float64]
) -> list[float]:
    """Return the temperature of each trial's result.

    Training on learned graphs has made the result more confident than the first prediction, often
    enough already; the temperature of the first would overshoot. So it only sets a level: the mean
    confidence that it gives the first prediction. A result below that level is raised to it.

    Parameters
    ----------
    first : Prediction
        Of shape (T, N, C).
    results : list of T Predictions
        Each of shape (N, C).
    wanted : ndarray of shape (T,)
        Temperatures that the first prediction should have.
    """
    found = []
    for before, result, degrees in zip(first.probabilities, results, wanted, strict=True):
        level = confidence(tempered(before, float(degrees)))
        below = degrees < 1.0 and confidence(result.probabilities) < level
        found.append(confidence_temperature(result.probabilities, level) if below else 1.0)
    return found
