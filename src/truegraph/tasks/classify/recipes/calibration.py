"""How confident the refined recipe should be: temperatures from labels left out in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truegraph.nn.dropout import derive_seeds
from truegraph.tasks.classify.methods import Run
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import balanced_folds, pooled_temperatures
from truegraph.tasks.classify.recipes.ensemble import Prediction, confidence_temperature, tempered
from truegraph.tasks.classify.recipes.refined_options import RefinedOptions
from truegraph.tasks.classify.recipes.scaled_classifiers import confidence, trained_appnp

_FOLD_STREAM = 8  # of a trial's seed


def temperatures(problem: Problem, options: RefinedOptions, run: Run) -> NDArray[np.float64]:
    """Return the temperature (T,) that each trial's first prediction should have.

    Classifiers on the observed graph are trained without a part of the labelled nodes, which are
    then predicted; the temperature at which these predictions fit best is that of the trial.
    """
    if options.calibration == "none":
        return np.ones(problem.trials)
    owners, parts = [], []
    for trial, (seed, train) in enumerate(zip(problem.seeds, problem.train, strict=True)):
        for part in balanced_folds(problem.labels[trial], train, seed):
            owners.append(trial)
            parts.append(part)
    if not parts:  # no class has two labelled nodes
        return np.ones(problem.trials)
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
        chances = found.predict_proba()
    return pooled_temperatures(owners, parts, chances, problem.labels)


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
