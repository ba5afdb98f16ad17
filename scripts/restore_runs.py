"""Make stores of runs from the trials under results/, so that an experiment can be continued.

    python scripts/restore_runs.py runs table1 links
    truegraph reproduce table1 --out runs/table1

Every trial that stands in results/NAME_trials.csv is put into runs/NAME with its figures, commit
and time; what a CSV does not hold (details, versions) stays empty. Trials of settings that the
experiment no longer has are left out, and trials that a store has already stay as they are.
Trials of the same model, settings and split in another experiment's table serve as well:

    python scripts/restore_runs.py runs beyond --also results/table1_trials.csv
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping
from pathlib import Path

from truegraph.experiments import Experiment, TrialRecord, TrialStore
from truegraph.experiments.experiment import builtin_experiments
from truegraph.experiments.tasks.base import Cell, find_task

ROOT = Path(__file__).resolve().parent.parent


def restored(row: Mapping[str, str], cell: Cell, metrics: list[str]) -> TrialRecord:
    """Return the trial of one line of a CSV."""
    return TrialRecord(
        **{name: getattr(cell, name) for name in ("task", "dataset", "model", "label")},
        settings=cell.settings,
        conditions=cell.conditions,
        seed=int(row["seed"]),
        status=row["status"],
        metrics={name: float(row[name]) if row.get(name) else None for name in metrics},
        details={},
        seconds=float(row["seconds"]),
        peak_memory_mb=float(row["peak_memory_mb"]) if row["peak_memory_mb"] else None,
        versions={},
        fingerprint=row["fingerprint"],
        source="results",
        notes=(),
        commit=row["commit"] or None,
        error=row["error"] or None,
        finished=row["finished"],
    )


def restore(experiment: Experiment, table: Path, folder: Path) -> int:
    """Put the trials of a CSV into the store of an experiment; return how many fitted."""
    metrics = list(find_task(experiment.task).metrics)
    cells = {_name(cell): cell for cell in experiment.cells()}
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found = [(row, cells.get(_row_name(row, experiment))) for row in rows]
    records = [restored(row, cell, metrics) for row, cell in found if cell is not None]
    with TrialStore.create(folder, experiment) as store:
        store.add(records)
    return len(records)


def _name(cell: Cell) -> tuple[object, ...]:
    conditions = (cell.conditions[name] for name in sorted(cell.conditions))
    return cell.dataset, cell.model, json.dumps(cell.settings, sort_keys=True), *conditions


def _row_name(row: Mapping[str, str], experiment: Experiment) -> tuple[object, ...]:
    kinds = find_task(experiment.task).conditions
    conditions = (_value(row[name], kinds[name].kind) for name in sorted(experiment.conditions))
    return row["dataset"], row["model"], row["settings"], *conditions


def _value(text: str, kind: type) -> object:
    return text == "True" if kind is bool else kind(text)


def main() -> None:
    """Do it for every experiment that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder for the stores")
    parser.add_argument("names", nargs="+", help="experiments with trials under results/")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of the CSVs")
    parser.add_argument("--also", type=Path, nargs="+", default=[], help="further CSVs of trials")
    options = parser.parse_args()
    builtin = builtin_experiments()
    for name in options.names:
        own = options.results / f"{name}.toml"
        experiment = Experiment.from_toml(own) if own.is_file() else builtin[name]
        tables = [options.results / f"{name}_trials.csv", *options.also]
        found = [table for table in tables if table.is_file()]
        if not found:
            raise SystemExit(f"there are no trials of {name}: {tables[0]} is missing")
        count = sum(restore(experiment, table, options.runs / name) for table in found)
        print(f"{options.runs / name}: {count} trials")


if __name__ == "__main__":
    main()
