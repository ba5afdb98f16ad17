"""The pictures of experiments: small PNG files beside their pages.

Those of noise and of graphs of points come from the table of trials. The paper's figures need more
than that (who is right node by node, the learned graph, training curves) and are drawn from trials
that were run here.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lab.nodes import load, split_of
from lab.store import Trial, fresh, runs
from lab.summary import Findings, markdown
from truegraph.data.storage import atomic_write
from truegraph.evaluation import paired_wilcoxon
from truegraph.report.plots import side_by_side
from truegraph.report.plots.style import house_style, legend_below, new_figure, series_look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI, _COLOURS = 75, 24  # a picture has 5 to 20 kB
_PARAMETER = re.compile(r"default|(degree|k) [\d.]+")

Points = Sequence[tuple[float, float]]


def pictures(findings: Findings, folder: Path) -> str:
    """Draw what an experiment has a picture of; return the Markdown, "" if there is none."""
    draw = {
        "noise": _noise,
        "graph_quality": _quality,
        "figure1": _corrections,
        "figure2": _matrices,
        "figure3": _curves,
    }.get(findings.experiment.name)
    return "" if draw is None or not findings.cells else draw(findings, folder)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG file."""
    from PIL import Image

    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    stream.seek(0)
    with Image.open(stream) as image, atomic_write(path) as temporary:
        image.convert("RGB").quantize(_COLOURS).save(temporary, "PNG", optimize=True)


@house_style()
def lines(panels: Mapping[str, Mapping[str, Points]], x: str, y: str) -> Figure:
    """Return a figure with one panel per title, and in it one line per model."""
    figure = new_figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    for axes, (title, curves) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for name, points in curves.items():
            xs, ys = zip(*sorted(points), strict=True)
            look = series_look(names.index(name)) | ({"marker": None} if len(xs) > 40 else {})
            axes.plot(xs, ys, **look, markersize=4, linewidth=1.2, label=name)
        axes.set(title=title, xlabel=x, ylabel=y)
        axes.grid(axis="y", linewidth=0.6)
    legend_below(figure, axes, 5)
    return figure


def _picture(figure: Figure, name: str, words: str, folder: Path) -> str:
    save(figure, folder / f"{name}.png")
    return f"![{words}]({name}.png)\n"


def _noise(findings: Findings, folder: Path) -> str:
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for cell in findings.cells:
        found = findings.summary(cell, "accuracy")
        if found is not None:
            curve = panels.setdefault(cell.dataset, {}).setdefault(cell.label, [])
            curve.append((float(cell.conditions["noise"]), 100.0 * found.mean))
    figure = lines(panels, "share of edges removed or added", "accuracy %")
    return _picture(figure, "noise", "accuracy against noise; the table has the figures", folder)


def _quality(findings: Findings, folder: Path) -> str:
    panels = {
        findings.metrics[metric].heading: _kinds(findings, metric)
        for metric in ("accuracy_5", "leiden_ari")
    }
    figure = lines(panels, "edges per node", "mean over data sets")
    return _picture(figure, "graph_quality", "quality against edges per node", folder)


def _kinds(findings: Findings, metric: str) -> dict[str, list[tuple[float, float]]]:
    """Return mean edges and quality of every kind of graph over all data sets."""
    by_label: dict[str, list[tuple[float, float]]] = {}
    for cell in findings.cells:
        edges = findings.summary(cell, "edges_per_node")
        quality = findings.summary(cell, metric)
        if edges is not None and quality is not None:
            by_label.setdefault(cell.label, []).append((edges.mean, quality.mean))
    kinds: dict[str, list[tuple[float, float]]] = {}
    for label, points in by_label.items():
        kind = ", ".join(part for part in label.split(", ") if not _PARAMETER.fullmatch(part))
        edges_mean, quality_mean = np.mean(points, axis=0)
        kinds.setdefault(kind, []).append((float(edges_mean), float(quality_mean)))
    return kinds


# --- the paper's figures --------------------------------------------------------------------------


def _fresh_pairs(findings: Findings) -> dict[str, list[tuple[Trial, Trial]]]:
    """Return fresh trials of the first two models on the same splits, by column."""
    source = findings.experiment.models[0].source
    ours = {trial.key: trial for trial in fresh(source)}
    found: dict[str, list[tuple[Trial, Trial]]] = {}
    for column, cells in findings.groups():
        first, second = cells[:2] if len(cells) > 1 else (cells[0], cells[0])
        for seed in findings.experiment.seeds:
            keys = (first.key, seed), (second.key, seed)
            if all(key in ours for key in keys):
                found.setdefault(column, []).append((ours[keys[0]], ours[keys[1]]))
    return {column: pairs for column, pairs in found.items() if len(pairs) > 1}


def _corrections(findings: Findings, folder: Path) -> str:
    """Draw Figure 1: who is right, at nodes of low and of high degree."""
    pairs = _fresh_pairs(findings)
    if not pairs:
        return ""
    counts = {
        column: np.stack([_counts(*pair) for pair in found]) for column, found in pairs.items()
    }
    rows = [["data", "degree", "nodes", "corrected %", "p", "corrected, of GCN's mistakes %"]]
    for column, count in counts.items():
        shares = count[..., 1] / count.sum(axis=2)
        of_mistakes = count[..., 1] / np.maximum(count[..., 1] + count[..., 3], 1)
        p = f"{paired_wilcoxon(shares[:, 0], shares[:, 1]).p_value:.2g}"
        for group, name in enumerate(("low", "high")):
            nodes = f"{count[:, group].sum(axis=1).mean():.0f}"
            texts = [f"{100 * one[:, group].mean():.1f}" for one in (shares, of_mistakes)]
            rows.append([column, name, nodes, texts[0], "" if group else p, texts[1]])
    picture = _picture(_boxes(counts), "figure1", "corrected and spoiled nodes by degree", folder)
    return f"{picture}\n{markdown(rows)}"


def _counts(first: Trial, second: Trial) -> NDArray[np.int64]:
    """Return (2, 4): nodes of low and high degree for which both models are right, only the
    second one is (corrected), only the first one is (spoiled), none is.
    """  # noqa: D205 - one sentence
    dataset = load(first.dataset, first.conditions["component"])
    test = np.sort(split_of(dataset, first.conditions, first.seed).test)
    one, two = (_right(trial, len(test)) for trial in (first, second))
    assert dataset.graph is not None
    degrees = np.diff(dataset.graph.indptr)[test]
    kind = np.select([one & two, ~one & two, one & ~two], [0, 1, 2], 3)
    return np.bincount(4 * (degrees > np.median(degrees)) + kind, minlength=8).reshape(2, 4)


def _right(trial: Trial, count: int) -> NDArray[np.bool_]:
    packed = np.frombuffer(base64.b64decode(trial.details["correct"]), dtype=np.uint8)
    return np.unpackbits(packed, count=count).astype(bool)


@house_style()
def _boxes(counts: Mapping[str, NDArray[np.int64]]) -> Figure:
    figure = new_figure(figsize=(2.4 * len(counts), 2.8), layout="constrained")
    for axes, (title, count) in zip(
        figure.subplots(1, len(counts), sharey=True, squeeze=False)[0], counts.items(), strict=True
    ):
        shares = 100.0 * count / count.sum(axis=2, keepdims=True)
        values = [shares[:, group, kind] for kind in (1, 2) for group in (0, 1)]
        axes.boxplot(values, widths=0.6, flierprops={"marker": ".", "markersize": 3})
        names = [
            f"{kind}\n{group}" for kind in ("corrected", "spoiled") for group in ("low", "high")
        ]
        axes.set_xticks(range(1, 5), labels=names, fontsize=6)
        axes.set_title(title, fontsize=9)
    return figure


def _matrices(findings: Findings, folder: Path) -> str:
    """Draw Figure 2: the observed and the learned graph of one trial."""
    from truegraph import LearnedGraph

    learners = [cell for cell in findings.cells if cell.model == "bgcn"]
    if not learners:
        return ""
    cell = learners[0]
    file = runs() / "table1" / "graphs" / f"{cell.dataset}-{cell.conditions['labels']}.npz"
    if not file.is_file():
        return ""
    data = load(cell.dataset)
    learned = LearnedGraph.load(file).adjacency
    figure = side_by_side(data.graph, learned, data.labels, class_names=data.class_names)
    return _picture(figure, "figure2", "adjacency matrices, nodes ordered by class", folder)


def _curves(findings: Findings, folder: Path) -> str:
    """Draw Figure 3: validation recall of continued trainings, epoch by epoch."""
    panels: dict[str, dict[str, Points]] = {}
    ours = {trial.key: trial for trial in fresh(findings.experiment.models[0].source)}
    for cell in findings.cells:
        trial = ours.get((cell.key, findings.experiment.seed))
        if trial is not None and "curve" in trial.details:
            recall = 100.0 * np.array(trial.details["curve"], dtype=np.float64)
            seen = np.flatnonzero(np.isfinite(recall))
            points = list(zip(seen.tolist(), recall[seen].tolist(), strict=True))
            panels.setdefault(cell.dataset, {})[cell.label] = points
    if not panels:
        return ""
    figure = lines(panels, "epoch", "validation recall@20 %")
    return _picture(figure, "figure3", "validation recall of continued trainings", folder)
