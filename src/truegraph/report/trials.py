"""What trials of node classification add up to: metrics per trial, and tables over trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truegraph.evaluation import METRICS, mean_std, paired_wilcoxon, score_trial

if TYPE_CHECKING:
    from truegraph.data import NodeSplit
    from truegraph.tasks.classify.results import TrialResults


@dataclass(frozen=True)
class ModelScores:
    """The metrics of one model over trials.

    Attributes
    ----------
    name : str
        Name of the model.
    values : dict of str to list of float
        For each metric of `METRICS` one value per trial; NaN where it is not defined.
    seconds : float
        Time that all the trials took together.
    """

    name: str
    values: dict[str, list[float]]
    seconds: float


def score_trials(
    labels: NDArray[np.integer], splits: Sequence[NodeSplit], results: TrialResults
) -> dict[str, list[float]]:
    """Return every metric on the test nodes of each trial.

    Parameters
    ----------
    labels : ndarray of int, shape (n_nodes,)
        True classes of all nodes.
    splits : sequence of n_trials NodeSplit
    results : TrialResults
        What `truegraph.tasks.classify.trials.run_trials` returned for these splits.

    Returns
    -------
    values : dict of str to list of float
        For each metric of `METRICS` one value per trial.
    """
    trials = [
        score_trial(labels[split.test], probabilities[split.test], entropy[split.test])
        for split, probabilities, entropy in zip(
            splits, results.probabilities, results.predictive_entropy, strict=True
        )
    ]
    return {name: [trial[name] for trial in trials] for name in METRICS}


def table(models: Sequence[ModelScores]) -> list[list[str]]:
    """Return the rows of a table of mean ± standard deviation over trials, its heading first.

    The last column compares the accuracies of each model with those of the first one, trial by
    trial (Wilcoxon's signed ranks, two-sided).
    """
    heading = ["model", *(metric.heading for metric in METRICS.values()), f"p vs {models[0].name}"]
    rows = [
        [model.name, *(_cell(name, model.values[name]) for name in METRICS), p_value(model, models)]
        for model in models
    ]
    return [heading, *rows]


def p_value(model: ModelScores, models: Sequence[ModelScores]) -> str:
    """Return the p-value of a model's accuracies against those of the first model, as text."""
    if model is models[0]:
        return ""
    test = paired_wilcoxon(model.values["accuracy"], models[0].values["accuracy"])
    return f"{test.p_value:.2g}"


def _cell(metric: str, values: Sequence[float]) -> str:
    defined = [value for value in values if np.isfinite(value)]
    if not defined:
        return "-"
    summary = mean_std(defined)
    shown = METRICS[metric].shown
    return f"{shown(summary.mean)} ± {shown(summary.std)}"


def without_nan(values: Sequence[float]) -> list[Any]:
    """Return the values with None for NaN, which JSON cannot hold."""
    return [float(value) if np.isfinite(value) else None for value in values]
