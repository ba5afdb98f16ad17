"""A run that compares graphs: quality against edges per node, and the default against the best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from truegraph.evaluation import PairedTest, paired_wilcoxon
from truegraph.report.page import Panel, Part, Picture
from truegraph.report.plots.quality import quality_by_edges
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table

_SHOWN = ("accuracy_5", "leiden_ari")
_SPREADING = ("accuracy_1", "accuracy_5", "accuracy_20")
_LEVEL = 0.05
_PARAMETER = re.compile(r"default|(degree|k) [\d.]+")


def graph_quality_parts(run: Run) -> Iterator[Part]:
    """Yield the picture and the comparison if the run compared graphs."""
    if run.experiment.task != "graph-quality" or not run.done:
        return
    yield Picture(
        heading="Quality against edges per node",
        caption="Means over all data sets and trials. A line joins graphs of one kind with "
        "different degrees or numbers of neighbours.",
        panels=[_panel(run, metric) for metric in _SHOWN],
    )
    if run.experiment.compare in run.labels:
        yield _against_the_best(run, run.experiment.compare)


def _against_the_best(run: Run, ours: str) -> Table:
    """Return how far label spreading on our graph is from the best k-NN or UMAP graph."""
    values = {
        metric: {
            (record.dataset, record.label, record.seed): record.metrics[metric]
            for record in run.done
            if record.metrics[metric] is not None
        }
        for metric in _SPREADING
    }
    rivals = [entry.label for entry in run.experiment.models if entry.name != "learned"]
    rows: list[list[Entry | str]] = [
        ["data set", *(run.metrics[metric].heading for metric in _SPREADING), "mean"]
    ]
    for dataset in run.experiment.datasets:
        tests = [_test(values[metric], dataset, ours, rivals) for metric in _SPREADING]
        known = [test.mean_difference for test in tests if test is not None]
        if known:
            mean = f"{100 * float(np.mean(known)):+.1f}"
            rows.append([dataset, *(_entry(test) for test in tests), mean])
    return Table(
        heading="Label spreading against the best other graph",
        caption=f"Points of accuracy of {ours} above the best of {len(rivals)} k-NN and UMAP "
        "graphs, chosen in hindsight for every cell. Bold: significant (Wilcoxon's signed ranks "
        "on the same draws, 5 %).",
        rows=rows,
    )


def _test(
    values: Mapping[tuple[str, str, int], float | None],
    dataset: str,
    ours: str,
    rivals: Sequence[str],
) -> PairedTest | None:
    """Test our graph against the best rival on the same draws; None without results."""

    def draws(label: str) -> list[float | None]:
        keys = sorted(key for key in values if key[:2] == (dataset, label))
        return [values[key] for key in keys]

    found = {label: draws(label) for label in (ours, *rivals)}
    if not found[ours]:
        return None
    complete = [label for label in rivals if len(found[label]) == len(found[ours])]
    if not complete:
        return None
    best = max(complete, key=lambda label: float(np.mean(np.array(found[label], dtype=float))))
    return paired_wilcoxon(np.array(found[ours], dtype=float), np.array(found[best], dtype=float))


def _entry(test: PairedTest | None) -> Entry | str:
    if test is None:
        return "-"
    return Entry(f"{100 * test.mean_difference:+.1f}", bold=test.p_value < _LEVEL)


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
