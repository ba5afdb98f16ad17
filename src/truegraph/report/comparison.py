"""One model of an experiment against each of the others, on the same trials, by every metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truegraph.evaluation import Metric, paired_wilcoxon
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.naming import Naming
from truegraph.experiments.tasks.base import find_task
from truegraph.report.cell_summary import LEVEL, CellSummary, gain, paired_values
from truegraph.report.tables import Entry, Row, Table, sentence


def comparison_table(cells: Sequence[CellSummary], experiment: Experiment) -> Table | None:
    """Return paired differences and tests, or None if there is nothing to compare.

    Parameters
    ----------
    cells : sequence of CellSummary
    experiment : Experiment
        Its `compare` names the model.
    """
    own = {(cell.setting, cell.metric): cell for cell in cells if cell.label == experiment.compare}
    names, known = Naming(cells), find_task(experiment.task).metrics
    judged = [name for name in experiment.metrics if known[name].better in ("higher", "lower")]
    metrics = {name: known[name] for name in judged}
    rivals: dict[tuple[Any, ...], list[CellSummary]] = {}
    for cell in cells:  # the metrics of a model stand one after the other, in their order
        ours = own.get((cell.setting, cell.metric))
        if ours is not None and cell is not ours and cell.metric in metrics:
            rivals.setdefault((*cell.setting, cell.label), []).append(cell)
    rows: list[Row] = [
        [*names.columns(found[0]), found[0].label, *_entries(own, found, metrics)]
        for found in rivals.values()
        if len(paired_values(own[found[0].setting, found[0].metric], found[0])) > 1
    ]
    if not rows:
        return None
    heading = ["data set", *names.swept, "against", "trials"]
    for place, metric in enumerate(metrics.values()):
        heading += [metric.heading, *(["worst"] if place == 0 else []), "p"]
    return Table(
        sentence(f"{experiment.compare} against each model"),
        sentence(
            f"{experiment.compare} less the other model: the mean over the trials that both have, "
        )
        + "the least favourable trial (worst), and the p-value of Wilcoxon's signed-rank test, "
        "two-sided. Bold: significantly better (5 %, not corrected for the number of tests)."
        + names.fixed_text(),
        [heading, *rows],
    )


def _entries(
    own: dict[Any, CellSummary], rival: Sequence[CellSummary], metrics: dict[str, Metric]
) -> list[str | Entry]:
    """Return the number of trials, then mean difference, worst one and p-value of each metric."""
    entries: list[str | Entry] = []
    for place, cell in enumerate(rival):
        metric = metrics[cell.metric]
        pairs = paired_values(own[cell.setting, cell.metric], cell)
        if place == 0:
            entries.append(str(len(pairs)))
        if len(pairs) < 2:
            entries += [""] * (3 if place == 0 else 2)
            continue
        test = paired_wilcoxon(*zip(*pairs, strict=True))
        better = gain(metric, test.mean_difference) > 0 and test.p_value < LEVEL
        entries.append(Entry(metric.signed(test.mean_difference), test.mean_difference, better))
        if place == 0:
            worst = min((a - b for a, b in pairs), key=lambda value: gain(metric, value))
            entries.append(Entry(metric.signed(worst), worst))
        entries.append(Entry(f"{test.p_value:.2g}", test.p_value))
    return entries
