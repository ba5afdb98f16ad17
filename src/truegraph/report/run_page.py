"""The page of one run of an experiment, or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from truegraph.errors import InputError
from truegraph.report.page import Page, Part
from truegraph.report.parts.graph_quality import graph_quality_parts
from truegraph.report.parts.models import model_parts
from truegraph.report.parts.nodes import node_parts
from truegraph.report.parts.provenance import failures, provenance_parts
from truegraph.report.parts.recommendation import recommendation_parts
from truegraph.report.runs import Run
from truegraph.report.summary import result_tables
from truegraph.wording import counted


def run_page(runs: Sequence[Run]) -> Page:
    """Return a page with everything that the trials of some runs can show.

    Parameters
    ----------
    runs : sequence of Run
        Of any tasks; a section appears only where the trials hold what it shows.
    """
    if not runs:
        raise InputError("runs is empty; give at least one run.")
    if len(runs) == 1:
        return Page(runs[0].experiment.title, _summary(runs[0]), list(_parts(runs[0])))
    parts = [
        replace(part, heading=f"{run.experiment.name}: {part.heading}")
        for run in runs
        for part in _parts(run)
    ]
    summary = " ".join(f"{run.experiment.name}: {_summary(run)}" for run in runs)
    return Page("; ".join(run.experiment.title for run in runs), summary, parts)


def _parts(run: Run) -> Iterator[Part]:
    yield from result_tables(run.cells, run.experiment)
    yield from failures(run)
    yield from graph_quality_parts(run)
    yield from model_parts(run)
    yield from node_parts(run)
    yield from recommendation_parts(run)
    yield from provenance_parts(run)


def _summary(run: Run) -> str:
    if not run.records:
        return "No trial is done yet."
    datasets = ", ".join(dict.fromkeys(record.dataset for record in run.records))
    models = counted(len({record.label for record in run.records}), "model")
    trials = counted(len(run.done), "trial")
    failed = f", {len(run.failed):,} failed" if run.failed else ""
    return f"{trials} of {models} on {datasets}{failed}.{_verdict(run)}"


def _verdict(run: Run) -> str:
    """Return in plain words which models are best by the main metric; "" with nothing to choose."""
    settings = [cells for cells in run.main_cells().values() if len(cells) > 1]
    if not settings:
        return ""
    metric = run.metrics[run.main_metric]
    if metric.better not in ("higher", "lower"):
        return ""
    sign = 1.0 if metric.better == "higher" else -1.0
    best = Counter(
        max(cells, key=lambda cell: sign * cell.summary.mean if cell.summary else -inf).label
        for cells in settings
    ).most_common(3)
    if len(best) == 1:
        where = "" if len(settings) == 1 else f" in all {len(settings)} settings"
        return f" By {metric.heading}, {best[0][0]} is best{where}."
    shares = ", ".join(f"{label} in {count}" for label, count in best)
    return f" By {metric.heading}, of {len(settings)} settings the best is {shares}."
