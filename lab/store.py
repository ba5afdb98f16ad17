"""Where trials are kept: fresh ones in runs/NAME/trials.jsonl, committed ones in results/.

results/NAME.csv.gz has one row per trial: data set, conditions, model, options, label and seed,
every metric that some trial has, seconds, and the version of truegraph that ran it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.experiment import Experiment, cell_key
from lab.tasks import TASKS
from truegraph.data.storage import atomic_write
from truegraph.runner import read_trials

ROOT = Path(__file__).resolve().parent.parent
DIGITS = 5  # after the point: a hundredth of what a table shows

Key = tuple[str, int]


@dataclass(frozen=True)
class Trial:
    """A finished trial, wherever it was kept."""

    dataset: str
    conditions: Mapping[str, Any]
    model: str
    options: Mapping[str, Any]
    seed: int
    metrics: Mapping[str, float | None]
    seconds: float
    version: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> Key:
        """What tells it from others."""
        return cell_key(self.dataset, self.conditions, self.model, self.options), self.seed


def runs() -> Path:
    """Return the folder of fresh trials: that of TRUEGRAPH_RUNS, or runs/."""
    return Path(os.environ.get("TRUEGRAPH_RUNS", ROOT / "runs"))


def results() -> Path:
    """Return the folder of committed trials and pages: that of TRUEGRAPH_RESULTS, or results/."""
    return Path(os.environ.get("TRUEGRAPH_RESULTS", ROOT / "results"))


def fresh(name: str) -> list[Trial]:
    """Return the trials that were run here."""
    records = read_trials(runs() / name / "trials.jsonl")
    return [
        Trial(
            record["dataset"],
            record["conditions"],
            record["model"],
            record["options"],
            record["seed"],
            record["metrics"],
            record["seconds"],
            record["version"],
            record.get("details", {}),
        )
        for record in records
        if record["status"] == "done"
    ]


def committed(name: str, task: str) -> list[Trial]:
    """Return the trials that came with the repository."""
    path = results() / f"{name}.csv.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return [_trial(row, task) for row in csv.DictReader(stream)]


def _trial(row: Mapping[str, str], task: str) -> Trial:
    known = TASKS[task]
    return Trial(
        row["dataset"],
        {name: json.loads(row[name]) for name in known.conditions if row.get(name)},
        row["model"],
        json.loads(row["options"]),
        int(row["seed"]),
        {name: float(row[name]) for name in known.metrics if row.get(name)},
        float(row["seconds"]),
        row["version"],
    )


def trials_of(experiment: Experiment) -> dict[Key, Trial]:
    """Return all trials of an experiment and of those it takes models from; fresh ones first."""
    found: dict[Key, Trial] = {}
    for name in dict.fromkeys([experiment.name, *(entry.source for entry in experiment.models)]):
        for trial in (*committed(name, experiment.task), *fresh(name)):
            found[trial.key] = trial
    return found


def write_table(experiment: Experiment, trials: Iterable[Trial]) -> Path:
    """Write the committed table of an experiment: those of the trials that it keeps itself."""
    labels = {
        cell.key: (number, cell.label)
        for number, cell in enumerate(experiment.cells())
        if cell.source == experiment.name
    }
    own = [trial for trial in trials if trial.key[0] in labels]
    own.sort(key=lambda trial: (labels[trial.key[0]][0], trial.seed))
    metrics = [
        name
        for name in TASKS[experiment.task].metrics
        if any(trial.metrics.get(name) is not None for trial in own)
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    conditions = list(experiment.conditions)
    heading = ["dataset", *conditions, "model", "options", "label", "seed", *metrics]
    writer.writerow([*heading, "seconds", "version"])
    for trial in own:
        writer.writerow(
            [
                trial.dataset,
                *(json.dumps(trial.conditions[name]) for name in conditions),
                trial.model,
                json.dumps(trial.options, sort_keys=True),
                labels[trial.key[0]][1],
                trial.seed,
                *(_text(trial.metrics.get(name)) for name in metrics),
                f"{trial.seconds:.3g}",
                trial.version,
            ]
        )
    path = results() / f"{experiment.name}.csv.gz"
    with atomic_write(path) as temporary:
        temporary.write_bytes(gzip.compress(stream.getvalue().encode(), 9, mtime=0))
    return path


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.{DIGITS}f}".rstrip("0").rstrip(".")
