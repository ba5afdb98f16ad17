"""Parts of the page from the details of node classification: the paper's figures, calibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.nodes.registry import REGISTRY
from truegraph.data.storage import csr_from_arrays, read_npz
from truegraph.errors import DataError, TruegraphError
from truegraph.evaluation import ReliabilityCurve, paired_wilcoxon
from truegraph.experiments import TrialRecord
from truegraph.experiments.tasks.classification import unpacked
from truegraph.learning import LearnedGraph
from truegraph.report.explorer.embedded import explorer_part
from truegraph.report.page import Notes, Panel, Part, Picture
from truegraph.report.parts.posterior import posterior_parts, telling_nodes
from truegraph.report.plots import (
    adjacency,
    correction_boxplots,
    correction_counts,
    reliability_lines,
)
from truegraph.report.plots.corrections import BOTH_RIGHT, BOTH_WRONG, CORRECTED, HIGH, LOW, SPOILED
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table
from truegraph.wording import counted

_FIRST, _SECOND = "gcn", "bgcn"  # whom the paper's Figure 1 compares

Bits = list[NDArray[np.bool_]]


def node_parts(run: Run) -> Iterator[Part]:
    """Yield the parts for which the trials have the details."""
    yield from _corrections(run)
    yield from _graphs(run)
    yield from _reliability(run)
    yield from _graph_facts(run)
    yield from _certainty(run)


def _corrections(run: Run) -> Iterator[Part]:
    """Yield Figure 1 and the rates behind it."""
    settings = {setting: _paired_bits(models) for setting, models in run.with_detail("high_degree")}
    panels, rows = [], []
    for setting, (names, bits) in ((s, found) for s, found in settings.items() if found):
        counts = correction_counts(*bits)
        figure = correction_boxplots(*bits, names=names, title=setting)
        panels.append(Panel(figure, _described(setting, names, counts)))
        rows += _rates(setting, counts)
    if not panels:
        return
    yield Picture(
        heading="What the Bayesian GCN corrects, by degree (Figure 1)",
        caption="Test nodes by whether GCN and BGCN are right, in two groups: degree in the "
        "observed graph up to the median of the test nodes, and above it. Boxes are quartiles over "
        "the trials.",
        panels=panels,
    )
    yield Table(
        heading="Corrections by degree",
        caption="Means over trials, in per cent. Corrected: GCN wrong and BGCN right; spoiled: the "
        "other way round. p: Wilcoxon's signed ranks over the trials, low against high degree.",
        rows=[_RATES, *rows],
    )


_RATES = ["setting", "degree", "nodes", "corrected, of all", "p", "corrected, of GCN's mistakes"]
_RATES += ["p ", "spoiled, of GCN's right"]


def _paired_bits(
    models: Mapping[str, Sequence[TrialRecord]],
) -> tuple[tuple[str, str], tuple[Bits, Bits, Bits]] | None:
    """Return names, and who is right and of high degree trial by trial; None if one is missing."""
    chosen = [
        next((trials for trials in models.values() if trials[0].model == model), None)
        for model in (_FIRST, _SECOND)
    ]
    if chosen[0] is None or chosen[1] is None:
        return None
    first, second = ({record.seed: record for record in trials} for trials in chosen if trials)
    seeds = sorted(first.keys() & second.keys())
    if len(seeds) < 2:  # a box needs more than one trial
        return None
    bits = (
        [_bits(first[seed], "correct") for seed in seeds],
        [_bits(second[seed], "correct") for seed in seeds],
        [_bits(first[seed], "high_degree") for seed in seeds],
    )
    return (chosen[0][0].label, chosen[1][0].label), bits


def _bits(record: TrialRecord, name: str) -> NDArray[np.bool_]:
    return unpacked(record.details[name], sum(record.details["reliability"]["count"]))


def _described(setting: str, names: tuple[str, str], counts: NDArray[np.int64]) -> str:
    shares = 100 * counts.sum(axis=0) / np.maximum(counts.sum(axis=(0, 2))[:, None], 1)
    return (
        f"{setting}: boxplots over {counted(len(counts), 'trial')}. Only {names[1]} right: "
        f"{shares[LOW, CORRECTED]:.1f} % of the low-degree and {shares[HIGH, CORRECTED]:.1f} % of "
        f"the high-degree nodes; only {names[0]} right: {shares[LOW, SPOILED]:.1f} % and "
        f"{shares[HIGH, SPOILED]:.1f} %."
    )


def _rates(setting: str, counts: NDArray[np.int64]) -> list[list[str | Entry]]:
    """Return a row for low and one for high degree."""
    nodes = counts.sum(axis=2)
    mistakes = counts[..., CORRECTED] + counts[..., BOTH_WRONG]
    right = counts[..., SPOILED] + counts[..., BOTH_RIGHT]
    with np.errstate(invalid="ignore"):
        of_all, of_mistakes = counts[..., CORRECTED] / nodes, counts[..., CORRECTED] / mistakes
        spoiled = counts[..., SPOILED] / right
    rows: list[list[str | Entry]] = []
    for group, name in ((LOW, "low"), (HIGH, "high")):
        tests = ["", ""] if group == HIGH else [_p_value(of_all), _p_value(of_mistakes)]
        rows.append(
            [
                setting,
                name,
                f"{nodes[:, group].mean():.0f}",
                _percent(of_all[:, group]),
                tests[0],
                _percent(of_mistakes[:, group]),
                tests[1],
                _percent(spoiled[:, group]),
            ]
        )
    return rows


def _p_value(rates: NDArray[np.float64]) -> str:
    known = rates[np.isfinite(rates).all(axis=1)]
    return f"{paired_wilcoxon(known[:, LOW], known[:, HIGH]).p_value:.2g}" if len(known) else ""


def _percent(rates: NDArray[np.float64]) -> str:
    known = rates[np.isfinite(rates)]
    return f"{100 * known.mean():.1f}" if len(known) else ""


def _graphs(run: Run) -> Iterator[Part]:
    """Yield Figure 2 for the first trial of every setting whose graphs were kept."""
    panels, missing = [], []
    for setting, models in run.with_detail("graph_file"):
        for label, trials in models.items():
            try:
                panels += _matrices(run.folder, setting, label, trials[0])
            except TruegraphError as error:
                missing.append(f"The graphs of {label} on {setting} cannot be shown: {error}")
    if panels:
        yield Picture(
            heading="The observed graph and the learned one (Figure 2)",
            caption="Adjacency matrices, the nodes ordered by true class, class boundaries in red; "
            "the darker, the more edges. The learned graph is that of the first trial.",
            panels=panels,
        )
    if missing:
        yield Notes("Graphs that cannot be shown", missing)


def _matrices(folder: Path, setting: str, label: str, trial: TrialRecord) -> list[Panel]:
    arrays = read_npz(_kept_file(folder, trial.details["graph_file"]))
    entry = REGISTRY.get(trial.dataset)
    graphs: dict[str, csr_array] = {}
    if "observed_indptr" in arrays:
        graphs[f"Observed graph of {trial.dataset}"] = csr_from_arrays(arrays, "observed")
    learned = f"Learned graph ({label}, {setting}, seed {trial.seed})"
    graphs[learned] = csr_from_arrays(arrays, "learned")
    names = None if entry is None else entry.class_names
    return [
        Panel(
            adjacency(graph, arrays["labels"], class_names=names, title=title),
            f"{title}: adjacency matrix of {graph.shape[0]:,} nodes and "
            f"{counted(graph.nnz // 2, 'edge')}, ordered by class, class boundaries in red.",
        )
        for title, graph in graphs.items()
    ]


def _kept_file(folder: Path, name: str) -> Path:
    file = folder / name
    if not file.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{file}: lies outside the run's folder; run the experiment again.")
    return file


def _certainty(run: Run) -> Iterator[Part]:
    """Yield how certain the learned graphs are that were kept, and the edges of some nodes."""
    found = [
        (f"{label} on {setting}", _kept_file(run.folder, trials[0].details["learned_graph_file"]))
        for setting, models in run.with_detail("learned_graph_file")
        for label, trials in models.items()
    ]
    kept = [(title, file) for title, file in found if file.is_file()]
    for title, file in kept:
        posterior = LearnedGraph.load(file).posterior()
        for part in posterior_parts(posterior, telling_nodes(posterior)):
            yield replace(part, heading=f"{part.heading} ({title})") if len(kept) > 1 else part
    for title, file in kept[:1]:
        yield from explorer_part(LearnedGraph.load(file), f"The learned graph ({title})")


def _reliability(run: Run) -> Iterator[Part]:
    panels = []
    for setting, models in run.with_detail("reliability"):
        curves = {label: _pooled(trials) for label, trials in models.items()}
        errors = {label: _mean_error(trials) for label, trials in models.items()}
        listed = "; ".join(f"{name} {error:.1%}" for name, error in errors.items())
        panels.append(
            Panel(
                reliability_lines(curves, title=setting, order=run.labels, errors=errors),
                f"{setting}: share of right predictions against confidence. Expected calibration "
                f"error, mean over the trials: {listed}.",
            )
        )
    if panels:
        yield Picture(
            heading="How far confidence can be trusted",
            caption="The test predictions of all trials, sorted by the probability of the "
            "predicted class into 15 bins; bins with less than 0.5 % of the predictions are left "
            "out. Below the dashed line a model is too sure, above it too modest. The legend gives "
            "the expected calibration error as the tables do: the mean over the trials.",
            panels=panels,
        )
        yield _calibration_errors(run)


def _calibration_errors(run: Run) -> Table:
    rows: list[list[str | Entry]] = [
        [
            *named,
            f"{100 * _mean_error(trials):.1f}",
            f"{100 * _pooled(trials).calibration_error:.1f}",
        ]
        for named, trials in _by_model(run, "reliability")
    ]
    return Table(
        heading="Calibration errors, trial by trial and over all",
        caption="Expected calibration error in per cent: its mean over the trials, each on its own "
        "test nodes, and that of the test predictions of all trials together. The first counts "
        "chance as an error, that of a finite test set and that of one draw of labels; the second "
        "says whether stated probabilities hold over many draws.",
        rows=[[*_named(run), "mean over the trials", "all trials together"], *rows],
    )


def _mean_error(trials: Sequence[TrialRecord]) -> float:
    return float(np.mean([_pooled([trial]).calibration_error for trial in trials]))


def _pooled(trials: Sequence[TrialRecord]) -> ReliabilityCurve:
    """Return the curve of all trials' predictions together."""
    parts = [trial.details["reliability"] for trial in trials]
    counts = np.array([part["count"] for part in parts])
    total = counts.sum(axis=0)

    def mean(name: str) -> NDArray[np.float64]:
        # None, which stands for NaN, in bins without a prediction
        values = np.nan_to_num(np.array([part[name] for part in parts], dtype=np.float64))
        with np.errstate(invalid="ignore"):
            return (values * counts).sum(axis=0) / total

    edges = np.linspace(0, 1, len(total) + 1)
    return ReliabilityCurve(edges, mean("confidence"), mean("accuracy"), total)


def _named(run: Run) -> list[str]:
    """Return the headings of what `_by_model` begins rows with."""
    return ["data set", *run.naming.swept, "model", "trials"]


def _by_model(run: Run, detail: str) -> Iterator[tuple[list[str], Sequence[TrialRecord]]]:
    """Yield the beginning of a row for each cell whose trials have a detail, and these trials."""
    for _, models in run.with_detail(detail):
        for label, trials in models.items():
            yield [*run.naming.columns(trials[0]), label, str(len(trials))], trials


def _graph_facts(run: Run) -> Iterator[Part]:
    rows: list[list[str | Entry]] = [
        [*named, *_summed([trial.details["learned_graph"] for trial in trials])]
        for named, trials in _by_model(run, "learned_graph")
    ]
    if rows:
        heading = [*_named(run), "edges", "mean degree"]
        heading += ["within a class %", "observed kept %", "largest relative gap", "scope"]
        yield Table(
            heading="Learned graphs",
            caption="Means over trials: edges, edges per node, share of the edges between nodes of "
            "one class, share of the observed edges that the learned graph has as well. The "
            "relative gap bounds how far the objective is from its optimum, over the pairs of the "
            "scope; the largest of all trials is shown.",
            rows=[[*heading, "converged", "theta"], *rows],
        )


def _counted(words: Sequence[str]) -> str:
    """Return the word that all trials have, or each with the number of trials."""
    counts = Counter(words).most_common()
    return words[0] if len(counts) == 1 else ", ".join(f"{word} ({n})" for word, n in counts)


def _summed(facts: Sequence[Mapping[str, object]]) -> list[str | Entry]:
    def values(name: str) -> NDArray[np.float64]:
        found = np.array([fact.get(name) for fact in facts], dtype=np.float64)  # None becomes NaN
        return found[np.isfinite(found)]

    def mean(name: str, layout: str, unit: float = 1.0) -> str:
        found = values(name)
        return format(unit * found.mean(), layout) if len(found) else ""

    gaps, converged = values("relative_gap"), sum(bool(fact.get("converged")) for fact in facts)
    return [
        mean("edges", ",.0f"),
        mean("mean_degree", ".1f"),
        mean("homophily", ".1f", 100),
        mean("observed_kept", ".1f", 100),
        f"{gaps.max():.1e}" if len(gaps) else "",
        _counted([str(fact.get("scope", "")) for fact in facts]),
        f"{converged} of {len(facts)}",
        mean("theta", ".3g"),
    ]
