"""The picture of a run that compares graphs: quality against edges per node."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from truegraph.report.page import Panel, Part, Picture
from truegraph.report.plots.quality import quality_by_edges
from truegraph.report.runs import Run

_SHOWN = ("accuracy_5", "leiden_ari")
_PARAMETER = re.compile(r"default|(degree|k) [\d.]+")


def graph_quality_parts(run: Run) -> Iterator[Part]:
    """Yield the picture if the run compared graphs."""
    if run.experiment.task != "graph-quality" or not run.done:
        return
    yield Picture(
        heading="Quality against edges per node",
        caption="Means over all data sets and trials. A line joins graphs of one kind with "
        "different degrees or numbers of neighbours.",
        panels=[_panel(run, metric) for metric in _SHOWN],
    )


def _panel(run: Run, metric: str) -> Panel:
    shown = run.metrics[metric]
    unit = 100.0 if shown.percent else 1.0
    kinds: dict[str, list[tuple[float, float]]] = {}
    for label in run.labels:
        found = [record.metrics for record in run.done if record.label == label]
        values = [(m["edges_per_node"], m[metric]) for m in found if m[metric] is not None]
        if values:
            edges, quality = np.mean(np.array(values, dtype=np.float64), axis=0)
            kinds.setdefault(kind_of(label), []).append((float(edges), unit * float(quality)))
    figure = quality_by_edges(kinds, metric=shown.heading)
    return Panel(figure, f"{shown.heading} of {', '.join(kinds)} against edges per node")


def kind_of(label: str) -> str:
    """Return a model's label without its degree or number of neighbours."""
    parts = [part for part in label.split(", ") if not _PARAMETER.fullmatch(part)]
    return ", ".join(parts)
