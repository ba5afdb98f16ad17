"""One step of the refined recipe: APPNP on scaled features, sampled, tempered and averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.nn.classifiers.appnp import APPNP
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.graph_operators import normalise_features
from truegraph.nn.training.trained import Graphs, TrainedClassifier, prepare_graphs
from truegraph.tasks.base import Run
from truegraph.tasks.classify.methods import training_of
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.ensemble import (
    Member,
    Prediction,
    confidence_temperature,
    mean_of,
    tempered_average,
)
from truegraph.tasks.classify.recipes.refined_options import SCALINGS, RefinedOptions
from truegraph.tasks.classify.recipes.weight_samples import WeightSamples

_STREAM = 16  # of a trial's seed: the first of those that its classifiers take


@dataclass(frozen=True, eq=False)
class Classified:
    """What the classifiers of one step predict in T trials.

    Attributes
    ----------
    prediction : Prediction
        Of shape (T, N, C).
    members : list of T tuples of Member, or None
        None if no weights are kept.
    """

    prediction: Prediction
    members: list[tuple[Member, ...]] | None


def classify(
    problem: Problem,
    graphs: csr_array | list[csr_array],
    step: int,
    options: RefinedOptions,
    run: Run,
    shares: NDArray[np.float64] | None = None,
) -> Classified:
    """Train one classifier per scaling on one graph, or on one graph per trial; score and average.

    Parameters
    ----------
    problem : Problem
    graphs : csr_array of shape (N, N), or list of T of them
        To train on; predictions are scored on the observed graph.
    step : int
        0 for the observed graph, then the number of the round.
    options : RefinedOptions
    run : Run
    shares : ndarray of shape (T, S), optional
        How much each scaling counts in each trial; default: all alike.
    """
    operator = prepare_graphs(APPNP, graphs)
    trained, samples = [], []
    for scaling in options.scalings:
        stream = _STREAM + len(SCALINGS) * step + SCALINGS.index(scaling)
        with run.stage(f"classifiers, round {step}" if step else "classifiers"):
            seeds = derive_seeds(problem.seeds, stream)
            one = trained_appnp(problem, operator, seeds, scaling, options, run)
            samples.append(list(one.sample_proba(options.samples, problem.inputs.graph)))
        trained.append(one)
    heat = scaling_temperatures(samples, options.temper)
    averages = [tempered_average(*pair) for pair in zip(samples, heat, strict=True)]
    counts = np.ones((problem.trials, len(trained))) if shares is None else shares
    members = _members(trained, heat, counts, options) if run.keep_weights else None
    return Classified(mean_of(averages, counts.T), members)


def trained_appnp(
    problem: Problem,
    graphs: Graphs,
    seeds: NDArray[np.uint64],
    scaling: str,
    options: RefinedOptions,
    run: Run,
) -> TrainedClassifier:
    """Train APPNP on scaled features, one trial per seed."""
    features = normalise_features(problem.inputs.features, by=scaling)
    settings = options.classifier_settings
    training = training_of(problem, APPNP.name, settings, run, features=features, seeds=seeds)
    return training.run(graphs, progress=run.progress)


def scaling_temperatures(
    samples: list[list[NDArray[np.float32]]], temper: bool
) -> list[NDArray[np.float64]]:
    """Return for each scaling the temperature of each trial, (T,).

    The last scaling stays as it is; the others get the temperature at which their mean confidence
    equals its own.
    """
    averages = [np.mean(passes, axis=0) for passes in samples]
    wanted = confidence(averages[-1])
    found = []
    for mean in averages:
        heat = np.ones(len(wanted))
        if temper and mean is not averages[-1]:
            pairs = zip(mean, wanted, strict=True)
            heat = np.array([confidence_temperature(one, level) for one, level in pairs])
        found.append(heat)
    return found


def confidence(probabilities: NDArray[Any]) -> Any:
    """Return the mean over the nodes of the largest probability: (..., N, C) to (...)."""
    return probabilities.max(axis=-1).mean(axis=-1)


def _members(
    trained: list[TrainedClassifier],
    heat: list[NDArray[np.float64]],
    shares: NDArray[np.float64],
    options: RefinedOptions,
) -> list[tuple[Member, ...]]:
    return [
        tuple(
            Member(
                WeightSamples(one.select([trial]), "mc-dropout", options.samples),
                scaling,
                float(degrees[trial]),
                float(shares[trial, place]),
            )
            for place, (one, scaling, degrees) in enumerate(
                zip(trained, options.scalings, heat, strict=True)
            )
        )
        for trial in range(trained[0].trials)
    ]
