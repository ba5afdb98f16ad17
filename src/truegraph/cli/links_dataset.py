"""``truegraph links DATASET``: models and their Bayesian versions on the same splits of links."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.outputs import print_json, print_rows
from truegraph.memory import peak_memory_mb
from truegraph.tasks.links.names import BAYESIAN

if TYPE_CHECKING:
    from truegraph.data import NodeDataset
    from truegraph.experiments.tasks.base import Cell, Context, TrialResult
    from truegraph.experiments.tasks.links import LinksTask
    from truegraph.progress import Progress

_PACKAGES = ("truegraph", "torch", "numpy", "scipy", "numba")
_FEWEST_PAIRS = 6  # with fewer, a two-sided signed-rank test cannot fall below 0.05
_SHOWN = ("auc", "ap", "hits_50", "mrr", "expected_calibration_error")


@dataclass(frozen=True)
class LinkDatasetJob:
    """What the command was asked for, after checking.

    Attributes
    ----------
    name : str
        Name of the data set.
    models : list of str
    trials : int
    seed : int
    component : {"largest", "full"}
    options : dict
        Of the Bayesian versions.
    out, cache : Path or None
        Folder of results, folder of embeddings.
    jobs : int or None
    as_json, quiet : bool
    """

    name: str
    models: list[str]
    trials: int
    seed: int
    component: str
    options: dict[str, Any]
    out: Path | None
    cache: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool

    @property
    def seeds(self) -> list[int]:
        """Seed of each trial."""
        return list(range(self.seed, self.seed + self.trials))


def links_dataset(job: LinkDatasetJob) -> None:
    """Train every model on every split, then print and write what came of it."""
    from truegraph.experiments.tasks.classification import open_dataset
    from truegraph.experiments.tasks.links import LinksTask

    task = LinksTask()
    cells = [_cell(model, job) for model in job.models]
    for cell in cells:
        task.check(cell)
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    results, seconds, notes = _run(task, cells, job)
    dataset = open_dataset(job.name.lower(), job.component)
    document = _document(dataset, results, seconds, notes, job)
    rows = _rows(document)
    if job.out is not None:
        _write(job.out, document, rows)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(document, rows, job)


def _cell(model: str, job: LinkDatasetJob) -> Cell:
    from truegraph.experiments.tasks.base import Cell

    settings = job.options if model in BAYESIAN else {}
    conditions = {"component": job.component, "split": "random", "oracle": False}
    return Cell("links", job.name.lower(), model, model, settings, conditions)


def _run(
    task: LinksTask, cells: list[Cell], job: LinkDatasetJob
) -> tuple[dict[str, list[TrialResult]], dict[str, float], list[str]]:
    import torch

    from truegraph.data.nodes.datasets import cache_folder
    from truegraph.experiments.tasks.base import Context
    from truegraph.progress import console_progress

    source = task.source(cells[0].dataset, cells[0].conditions)
    threads = job.jobs if job.jobs and job.jobs > 0 else torch.get_num_threads()
    folder = job.cache or cache_folder() / "embeddings"
    results, seconds, notes = {}, {}, []
    with console_progress(not job.quiet) as progress:
        for cell in cells:
            context = Context(folder, source.fingerprint, threads=threads)
            began = time.perf_counter()
            results[cell.model] = _trials(task, cell, context, progress, job)
            seconds[cell.model] = round(time.perf_counter() - began, 3)
            if job.trials == 1:  # they are about single trials
                notes += [f"{cell.model}: {note}" for note in context.notes]
    return results, seconds, notes


def _trials(
    task: LinksTask, cell: Cell, context: Context, progress: Progress, job: LinkDatasetJob
) -> list[TrialResult]:
    progress.stage(cell.model)
    found = []
    for done, seed in enumerate(job.seeds, start=1):
        found += task.run(cell, [seed], context)
        progress.update(done, job.trials)
    return found


def _document(
    dataset: NodeDataset,
    results: dict[str, list[TrialResult]],
    seconds: dict[str, float],
    notes: list[str],
    job: LinkDatasetJob,
) -> dict[str, Any]:
    from truegraph.experiments.tasks.links import METRICS

    models = {
        model: {name: [trial.metrics[name] for trial in trials] for name in METRICS}
        for model, trials in results.items()
    }
    links = dataset.statistics()["edges"]
    assert isinstance(links, int)
    few = job.trials < _FEWEST_PAIRS and any(model in BAYESIAN for model in models)
    if few:
        notes = [
            *notes,
            f"{job.trials} splits are too few for a p-value below 0.05; "
            f"use --trials {_FEWEST_PAIRS} or more for a verdict",
        ]
    return {
        "dataset": dataset.name,
        "source": dataset.source,
        "fingerprint": dataset.fingerprint,
        "statistics": dataset.statistics(),
        "component": job.component,
        "hidden_links": {"validation": links // 20, "test": links // 10},
        "seeds": job.seeds,
        "options": job.options,
        "models": models,
        "comparisons": _comparisons(models),
        "learned_graphs": {
            model: [trial.details["filling"] for trial in trials]
            for model, trials in results.items()
            if model in BAYESIAN
        },
        "seconds": seconds,
        "notes": [*dataset.notes, *notes],
        "versions": {name: metadata.version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "peak_memory_mb": peak_memory_mb(),
        "out": None if job.out is None else str(job.out),
    }


def _comparisons(models: dict[str, Any]) -> dict[str, Any]:
    """Return how each Bayesian version differs from its base, by AUC and AP."""
    from truegraph.evaluation import paired_wilcoxon

    found: dict[str, Any] = {}
    for model in models:
        if model in BAYESIAN:
            base = model[1:]
            tests = {
                name: paired_wilcoxon(models[model][name], models[base][name])
                for name in ("auc", "ap")
            }
            found[model] = {
                "against": base,
                **{
                    name: {"mean_difference": test.mean_difference, "p_value": test.p_value}
                    for name, test in tests.items()
                },
            }
    return found


def _rows(document: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a table of mean ± standard deviation over trials, its heading first."""
    from truegraph.evaluation import mean_std
    from truegraph.experiments.tasks.links import METRICS

    heading = ["model", *(METRICS[name].heading for name in _SHOWN), "p (AUC)"]
    rows = [heading]
    for model, values in document["models"].items():
        row = [model]
        for name in _SHOWN:
            if None in values[name]:
                row.append("-")
                continue
            summary = mean_std(values[name])
            row.append(f"{100 * summary.mean:.1f} ± {100 * summary.std:.1f}")
        test = document["comparisons"].get(model)
        rows.append([*row, "" if test is None else f"{test['auc']['p_value']:.2g}"])
    return rows


def _write(folder: Path, document: dict[str, Any], rows: list[list[str]]) -> None:
    from truegraph.data.storage import write_json, write_text
    from truegraph.report.tables import markdown

    write_json(folder / "results.json", document)
    write_text(folder / "table.md", f"{_headline(document)}\n\n{markdown(rows)}")


def _print_summary(document: dict[str, Any], rows: list[list[str]], job: LinkDatasetJob) -> None:
    from truegraph.report.tables import plain

    typer.echo(_headline(document))
    typer.echo()
    typer.echo(plain(rows))
    facts = [("seconds", ", ".join(f"{name} {s:.1f}" for name, s in document["seconds"].items()))]
    facts += [("note", note) for note in document["notes"]]
    if job.out is not None:
        facts += [("written", str(job.out / name)) for name in ("results.json", "table.md")]
    print_rows(facts)


def _headline(document: dict[str, Any]) -> str:
    """Return what was done, and by how much Bayesian versions differ from their bases."""
    count = len(document["seeds"])
    hidden = document["hidden_links"]["test"]
    text = (
        f"{document['dataset'].capitalize()}, {count} random split{'' if count == 1 else 's'}, "
        f"each with {hidden:,} hidden links and as many other pairs to tell apart."
    )
    for name, test in document["comparisons"].items():
        points = 100 * test["auc"]["mean_difference"]
        side = "above" if points >= 0 else "below"
        text += f" {name} is {abs(points):.2f} points of AUC {side} {test['against']}"
        text += f" (p = {test['auc']['p_value']:.2g})."
    return text
