"""The Bayesian GCN of Zhang et al. (AAAI 2019): graphs drawn from a fitted block model.

A GCN is trained on the observed graph for `observed_epochs`, and one more. Then a mixed-membership
block model is fitted to the graph, first from a random start (run A), which only sets its step
sizes, and then from the classes that the GCN predicts (run B). From there on every epoch trains on
a new graph drawn from the block model; run B is repeated every `refresh_every` epochs. The last
iterates, each on the graph of its epoch and without dropout, are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.block_model.mmsbm import AssortativeMMSBM
from truegraph.nn.classifiers.gcn import GCNSettings
from truegraph.nn.training.trained import TrainedClassifier
from truegraph.nn.training.trial_threads import run_all, worker_threads
from truegraph.progress import Progress
from truegraph.tasks.base import Run
from truegraph.tasks.classify.methods import Method, Network, training_of
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.weight_samples import Snapshots
from truegraph.tasks.classify.results import TrialResults

_TRIALS_AT_ONCE = 16
_FIT, _DRAW = 2, 3  # streams of a trial's seed


@dataclass(frozen=True)
class ParametricOptions:
    """Options of the parametric Bayesian GCN, by default those of the authors.

    Parameters
    ----------
    settings : GCNSettings or mapping, optional
        Settings of the GCN; its epochs are those on the observed graph before the block model.
    sampled_epochs : int
        Epochs after them; all but the first are on drawn graphs.
    samples : int
        How many of the last iterates are averaged.
    refresh_every : int
        The block model is fitted again after each epoch that this divides.
    start_iterations, fit_iterations : int
        Iterations of run A and of each run B.
    predict_on : {"sampled", "observed"}
    """

    settings: Any = None
    sampled_epochs: int = 100
    samples: int = 59
    refresh_every: int = 20
    start_iterations: int = 1000
    fit_iterations: int = 200
    predict_on: str = "sampled"

    def __post_init__(self) -> None:
        if self.predict_on not in ("sampled", "observed"):
            raise InputError(f"predict_on={self.predict_on!r} must be 'sampled' or 'observed'.")
        if not 1 <= self.samples < self.sampled_epochs:
            raise InputError(
                f"samples={self.samples} must be at least 1 and below "
                f"sampled_epochs={self.sampled_epochs}."
            )

    @property
    def gcn_settings(self) -> GCNSettings:
        """Settings of the GCN."""
        settings: GCNSettings = Network("gcn").options(self.settings)
        return settings


class ParametricBGCN(Method):
    """Bayesian GCN on graphs drawn from a block model."""

    options_type = ParametricOptions

    def trials_at_once(self, problem: Problem, options: Any) -> int:
        """Return how many trials are trained together."""
        return _TRIALS_AT_ONCE

    def run(self, problem: Problem, options: ParametricOptions, run: Run) -> TrialResults:
        """Train on the observed graph, then on drawn ones."""
        observed = problem.inputs.graph
        training = training_of(problem, "gcn", options.gcn_settings, run)
        with run.stage("gcn"):
            training.run(observed, progress=run.progress)
        graphs = DrawnGraphs(problem, options, training.epoch, run.progress)
        first = training.epoch + options.sampled_epochs - options.samples
        where = observed if options.predict_on == "observed" else None
        snapshots = Snapshots(first, where, run.keep_weights)

        def after_epoch(epoch: int, classifier: TrainedClassifier) -> None:
            snapshots(epoch, classifier)
            graphs.refit(epoch, classifier)

        with run.stage("weight samples"):
            last = training.run(graphs.of_epoch, options.sampled_epochs, run.progress, after_epoch)
        average = snapshots.average
        weights = snapshots.samples(last, observed)
        return TrialResults(average.probabilities, average.expected_entropy, weights=weights)


class DrawnGraphs:
    """The graphs of each epoch: observed in the first, then drawn from each trial's block model.

    Parameters
    ----------
    problem : Problem
    options : ParametricOptions
    first : int
        The epoch after which the block models are fitted for the first time.
    progress : Progress
    """

    def __init__(
        self, problem: Problem, options: ParametricOptions, first: int, progress: Progress
    ) -> None:
        self._observed = problem.inputs.graph
        self._options = options
        self._first = first
        self._progress = progress
        self._models = [
            AssortativeMMSBM(
                self._observed, problem.classes, random_state=np.random.default_rng([seed, _FIT])
            )
            for seed in problem.seeds
        ]
        self._rngs = [np.random.default_rng([seed, _DRAW]) for seed in problem.seeds]

    def of_epoch(self, epoch: int) -> csr_array | list[csr_array]:
        """Return the graph of an epoch, or one per trial."""
        if epoch <= self._first:
            return self._observed
        models = zip(self._models, self._rngs, strict=True)
        return [model.sample_graph(rng) for model, rng in models]

    def refit(self, epoch: int, classifier: TrainedClassifier) -> None:
        """Fit the block models, where the schedule says so, from classes predicted on the graph."""
        is_first = epoch == self._first
        if not is_first and epoch % self._options.refresh_every:
            return
        predicted = classifier.predict_proba(self._observed)
        self._progress.update(0, None, "fitting block models")

        def fit(trial: int) -> None:
            if is_first:
                self._models[trial].fit_random(self._options.start_iterations)
            self._models[trial].fit_from_probabilities(
                predicted[trial], self._options.fit_iterations
            )

        with worker_threads(len(predicted)) as pool:
            run_all(pool, fit, range(len(predicted)))
