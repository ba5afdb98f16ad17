"""What the trials of an experiment add up to: cells, tests, and tables in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from lab.experiment import Cell, Experiment
from lab.printed import PaperFigure, bases, printed
from lab.store import Key, Trial
from lab.tasks import TASKS
from truegraph.evaluation import Metric, mean_std, paired_wilcoxon
from truegraph.evaluation.trials import Summary

LEVEL = 0.05  # of significance, as in the paper
_FOLDED = 20  # rows from which on a table is folded away

Rows = list[list[str]]


@dataclass(frozen=True)
class Findings:
    """An experiment and its trials.

    Attributes
    ----------
    experiment : Experiment
    trials : dict
        As `lab.store.trials_of` gives them.
    """

    experiment: Experiment
    trials: Mapping[Key, Trial]

    @cached_property
    def cells(self) -> list[Cell]:
        """Cells that have trials."""
        return [cell for cell in self.experiment.cells() if self.of(cell)]

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """How each metric is shown."""
        return TASKS[self.experiment.task].metrics

    @property
    def main_metrics(self) -> list[str]:
        """Metrics that the paper prints, or else the first one."""
        shown = self.experiment.metrics
        found = [name for name in shown if any(self.paper(cell, name) for cell in self.cells)]
        return found or [shown[0]]

    @property
    def has_one_model(self) -> bool:
        """Whether there is nothing to compare: one table then shows everything."""
        return len({cell.label for cell in self.cells}) == 1

    def of(self, cell: Cell) -> list[Trial]:
        """Return the trials of a cell by seed, also more of them than were asked for."""
        return self._by_cell.get(cell.key, [])

    @cached_property
    def _by_cell(self) -> dict[str, list[Trial]]:
        found: dict[str, list[Trial]] = {}
        for (key, seed), trial in sorted(self.trials.items(), key=lambda item: item[0]):
            if seed >= self.experiment.seed:
                found.setdefault(key, []).append(trial)
        return found

    def values(self, cell: Cell, metric: str) -> dict[int, float]:
        """Return a metric by seed; undefined values are left out."""
        found = ((trial.seed, trial.metrics.get(metric)) for trial in self.of(cell))
        return {seed: value for seed, value in found if value is not None and isfinite(value)}

    def summary(self, cell: Cell, metric: str) -> Summary | None:
        """Return mean and spread over the trials; None without any."""
        values = list(self.values(cell, metric).values())
        return mean_std(values) if values else None

    def paper(self, cell: Cell, metric: str) -> PaperFigure | None:
        """Return what the paper prints for a cell."""
        return printed(cell.task, cell.dataset, cell.model, cell.conditions, metric)

    def column(self, cell: Cell) -> str:
        """Return the name of a cell's data set and of the conditions that vary."""
        found = [(name, cell.conditions[name]) for name in self.experiment.swept]
        swept = [f"{n} {v:g}" if isinstance(v, float) else f"{n} {v}" for n, v in found]
        return " ".join([cell.dataset, *swept])

    def groups(self) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the cells that differ in the model only, under the name of what they share."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(self.column(cell), []).append(cell)
        yield from found.items()

    def p_value(self, first: Cell, second: Cell, metric: str) -> tuple[float, float] | None:
        """Return mean gain and p-value of a cell over another, on the seeds that both have."""
        ours, theirs = self.values(first, metric), self.values(second, metric)
        seeds = sorted(ours.keys() & theirs.keys())
        if not seeds:
            return None
        pairs = [ours[seed] for seed in seeds], [theirs[seed] for seed in seeds]
        test = paired_wilcoxon(*pairs)
        return test.mean_difference, test.p_value if len(seeds) > 1 else 1.0

    def bold(self, metric: str) -> set[str]:
        """Return the keys of the cells that the paper's rule sets in bold.

        Where it compares Bayesian models with their bases, those that are significantly better
        than their base; else the best one, if it is significantly better than the second best.
        """
        better = self.metrics[metric].better
        if better == "neither":
            return set()
        sign, found = 1.0 if better == "higher" else -1.0, set()
        for _, cells in self.groups():
            for cell, rival in _pairs(self, cells, metric, sign):
                test = self.p_value(cell, rival, metric)
                if test is not None and sign * test[0] > 0.0 and test[1] < LEVEL:
                    found.add(cell.key)
        return found


def _pairs(
    findings: Findings, cells: Sequence[Cell], metric: str, sign: float
) -> Iterator[tuple[Cell, Cell]]:
    base_of = bases(cells[0].task)
    if base_of:
        first = {cell.model: cell for cell in reversed(cells)}
        for cell in cells:
            if base_of.get(cell.model) in first:
                yield cell, first[base_of[cell.model]]
        return
    means = [(found.mean, cell) for cell in cells if (found := findings.summary(cell, metric))]
    ranked = sorted(means, key=lambda pair: -sign * pair[0])
    if len(ranked) > 1:
        yield ranked[0][1], ranked[1][1]


# --- tables ---------------------------------------------------------------------------------------


def tables(findings: Findings) -> str:
    """Return all tables of an experiment as Markdown."""
    if not findings.cells:
        return "No trial is done yet.\n"
    main, shown = findings.main_metrics, findings.experiment.metrics
    parts = [] if findings.has_one_model else [_overview(findings, metric) for metric in main]
    if len(shown) > len(main) or not parts:
        parts.append(_all_metrics(findings))
    if findings.experiment.task == "rows" and len(findings.experiment.datasets) > 1:
        parts += [_over_data(findings, name) for name in main if findings.metrics[name].percent]
    if findings.experiment.compare is not None:
        parts.append(_gains(findings, main[0]))
    return "\n".join([*parts, _versions(findings)])


def markdown(rows: Rows) -> str:
    """Return rows as a table of Markdown; the first is the heading."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _shown(heading: str, rows: Rows, caption: str) -> str:
    text = f"{markdown(rows)}\n{caption}\n"
    if len(rows) <= _FOLDED:
        return f"**{heading}**\n\n{text}"
    return f"<details><summary>{heading}</summary>\n\n{text}\n</details>\n"


def _overview(findings: Findings, metric: str) -> str:
    """Return one metric: models against data sets and conditions; turned if that is too wide."""
    shown, bold = findings.metrics[metric], findings.bold(metric)
    columns = dict(findings.groups())
    labels = list(dict.fromkeys(cell.label for cell in findings.cells))
    texts = {
        (cell.label, column): _entry(findings, cell, metric, cell.key in bold)
        for column, cells in columns.items()
        for cell in cells
    }
    rows = [["model", *columns]]
    rows += [[label, *(texts.get((label, column), "") for column in columns)] for label in labels]
    if len(columns) > len(labels):
        rows = [list(row) for row in zip(*rows, strict=True)]
        rows[0][0] = "data"
    return _shown(_sentence(shown.heading), rows, _caption(findings, metric, bool(bold)))


def _entry(findings: Findings, cell: Cell, metric: str, is_bold: bool) -> str:
    shown, found = findings.metrics[metric], findings.summary(cell, metric)
    if found is None:
        return "-"
    text = shown.shown(found.mean)
    text = f"**{text}**" if is_bold else text
    if found.n > 1:
        text += f" ± {shown.shown(found.std)}"
    paper = findings.paper(cell, metric)
    return text if paper is None else f"{text} ({shown.shown(paper.mean)})"


def _caption(findings: Findings, metric: str, has_bold: bool) -> str:
    counts = sorted({len(findings.values(cell, metric)) for cell in findings.cells} - {0})
    trials = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    parts = [f"Mean ± standard deviation over {trials} trials per cell."]
    if counts[-1] <= 1:
        parts = ["One trial per cell."]
    if any(findings.paper(cell, metric) for cell in findings.cells):
        parts.append("In brackets the mean that the paper prints.")
    if has_bold:
        rule = (
            "Bayesian models that are significantly better than their base"
            if bases(findings.experiment.task)
            else "the best model where it is significantly better than the second best"
        )
        parts.append(f"Bold: {rule} (Wilcoxon's signed ranks on the same seeds, 5 %).")
    return " ".join(parts)


def _all_metrics(findings: Findings) -> str:
    names = [
        name
        for name in findings.experiment.metrics
        if any(findings.values(cell, name) for cell in findings.cells)
    ]
    shown = [findings.metrics[name] for name in names]
    rows = [["data", "model", *(metric.heading for metric in shown)]]
    rows += [
        [column, cell.label, *(_mean(findings, cell, name) for name in names)]
        for column, cells in findings.groups()
        for cell in cells
    ]
    sides = []
    for side in ("higher", "lower"):
        headings = [metric.heading for metric in shown if metric.better == side]
        if headings:
            sides.append(f"{side} is better for {', '.join(headings)}")
    caption = "Means over the trials" + (f"; {'; '.join(sides)}." if sides else ".")
    return _shown("All metrics", rows, caption)


def _over_data(findings: Findings, metric: str) -> str:
    """Return the mean of a metric over the data sets, on the seeds that all models have."""
    shown = findings.metrics[metric]
    labels = list(dict.fromkeys(cell.label for cell in findings.cells))
    found: dict[tuple[str, str], list[float]] = {}
    for column, cells in findings.groups():
        values = {cell.label: findings.values(cell, metric) for cell in cells}
        shared = set.intersection(*(set(one) for one in values.values()))
        if not shared or len(values) < len(labels):
            continue
        for label, own in values.items():
            mean = sum(own[seed] for seed in shared) / len(shared)
            found.setdefault((label, column.partition(" ")[2]), []).append(mean)
    columns = list(dict.fromkeys(column for _, column in found))
    rows = [["model", *(column or "all" for column in columns)]]
    for label in labels:
        means = [found.get((label, column), []) for column in columns]
        rows.append([label, *(shown.shown(sum(m) / len(m)) if m else "-" for m in means)])
    counts = sorted({len(one) for one in found.values()})
    caption = f"Mean of the means of {' to '.join(map(str, counts))} data sets."
    return _shown(f"{_sentence(shown.heading)} over the data sets", rows, caption)


def _mean(findings: Findings, cell: Cell, metric: str) -> str:
    shown, found = findings.metrics[metric], findings.summary(cell, metric)
    paper = findings.paper(cell, metric) if findings.has_one_model else None
    note = "" if paper is None else f" ({shown.shown(paper.mean)})"
    return "-" if found is None else shown.shown(found.mean) + note


def _gains(findings: Findings, metric: str) -> str:
    """Return how far the model that the experiment names is ahead of each of the others."""
    ours, shown = findings.experiment.compare, findings.metrics[metric]
    columns = dict(findings.groups())
    labels = list(dict.fromkeys(c.label for c in findings.cells if c.label != ours))
    rows = [["data", *labels]]
    for column, cells in columns.items():
        named = {cell.label: cell for cell in cells}
        row = [column]
        for label in labels:
            test = (
                findings.p_value(named[ours], named[label], metric)
                if ours in named and label in named
                else None
            )
            mark = "" if test is None or test[1] >= LEVEL else "*"
            row.append("-" if test is None else shown.signed(test[0]) + mark)
        rows.append(row)
    caption = (
        f"{shown.heading} of {ours} less that of the other model, on the splits that both have; "
        "with an asterisk where Wilcoxon's signed ranks say so at 5 %."
    )
    return _shown(f"{ours} less each other model, {shown.heading}", rows, caption)


def _versions(findings: Findings) -> str:
    counts = Counter(
        trial.version for cell in findings.cells for trial in findings.of(cell)
    ).most_common()
    told = ", ".join(f"{count:,} of version {version}" for version, count in counts)
    return f"Trials: {told}.\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
