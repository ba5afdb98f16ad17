"""How confident the refined recipe should be: temperatures from labels left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from truegraph.nn.dropout import derive_seeds
from truegraph.tasks.classify.methods import Run
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import balanced_folds, fitted_temperature
from truegraph.tasks.classify.recipes.ensemble import Prediction, confidence_temperature, tempered
from truegraph.tasks.classify.recipes.refined_options import RefinedOptions
from truegraph.tasks.classify.recipes.scaled_classifiers import confidence, trained_appnp

_FOLD_STREAM = 8  # of a trial's seed


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of classifiers on the observed graph for labelled nodes left out of training.

    Attributes
    ----------
    owners : list of int
        Trial that each fold belongs to, of T trials.
    parts : list of index arrays
        Nodes left out of each fold.
    chances : ndarray of float32, shape (folds, N, C)
    """

    owners: list[int]
    parts: list[NDArray[np.int64]]
    chances: NDArray[np.float32]

    def of_trial(
        self, trial: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return the nodes (m,) left out in a trial, their folds and predictions (m, C)."""
        mine = [fold for fold, owner in enumerate(self.owners) if owner == trial]
        if not mine:
            nobody = np.empty(0, dtype=np.int64)
            return nobody, nobody, np.empty((0, self.chances.shape[2]), np.float32)
        nodes = np.concatenate([self.parts[fold] for fold in mine])
        folds = np.repeat(np.arange(len(mine)), [len(self.parts[fold]) for fold in mine])
        return nodes, folds, np.concatenate([self.chances[f, self.parts[f]] for f in mine])

    def select(self, trials: Sequence[int]) -> LeftOut:
        """Return some of the trials, by their numbers."""
        places = {trial: place for place, trial in enumerate(trials)}
        mine = [fold for fold, owner in enumerate(self.owners) if owner in places]
        return LeftOut(
            [places[self.owners[fold]] for fold in mine],
            [self.parts[fold] for fold in mine],
            self.chances[mine],
        )


def left_out_predictions(problem: Problem, options: RefinedOptions, run: Run) -> LeftOut:
    """Train classifiers on the observed graph without a part of the labelled nodes in turn."""
    owners, parts = [], []
    for trial, (seed, train) in enumerate(zip(problem.seeds, problem.train, strict=True)):
        for part in balanced_folds(problem.labels[trial], train, seed):
            owners.append(trial)
            parts.append(part)
    if not parts:  # no class has two labelled nodes
        shape = (0, problem.inputs.n_nodes, problem.classes)
        return LeftOut([], [], np.zeros(shape, dtype=np.float32))
    folds = problem.select(owners)
    kept = [np.setdiff1d(train, part) for train, part in zip(folds.train, parts, strict=True)]
    with run.stage("calibration"):
        found = trained_appnp(
            replace(folds, train=kept),
            problem.inputs.graph,
            derive_seeds(folds.seeds, _FOLD_STREAM),
            options.scalings[-1],
            options,
            run,
        )
        return LeftOut(owners, parts, found.predict_proba())


def temperatures(problem: Problem, left_out: LeftOut) -> NDArray[np.float64]:
    """Return the temperature (T,) that each trial's first prediction should have.

    It is the one at which the predictions for left-out nodes fit best.
    """
    found = np.ones(problem.trials)
    for trial, labels in enumerate(problem.labels):
        nodes, _, chances = left_out.of_trial(trial)
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
