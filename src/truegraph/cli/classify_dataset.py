"""``truegraph classify DATASET``: several models on the same splits of a named data set."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.outputs import print_json, print_rows
from truegraph.errors import InputError
from truegraph.memory import peak_memory_mb
from truegraph.tasks.classify.names import GRAPH_LEARNERS

if TYPE_CHECKING:
    from truegraph.data import NodeDataset, NodeSplit
    from truegraph.report.trials import ModelScores
    from truegraph.tasks.classify.results import TrialResults

_PACKAGES = ("truegraph", "torch", "numpy", "scipy", "numba")
_FEWEST_PAIRS = 6  # with fewer, a two-sided signed-rank test cannot fall below 0.05


@dataclass(frozen=True)
class DatasetJob:
    """What the command was asked for, after checking.

    Attributes
    ----------
    name : str
        Name of the data set.
    models : list of str
        The first one is what the others are compared with.
    per_class, trials, seed : int
    split : {"random", "fixed"}
    component : {"full", "largest"}
    options : dict
        Options of the models that learn a graph.
    out, cache : Path or None
        Folder of results, folder of embeddings.
    jobs : int or None
    as_json, quiet : bool
    """

    name: str
    models: list[str]
    per_class: int
    trials: int
    seed: int
    split: str
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


@dataclass(frozen=True, eq=False)
class Trials:
    """Everything the models did.

    Attributes
    ----------
    dataset : NodeDataset
    splits : list of NodeSplit
    results : list of TrialResults, one per model
    scores : list of ModelScores, one per model
    """

    dataset: NodeDataset
    splits: list[NodeSplit]
    results: list[TrialResults]
    scores: list[ModelScores]


def classify_dataset(job: DatasetJob) -> None:
    """Train every model on every split, then print and write what came of it."""
    from truegraph.data import load_dataset

    component = cast(Literal["full", "largest"], job.component)
    dataset = load_dataset(job.name, component=component)
    splits = _splits(dataset, job)
    trials = _run(dataset, splits, job)
    document = _document(trials, job)
    if job.out is not None:
        from truegraph.cli.classify_report import write_report

        document["files"] = write_report(job.out, trials, document)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(trials, document, job)


def _splits(dataset: NodeDataset, job: DatasetJob) -> list[NodeSplit]:
    from truegraph.data import fixed_split, random_split

    if dataset.n_classes < 2:
        raise InputError(f"data set {dataset.name!r} has no classes to tell apart.")
    if job.split == "fixed":
        return [fixed_split(dataset, job.per_class)] * job.trials
    return [random_split(dataset.labels, job.per_class, random_state=seed) for seed in job.seeds]


def _run(dataset: NodeDataset, splits: list[NodeSplit], job: DatasetJob) -> Trials:
    from truegraph.data.nodes.datasets import cache_folder
    from truegraph.progress import console_progress

    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    from truegraph.report.trials import ModelScores, score_trials
    from truegraph.tasks.classify.trials import run_trials
    from truegraph.threads import use_threads

    results, scores = [], []
    with use_threads(job.jobs), console_progress(not job.quiet) as progress:
        for model in job.models:
            found = run_trials(
                model,
                dataset.features,
                dataset.graph,
                dataset.labels,
                splits,
                job.seeds,
                options=_options(model, job),
                classes=dataset.n_classes,
                cache=job.cache or cache_folder() / "embeddings",
                progress=progress,
                keep_graphs=job.out is not None,
            )
            values = score_trials(dataset.labels, splits, found)
            results.append(found)
            scores.append(ModelScores(model, values, found.seconds["total"]))
    return Trials(dataset, splits, results, scores)


def _options(model: str, job: DatasetJob) -> dict[str, Any] | None:
    # One embedding serves all trials: it sees no labels, and is most of the cost of a trial.
    learns = model in GRAPH_LEARNERS
    return job.options | {"embedding_seed": job.seed} if learns else None


def _document(trials: Trials, job: DatasetJob) -> dict[str, Any]:
    from truegraph.report.trials import without_nan

    dataset = trials.dataset
    return {
        "dataset": dataset.name,
        "source": dataset.source,
        "fingerprint": dataset.fingerprint,
        "statistics": dataset.statistics(),
        "component": job.component,
        "split": job.split,
        "per_class": job.per_class,
        "test_nodes": len(trials.splits[0].test),
        "seeds": job.seeds,
        "options": job.options,
        "models": {
            model.name: {name: without_nan(values) for name, values in model.values.items()}
            for model in trials.scores
        },
        "comparisons": _comparisons(trials.scores),
        "seconds": {model.name: round(model.seconds, 3) for model in trials.scores},
        "stages": {found.model: found.seconds for found in trials.results},
        "learned_graphs": _learned_graphs(trials.results),
        "notes": _notes(trials, job),
        "versions": {name: metadata.version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "peak_memory_mb": peak_memory_mb(),
        "out": None if job.out is None else str(job.out),
        "files": [],
    }


def _comparisons(scores: Sequence[ModelScores]) -> dict[str, Any]:
    from truegraph.evaluation import paired_wilcoxon

    first, *others = scores
    tests = {
        model.name: paired_wilcoxon(model.values["accuracy"], first.values["accuracy"])
        for model in others
    }
    return {
        name: {
            "against": first.name,
            "metric": "accuracy",
            "mean_difference": test.mean_difference,
            "p_value": test.p_value,
        }
        for name, test in tests.items()
    }


def _learned_graphs(results: Sequence[TrialResults]) -> dict[str, Any]:
    """Return how the graphs of each trial came out, under the names of the models."""
    return {
        found.model: {
            "mean_degree": [certificate.degree for certificate in found.certificates],
            "relative_gap": [certificate.relative_gap for certificate in found.certificates],
            "converged": [certificate.converged for certificate in found.certificates],
        }
        for found in results
        if found.certificates is not None
    }


def _notes(trials: Trials, job: DatasetJob) -> list[str]:
    notes = list(trials.dataset.notes)
    for found in trials.results:
        notes += [f"{found.model}: {note}" for note in found.notes]
    sharing = [model for model in job.models if model in ("bgcn", "refined")]
    if sharing and job.trials > 1:
        notes.append(
            f"{' and '.join(sharing)}: all trials share the node embedding of seed {job.seed}, "
            "which sees no labels"
        )
    if len(job.models) > 1 and job.trials < _FEWEST_PAIRS:
        notes.append(
            f"{job.trials} splits are too few for a p-value below 0.05; "
            f"use --trials {_FEWEST_PAIRS} or more for a verdict"
        )
    return notes


def _print_summary(trials: Trials, document: dict[str, Any], job: DatasetJob) -> None:
    from truegraph.report.tables import plain
    from truegraph.report.trials import table

    typer.echo(headline(document))
    typer.echo()
    typer.echo(plain(table(trials.scores)))
    rows = [("seconds", ", ".join(f"{name} {s:.1f}" for name, s in document["seconds"].items()))]
    rows += [("note", note) for note in document["notes"]]
    if job.out is not None:
        rows += [("written", str(job.out / name)) for name in document["files"]]
    print_rows(rows)


def headline(document: dict[str, Any]) -> str:
    """Return what was done and, if models were compared, by how much their accuracies differ."""
    count = len(document["seeds"])
    plural = "" if count == 1 else "s"
    is_fixed = document["split"] == "fixed"
    runs = f"training{plural} on the fixed split" if is_fixed else f"random split{plural}"
    text = (
        f"{document['dataset'].capitalize()}, {document['per_class']} labels per class, "
        f"{count} {runs} with {document['test_nodes']:,} test nodes."
    )
    for name, test in document["comparisons"].items():
        points = 100 * test["mean_difference"]
        side = "above" if points >= 0 else "below"
        text += f" {name} is {abs(points):.1f} points of accuracy {side} {test['against']}"
        text += f" (p = {test['p_value']:.2g})."
    return text
