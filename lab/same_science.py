"""Are trials of this code those of the committed ones? Means, differences, two standard errors.

    python -m lab same_science                    # all sets, resumable
    python -m lab same_science table1 auto        # some of them
    python -m lab same_science --report           # run nothing, print what there is

Sets: auto (on the declared splits of `beyond`, `strangers` and `spoilt`, 3 to 10 trials), table1
(Cora and Citeseer 10 trials, Pubmed 3), links (5), recommendation (1).
Fresh trials are kept in runs/same_science/NAME, apart from all others, and only those are run that
a committed trial stands beside; the same command goes on after a kill. Each is compared with the
committed trial of the same seed: a difference is told as large beyond two standard errors, of the
mean of the differences or, with one trial or two, of the committed trials' spread. Of many cells
one in twenty differs so by chance.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from lab.experiment import Cell, Experiment, load
from lab.running import run
from lab.store import ROOT, committed, fresh
from lab.summary import markdown
from lab.tasks import TASKS
from truegraph.errors import InputError
from truegraph.evaluation import Metric
from truegraph.progress import console_progress

#: Name of a set: (experiment, models, data sets or all, trials), the quick ones first.
_CITATIONS = ("cora", "citeseer")
_NETWORKS = ("mgccf", "bmgccf", "ngcf", "bngcf", "lightgcn", "bpr-mf")
SETS: dict[str, list[tuple[str, tuple[str, ...] | None, tuple[str, ...] | None, int]]] = {
    "auto": [
        ("beyond", ("auto", "bgcn-refined", "bgcn-fast"), _CITATIONS, 10),
        ("beyond", ("auto", "bgcn-refined", "bgcn-fast"), ("pubmed",), 3),
        ("strangers", ("auto",), None, 5),
        ("spoilt", ("auto",), None, 5),
    ],
    "table1": [("table1", None, _CITATIONS, 10), ("table1", None, ("pubmed",), 3)],
    "links": [("links", None, None, 5)],
    "recommendation": [("recommendation", (*_NETWORKS, "graph-ease", "ease"), None, 1)],
}
_MAIN = {"classify": ("accuracy",), "links": ("auc", "ap"), "recommend": ("recall@20",)}


def main(names: Sequence[str], jobs: int | None = None, is_report: bool = False) -> int:
    """Run what is missing of some sets and print their tables; return 1 if trials failed."""
    for name in names:
        if name not in SETS:
            raise InputError(f"same_science knows the sets {', '.join(SETS)}, but not {name!r}.")
    os.environ["TRUEGRAPH_RUNS"] = str(ROOT / "runs" / "same_science")
    failed = 0
    for name in names:
        rows = [["cell", "model", "metric", "trials", "before", "now", "difference", "2 s.e.", ""]]
        for source, models, datasets, trials in SETS[name]:
            part = load(source).only(models=models, datasets=datasets, trials=trials)
            part = replace(part, models=tuple(e for e in part.models if e.source == part.name))
            if is_report:
                rows += compared(part)
                continue
            known = {trial.key for trial in committed(part.name, part.task)}
            with console_progress(sys.stderr.isatty()) as progress:
                outcomes = run(part, only=known, jobs=jobs, progress=progress)
            failed += sum(len(outcome.failed) for outcome in outcomes)
            rows += compared(part)
        print(f"\n{name}\n\n{markdown(rows)}", flush=True)
        told = [row for row in rows[1:] if row[-1]]
        gains = [float(row[-3]) for row in rows[1:]]
        mean = float(np.mean(gains)) if gains else 0.0
        print(f"{len(told)} of {len(gains)} differ by more than two standard errors; "
              f"mean difference {mean:+.2f}.", flush=True)  # fmt: skip
    return 1 if failed else 0


def compared(experiment: Experiment) -> Iterator[list[str]]:
    """Yield a row for each cell and metric that fresh and committed trials share."""
    now = {trial.key: trial.metrics for trial in fresh(experiment.name)}
    before = {t.key: t.metrics for t in committed(experiment.name, experiment.task)}
    metrics = TASKS[experiment.task].metrics
    for cell in experiment.cells():
        for metric in _MAIN[experiment.task]:
            pairs = [
                (before[key].get(metric), now[key].get(metric))
                for seed in experiment.seeds
                if (key := (cell.key, seed)) in now and key in before
            ]
            known = [(old, new) for old, new in pairs if old is not None and new is not None]
            if known:
                spread = [one.get(metric) for (key, _), one in before.items() if key == cell.key]
                yield _row(cell, metrics[metric], np.array(known), np.array(spread, dtype=float))


def _row(cell: Cell, metric: Metric, pairs: np.ndarray, spread: np.ndarray) -> list[str]:
    unit = 100.0 if metric.percent else 1.0
    gains = unit * (pairs[:, 1] - pairs[:, 0])
    if len(gains) > 2:
        error = 2.0 * gains.std(ddof=1) / np.sqrt(len(gains))
    else:
        error = 2.0 * unit * (spread.std(ddof=1) if len(spread) > 1 else 0.0) / np.sqrt(len(gains))
    means = unit * pairs.mean(axis=0)
    where = " ".join([cell.dataset, *(str(value) for value in cell.conditions.values())])
    is_large = abs(gains.mean()) > error and abs(gains.mean()) > 0.05
    return [
        where,
        cell.label,
        metric.heading,
        str(len(gains)),
        f"{means[0]:.2f}",
        f"{means[1]:.2f}",
        f"{gains.mean():+.2f}",
        f"{error:.2f}",
        "differs" if is_large else "",
    ]
