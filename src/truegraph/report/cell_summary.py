"""Statistics of the trials of a cell, and whether the best model is better than chance says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truegraph.evaluation import Metric, Summary, mean_std, paired_wilcoxon
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.store import TrialRecord
from truegraph.experiments.tasks.base import find_task
from truegraph.report.paper import PaperFigure, printed, rivals

LEVEL = 0.05  # of significance, as in the paper


@dataclass(frozen=True)
class CellSummary:
    """One metric of one model on one data set under one choice of the conditions.

    Attributes
    ----------
    dataset, model, label, metric : str
    conditions : dict
    values : dict of int to float
        The metric by seed; trials that failed and undefined values are left out.
    failed : int
        Trials that failed.
    paper : PaperFigure or None
        What the paper prints.
    against : str or None
        Label of the model that this one was tested against.
    p_value : float or None
        Of that test.
    bold : bool
        Whether it is significantly better than that model.
    """

    dataset: str
    model: str
    label: str
    metric: str
    conditions: Mapping[str, Any]
    values: Mapping[int, float]
    failed: int = 0
    paper: PaperFigure | None = None
    against: str | None = None
    p_value: float | None = None
    bold: bool = False

    @property
    def setting(self) -> tuple[Any, ...]:
        """Data set and conditions: what models share when they are compared."""
        return (self.dataset, *sorted(self.conditions.items()))

    @property
    def summary(self) -> Summary | None:
        """Mean, standard deviation, standard error and number of trials; None without any."""
        return mean_std(list(self.values.values())) if self.values else None

    @property
    def difference(self) -> float | None:
        """Our mean less the paper's."""
        if self.summary is None or self.paper is None:
            return None
        return self.summary.mean - self.paper.mean


def summarise(records: Sequence[TrialRecord], experiment: Experiment) -> list[CellSummary]:
    """Return every cell that has trials, for every metric that the experiment shows.

    The paper's rule decides what is bold. Where it compares many models, the best one is bold if
    it is significantly better than the second best; where it compares Bayesian models with the
    models they build on, a Bayesian one is bold if it is significantly better than its base.
    Significance is that of Wilcoxon's signed ranks over the seeds that both have, two-sided, 5 %.

    Parameters
    ----------
    records : sequence of TrialRecord
        As `TrialStore.records` gives them.
    experiment : Experiment

    Returns
    -------
    cells : list of CellSummary
        Ordered by data set, conditions, model and metric as in the experiment.
    """
    trials: dict[str, list[TrialRecord]] = {}
    for record in records:
        trials.setdefault(record.cell.key, []).append(record)
    metrics = find_task(experiment.task).metrics
    cells = [
        _cell(trials[cell.key], name)
        for cell in experiment.cells()
        if cell.key in trials
        for name in experiment.metrics
    ]
    for group in _groups(cells):
        metric = metrics[cells[group[0]].metric]
        for place, rival in _pairs(cells, group, metric, rivals(experiment.task)):
            cells[place] = _compared(cells[place], cells[rival], metric)
    return cells


def _cell(records: Sequence[TrialRecord], metric: str) -> CellSummary:
    first = records[0]
    found = {
        record.seed: record.metrics.get(metric) for record in records if record.status == "done"
    }
    return CellSummary(
        dataset=first.dataset,
        model=first.model,
        label=first.label,
        metric=metric,
        conditions=first.conditions,
        values={
            seed: value
            for seed, value in found.items()
            if value is not None and math.isfinite(value)
        },
        failed=sum(record.status == "failed" for record in records),
        paper=printed(first.task, first.dataset, first.model, first.conditions, metric),
    )


def _groups(cells: Sequence[CellSummary]) -> list[list[int]]:
    """Return the places of cells that are compared: those that differ in the model only."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        groups.setdefault((*cell.setting, cell.metric), []).append(place)
    return list(groups.values())


def _pairs(
    cells: Sequence[CellSummary], group: Sequence[int], metric: Metric, bases: Mapping[str, str]
) -> list[tuple[int, int]]:
    """Return the places of the cells to be tested, and of those they are tested against."""
    if metric.better not in ("higher", "lower"):
        return []
    if bases:
        places = {cells[place].model: place for place in reversed(group)}  # the first of a model
        return [
            (place, places[bases[cells[place].model]])
            for place in group
            if bases.get(cells[place].model) in places
        ]
    means = [(found.mean, place) for place in group if (found := cells[place].summary)]
    ranked = sorted(means, key=lambda pair: -gain(metric, pair[0]))
    return [(ranked[0][1], ranked[1][1])] if len(ranked) > 1 else []


def gain(metric: Metric, difference: float) -> float:
    """Return a difference so that more is better."""
    return -difference if metric.better == "lower" else difference


def _compared(cell: CellSummary, rival: CellSummary, metric: Metric) -> CellSummary:
    """Test a cell against a rival on the seeds that both have."""
    pairs = paired_values(cell, rival)
    if len(pairs) < 2:  # nothing to rank
        return replace(cell, against=rival.label)
    test = paired_wilcoxon(*zip(*pairs, strict=True))
    is_better = gain(metric, test.mean_difference) > 0
    return replace(
        cell,
        against=rival.label,
        p_value=test.p_value,
        bold=is_better and test.p_value < LEVEL,
    )


def paired_values(first: CellSummary, second: CellSummary) -> list[tuple[float, float]]:
    """Return the values of two cells seed by seed, for the seeds that both have."""
    seeds = sorted(first.values.keys() & second.values.keys())
    return [(first.values[seed], second.values[seed]) for seed in seeds]
