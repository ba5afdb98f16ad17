"""Parts of the page that say how the numbers came about, and which are missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from truegraph.experiments import TrialRecord
from truegraph.report.page import Facts, Notes, Part
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table
from truegraph.wording import alike_once, counted


def failures(run: Run) -> Iterator[Part]:
    """Yield a table of the trials that failed, if any did."""
    if run.failed:
        rows = [
            [*run.naming.columns(record), record.label, str(record.seed), record.error or ""]
            for record in run.failed
        ]
        yield Table(
            heading="Failed trials",
            caption="They count in no mean. The same command runs them again.",
            rows=[["data set", *run.naming.swept, "model", "seed", "error"], *rows],
            alarm=True,
        )


def provenance_parts(run: Run) -> Iterator[Part]:
    """Yield cost, origin, versions and notes of a run's trials."""
    if run.done:
        yield _cost(run)
    yield Facts("How this was made", _facts(run))
    notes = dict.fromkeys(
        f"{record.dataset}: {note}" for record in run.records for note in record.notes
    )
    if notes:
        yield Notes("What to know of the data", alike_once(list(notes)))


def _cost(run: Run) -> Table:
    groups: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in run.done:
        groups.setdefault((record.dataset, record.label), []).append(record)
    rows: list[list[str | Entry]] = [
        ["data set", "model", "trials", "seconds per trial", "peak memory, MB"]
    ]
    for (dataset, label), trials in groups.items():
        seconds = np.mean([record.seconds for record in trials])
        known = [r.peak_memory_mb for r in trials if r.peak_memory_mb is not None]
        peak = f"{max(known):,.0f}" if known else ""
        rows.append([dataset, label, str(len(trials)), f"{seconds:.3g}", peak])
    return Table(
        "Time and memory",
        "Mean time of a trial; trials that were trained together share theirs. The most memory "
        "that a process had held by the end of a trial.",
        rows,
    )


def _facts(run: Run) -> list[tuple[str, str]]:
    experiment, records = run.experiment, run.records
    facts = [
        ("experiment", f"{experiment.name}: {experiment.title}"),
        ("task", experiment.task),
        ("conditions", "; ".join(f"{n}: {_joined(v)}" for n, v in experiment.conditions.items())),
        ("trials", _progress(run)),
    ]
    for entry in experiment.models:
        own = {"settings": entry.settings, "on": dict(entry.on or {})}
        settings = ", ".join(json.dumps(value) for value in own.values() if value)
        facts.append((f"model {entry.label}", entry.name + (f" {settings}" if settings else "")))
    if not records:
        return facts
    facts.append(("seeds", _span([record.seed for record in records])))
    facts += list(dict.fromkeys(_data(record) for record in records))
    times = sorted(record.finished for record in records)
    facts.append(("finished", f"{times[0]} to {times[-1]}"))
    facts.append(
        ("commit", _counted([record.commit or "not from a checkout" for record in records]))
    )
    names = dict.fromkeys(name for record in records for name in record.versions)
    facts += [
        (name, _counted([record.versions.get(name, "unknown") for record in records]))
        for name in names
    ]
    return facts


def _progress(run: Run) -> str:
    planned = run.experiment.trials * len(run.experiment.cells())
    text = f"{len(run.done):,} done of {planned:,}"
    return text + (f", {len(run.failed):,} failed" if run.failed else "")


def _data(record: TrialRecord) -> tuple[str, str]:
    component = record.conditions.get("component")
    kind = f" ({component})" if component else ""
    text = f"{record.source}, SHA-256 of the content {record.fingerprint}"
    return f"data {record.dataset}{kind}", text


def _joined(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


def _span(seeds: Sequence[int]) -> str:
    """Return seeds in short, such as "0 to 49" or "0 to 3, 7"."""
    known = sorted(set(seeds))
    runs: list[list[int]] = []
    for seed in known:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)


def _counted(values: Sequence[str]) -> str:
    """Return the value that all trials have, or each one with the number of trials."""
    counts = Counter(values)
    if len(counts) == 1:
        return values[0]
    return "; ".join(
        f"{value} ({count} of {counted(len(values), 'trial')})"
        for value, count in counts.most_common()
    )
