"""Parts of the page that compare models of any task: over a condition, and trial by trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.evaluation import Metric
from truegraph.experiments import Experiment
from truegraph.report.cell_summary import CellSummary, paired_values
from truegraph.report.page import Panel, Part, Picture
from truegraph.report.paper import put_forward, rivals
from truegraph.report.plots import accuracy_by_labels, paired_differences
from truegraph.report.runs import Run
from truegraph.report.tables import sentence
from truegraph.wording import counted

_NAN = float("nan")


def model_parts(run: Run) -> Iterator[Part]:
    """Yield the pictures for which the run has the trials."""
    for condition in run.naming.swept:
        panels = [
            _against_condition(run, condition, cells) for cells in _along(run, condition).values()
        ]
        if panels:
            yield Picture(
                heading=f"{sentence(run.metrics[run.main_metric].heading)} against {condition}",
                caption="Means over trials; the bars are standard errors. "
                + _paper_sentence(run)
                + "Models are shifted a little so that their bars stand apart.",
                panels=panels,
            )
    panels = [panel for cells in run.main_cells().values() if (panel := _paired(run, cells))]
    if panels:
        yield Picture(
            heading="Differences on the same trials",
            caption="A dot is a trial: the two models ran on the same data and seed. The bar is "
            "the mean, its whiskers the 95 % interval of the mean.",
            panels=panels,
        )


def _paper_sentence(run: Run) -> str:
    has_paper = any(cell.paper is not None for cell in run.cells)
    return "Hollow markers are the paper's means. " if has_paper else ""


def _along(run: Run, condition: str) -> dict[tuple[Any, ...], list[CellSummary]]:
    """Return cells that differ in the model and one numeric condition, by all the rest."""
    groups: dict[tuple[Any, ...], list[CellSummary]] = {}
    for cells in run.main_cells().values():
        for cell in cells:
            rest = [pair for pair in sorted(cell.conditions.items()) if pair[0] != condition]
            groups.setdefault((cell.dataset, *rest), []).append(cell)
    return {rest: cells for rest, cells in groups.items() if len(_points(cells, condition)) > 1}


def _points(cells: Sequence[CellSummary], condition: str) -> list[float]:
    values = {cell.conditions[condition] for cell in cells}
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return sorted(numbers)


def _against_condition(run: Run, condition: str, cells: Sequence[CellSummary]) -> Panel:
    metric, points = run.metrics[run.main_metric], _points(cells, condition)
    unit = 100.0 if metric.percent else 1.0
    means, errors, paper = {}, {}, {}
    for label in dict.fromkeys(cell.label for cell in cells):
        found = {cell.conditions[condition]: cell for cell in cells if cell.label == label}
        here = [found.get(point) for point in points]
        summaries = [None if cell is None else cell.summary for cell in here]
        means[label] = [_NAN if s is None else unit * s.mean for s in summaries]
        errors[label] = [_NAN if s is None else unit * s.standard_error for s in summaries]
        printed = [None if cell is None else cell.paper for cell in here]
        paper[label] = [_NAN if figure is None else unit * figure.mean for figure in printed]
    others = [name for name in run.naming.swept if name != condition]
    title = ", ".join([cells[0].dataset, *(f"{n} {cells[0].conditions[n]}" for n in others)])
    figure = accuracy_by_labels(
        points,
        means,
        errors,
        paper=paper,
        condition=condition,
        metric=metric.heading,
        title=title,
        order=run.labels,
    )
    return Panel(figure, f"{title}: {metric.heading} against {condition}. {_listed(means, metric)}")


def _listed(means: Mapping[str, Sequence[float]], metric: Metric) -> str:
    lines = []
    for label, values in means.items():
        known = [f"{value:.{metric.digits}f}" for value in values if not math.isnan(value)]
        lines.append(f"{label}: {', '.join(known)}")
    return "; ".join(lines) + "."


def _paired(run: Run, cells: Sequence[CellSummary]) -> Panel | None:
    metric, title = run.metrics[run.main_metric], run.naming.setting(cells[0])
    unit = 100.0 if metric.percent else 1.0
    compared = _pairs(cells, run.experiment)
    minuends = {first.label for first, _ in compared}
    differences: dict[str, NDArray[np.float64]] = {}
    for first, second in compared:
        pairs = np.array(paired_values(first, second))
        if len(pairs) > 1:
            name = second.label if len(minuends) == 1 else f"{first.label} − {second.label}"
            differences[name] = unit * (pairs[:, 0] - pairs[:, 1])
    if not differences:
        return None
    shown = metric.heading.removesuffix(" %") + (", points" if metric.percent else "")
    shown += f": {minuends.pop()} less each model" if len(minuends) == 1 else ": difference"
    figure = paired_differences(differences, unit=shown, title=title)
    means = "; ".join(
        f"{pair}: mean {values.mean():+.{metric.digits}f}, positive in {np.sum(values > 0)} of "
        f"{counted(len(values), 'trial')}"
        for pair, values in differences.items()
    )
    return Panel(figure, f"{title}: {shown} in each trial. {means}.")


def _pairs(
    cells: Sequence[CellSummary], experiment: Experiment
) -> list[tuple[CellSummary, CellSummary]]:
    """Return what is compared.

    The model that the experiment names with all; else models with their base models; else the
    proposed model with all; else all with the first.
    """
    named = [cell for cell in cells if cell.label == experiment.compare]
    if named:
        return [(named[0], cell) for cell in cells if cell is not named[0]]
    first_of = {cell.model: cell for cell in reversed(cells)}
    bases = rivals(experiment.task)
    if bases:
        return [(c, first_of[bases[c.model]]) for c in cells if bases.get(c.model) in first_of]
    ours = first_of.get(put_forward(experiment.task) or "")
    if ours is not None:
        return [(ours, cell) for cell in cells if cell is not ours]
    return [(cell, cells[0]) for cell in cells[1:]]
