"""``truegraph compare``: which model is best, over several splits of a data set or of one's files.

A comparison is an experiment of its own: it has the store, the tables and the page of
``truegraph reproduce``, and the same command continues it where it was stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.options import INPUT, MODEL, OUTPUT, option
from truegraph.cli.common.outputs import announce, check_target_folder, print_json, print_rows
from truegraph.cli.common.table_options import NodeFiles
from truegraph.errors import InputError
from truegraph.tasks.classify.names import GRAPH_LEARNERS
from truegraph.tasks.classify.names import MODELS as CLASSIFIERS
from truegraph.tasks.links.names import BAYESIAN as BAYESIAN_LINKS
from truegraph.tasks.links.names import MODELS as LINK_PREDICTORS
from truegraph.tasks.recommend.names import BAYESIAN as BAYESIAN_RECOMMENDERS
from truegraph.tasks.recommend.names import CLOSED_FORM
from truegraph.tasks.recommend.names import MODELS as RECOMMENDERS

if TYPE_CHECKING:
    from truegraph.experiments import Experiment
    from truegraph.experiments.runner import RunSummary
    from truegraph.report.runs import Run

compare_commands = typer.Typer(
    no_args_is_help=True,
    help="Compare models over several splits, on a data set or on your own files.",
)


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """What the comparisons have in common: what is compared on, and how it is run and shown."""

    dataset: str | None = typer.Argument(
        None,
        metavar="DATASET",
        help="Name of a data set (see: truegraph data list); leave it out to use files.",
        show_default=False,
        rich_help_panel=INPUT,
    )
    models: str
    trials: int = option(MODEL, "Splits to draw and train on.", value=10, least=1)
    seed: int = cli.seed_option("Seed; trial t uses seed + t.")
    out: Path | None = option(
        OUTPUT,
        "Folder of trials, tables, pictures and report.html.",
        metavar="FOLDER",
        default="runs/compare-TASK-DATASET",
    )
    as_json: bool = cli.JSON
    cache: Path | None = cli.CACHE
    jobs: int | None = cli.PROCESSES
    retry_failed: bool = cli.RETRY_FAILED
    quiet: bool = cli.QUIET


def _models(text: str, value: str) -> Any:
    return option(MODEL, text, metavar="NAME,...", value=value)


@dataclass(frozen=True, kw_only=True)
class _Classify(_Comparison, NodeFiles):
    labels: Path | None = cli.LABELS
    component: str = option(INPUT, "Nodes to use.", metavar="full|largest", value="full")
    models: str = _models(
        f"Models, the first one to compare with: {', '.join(CLASSIFIERS)}.", "gcn,bgcn,auto"
    )
    per_class: int = option(MODEL, "Training labels per class.", value=5, least=1)
    split: str = option(
        MODEL, "random, or the published split (fixed).", metavar="random|fixed", value="random"
    )
    degree: float | None = cli.DEGREE
    samples: int | None = cli.SAMPLES


@compare_commands.command(
    epilog="Example: truegraph compare classify cora --per-class 5 --models gcn,bgcn,auto"
)
@cli.takes(_Classify)
def classify(asked: _Classify) -> None:
    """Compare node classifiers on test nodes: accuracy and calibration."""
    files = {"edges": asked.edges, "features": asked.features, "labels": asked.labels}
    name = _dataset(asked.dataset, files, "labels", "cora")
    if asked.dataset is None and asked.edges is None and asked.features is None:
        raise InputError("--labels alone is not enough; add --edges, --features or both.")
    names = cli.model_names(asked.models, CLASSIFIERS)
    chosen = cli.classifier_options(names, asked.degree, asked.samples)
    # One embedding serves all trials: it sees no labels, and is most of the cost of a trial.
    learning = chosen | {"embedding_seed": asked.seed}
    from truegraph.evaluation import METRICS

    content = {
        "task": "classification",
        "metrics": list(METRICS),
        "labels": asked.per_class,
        "split": cli.choice("--split", asked.split, ("random", "fixed")),
        "component": cli.choice("--component", asked.component, ("full", "largest")),
        "models": [_entry(model, learning if model in GRAPH_LEARNERS else {}) for model in names],
        "keep": ["graph"],
    }
    _compare("classify", name, files, content, {"options": chosen}, asked)


@dataclass(frozen=True, kw_only=True)
class _Links(_Comparison, NodeFiles):
    component: str = option(INPUT, "Nodes to use.", metavar="full|largest", value="largest")
    models: str = _models(
        f"Models: {', '.join(LINK_PREDICTORS)}. A b in front, as in bvgae, means the Bayesian "
        "version.",
        "vgae,bvgae",
    )
    degree: float | None = cli.DEGREE
    decoder_target: str | None = cli.DECODER_TARGET


@compare_commands.command(epilog="Example: truegraph compare links cora --models vgae,bvgae")
@cli.takes(_Links)
def links(asked: _Links) -> None:
    """Compare link predictors on hidden links: ranking and calibration."""
    files = {"edges": asked.edges, "features": asked.features}
    name = _dataset(asked.dataset, files, "edges", "cora")
    names = cli.model_names(asked.models, LINK_PREDICTORS)
    chosen = cli.link_options(names, asked.degree, asked.decoder_target)
    content = {
        "task": "links",
        "component": cli.choice("--component", asked.component, ("full", "largest")),
        "models": [_entry(model, chosen if model in BAYESIAN_LINKS else {}) for model in names],
        "metrics": ["auc", "ap", "hits_50", "mrr", "expected_calibration_error"],
    }
    _compare("links", name, files, content, {"options": chosen}, asked)


@dataclass(frozen=True, kw_only=True)
class _Recommend(_Comparison, cli.InteractionFile):
    models: str = _models(
        f"Models, the first one to compare with: {', '.join(RECOMMENDERS)}. A b in front, as in "
        "bngcf, means the Bayesian version.",
        "ngcf,bngcf",
    )
    trials: int = option(MODEL, "Splits to draw and train on.", value=1, least=1)
    mask: str = option(
        MODEL,
        "Interactions excluded as candidates in the test.",
        metavar="train|train+validation",
        value="train",
    )
    fractions: str | None = cli.FRACTIONS
    epochs: int | None = cli.EPOCHS


@compare_commands.command(
    epilog="Example: truegraph compare recommend planted --models ease,refined"
)
@cli.takes(_Recommend)
def recommend(asked: _Recommend) -> None:
    """Compare recommenders on held-out interactions: recall, NDCG and coverage."""
    files: dict[str, Any] = {entry.name: getattr(asked, entry.name) for entry in _FILE}
    files |= {name: None for name in ("min_per_user", "min_per_item") if files[name] == 1}
    name = _dataset(asked.dataset, files, "interactions", "planted")
    cli.check_ratings(asked.rating, asked.min_rating)
    names = cli.model_names(asked.models, RECOMMENDERS)
    settings, bayesian = cli.recommender_options(names, asked.epochs, asked.fractions)
    own = {model: bayesian if model in BAYESIAN_RECOMMENDERS else settings for model in names}
    content = {
        "task": "recommendation",
        "split": "random" if asked.time is None else "time",
        "mask": cli.choice("--mask", asked.mask, ("train", "train+validation")),
        "models": [_entry(model, {} if model in CLOSED_FORM else own[model]) for model in names],
        "metrics": [*_AT_TWENTY, "recall@10", "ndcg_ngcf@10", "coverage@20"],
        "keep": ["users"],
    }
    _compare("recommend", name, files, content, {"settings": settings}, asked)


_FILE = fields(cli.InteractionFile)
_AT_TWENTY = ("recall@20", "ndcg_ngcf@20", "ndcg@20")


def _entry(model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": model, **settings}


def _dataset(dataset: str | None, files: Mapping[str, Any], needed: str, example: str) -> str:
    """Return the name of the data set, or that of the file which stands for one's own."""
    given = [f"--{key.replace('_', '-')}" for key, value in files.items() if value is not None]
    if dataset is not None and given:
        raise InputError(
            f"DATASET {dataset!r} and {' and '.join(given)} are given; use one or the other."
        )
    if dataset is not None:
        return dataset.lower()
    if files[needed] is None:
        raise InputError(
            f"there is nothing to compare on; name a data set, such as {example}, or give your own "
            f"files with --{needed}."
        )
    return Path(files[needed]).name


def _compare(
    verb: str,
    name: str,
    files: Mapping[str, Any],
    content: Mapping[str, Any],
    chosen: Mapping[str, Any],
    running: _Comparison,
) -> None:
    """Run the experiment of a comparison, then write and show what its trials came to."""
    models = [entry["name"] for entry in content["models"]]
    folder = running.out or Path("runs") / f"compare-{verb}-{name}"
    check_target_folder("--out", folder)
    if not running.quiet:
        announce(f"Comparing {', '.join(models)} on {name}; trials go to {folder}.")
    from truegraph.cli.common.running import run_stored
    from truegraph.experiments import Experiment

    own = {key: _plain(value) for key, value in files.items() if value is not None}
    about = {
        "name": f"compare-{verb}-{name}",
        "title": f"{_TITLES[verb]} on {name}: {', '.join(models)}",
        "datasets": [name],
        "trials": running.trials,
        "seed": running.seed,
    }
    if own:
        about["files"] = {name: own}
    experiment = Experiment.from_dict({**about, **content})
    summary = run_stored(
        experiment,
        folder,
        running.quiet,
        jobs=running.jobs,
        cache=running.cache,
        retry_failed=running.retry_failed,
    )
    _show(experiment, folder, summary, chosen, running)
    if summary.failed:
        raise typer.Exit(1)


_TITLES = {
    "classify": "Node classification",
    "links": "Link prediction",
    "recommend": "Recommendation",
}


def _plain(value: Any) -> Any:
    return str(value.absolute()) if isinstance(value, Path) else value


def _show(
    experiment: Experiment,
    folder: Path,
    summary: RunSummary,
    chosen: Mapping[str, Any],
    running: _Comparison,
) -> None:
    from truegraph.report.compared import write_comparison
    from truegraph.report.runs import Run

    run = Run.read(folder).only(experiment.seeds)
    document = write_comparison(run, chosen)
    if running.as_json:
        print_json(document)
    elif not running.quiet:
        _print_summary(run, document, summary)


def _print_summary(run: Run, document: Mapping[str, Any], summary: RunSummary) -> None:
    from truegraph.cli.common.running import print_table, print_trials
    from truegraph.report.document import headline
    from truegraph.report.summary import metrics_table
    from truegraph.wording import alike_once

    typer.echo(f"\n{headline(document)}\n")
    if run.cells:
        table = metrics_table(run.cells, run.experiment)
        print_table([row[1:] for row in table.rows])  # there is one data set
    print_trials(run.folder, summary, run.records)
    rows = [("seconds", _seconds(document["seconds"]))]
    rows += [("note", note) for note in alike_once(document["notes"])]
    print_rows([*rows, ("page", str(run.folder / "report.html"))])


def _seconds(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
