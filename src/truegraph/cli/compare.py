"""``truegraph compare``: which model is best, over several splits of a data set or of own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli import options as cli
from truegraph.cli.options import INPUT, MODEL, OUTPUT, RUNNING, option
from truegraph.cli.output import (
    Output,
    announce,
    check_target_folder,
    compilation_note,
    print_json,
    print_rows,
    print_table,
)
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.comparison import Comparison

_OWN = {  # options of each task; the first file is needed
    "classify": ("labels", "edges", "features", "per_class", "split", "groups"),
    "links": ("edges", "features"),
    "recommend": ("interactions", "split", "time"),
}
_PRINTED = {  # of the metrics, all of which are in the files
    "classify": ["accuracy", "macro_f1", "negative_log_likelihood", "expected_calibration_error"],
    "links": ["auc", "ap", "hits_50", "mrr", "expected_calibration_error"],
    "recommend": ["recall@20", "ndcg@20", "hit@20", "coverage@20"],
}


def compare(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="classify, links or recommend.", rich_help_panel=INPUT),
    ],
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET",
            help="Name of a data set (see: truegraph data list); leave it out to use files.",
            show_default=False,
            rich_help_panel=INPUT,
        ),
    ] = None,
    edges: cli.Edges = None,
    features: cli.Features = None,
    labels: cli.Labels = None,
    columns: cli.Columns = None,
    id_column: cli.IdColumn = None,
    ends: cli.Ends = None,
    interactions: cli.InteractionFile = None,
    user: cli.User = None,
    item: cli.Item = None,
    rating: cli.Rating = None,
    time: cli.Time = None,
    models: Annotated[
        str | None,
        option(
            MODEL,
            "Models by name; a wrong name gets the list of all.",
            metavar="NAME,...",
            show_default="gcn,bgcn,auto; vgae,bvgae,auto; ease,auto",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            MODEL,
            "An option of a model by its name in Python, such as bgcn.degree=10; can be repeated.",
            "--option",
            metavar="MODEL.NAME=VALUE",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        option(MODEL, "Splits to fit on.", min=1, show_default="10; of recommend 3"),
    ] = None,
    per_class: Annotated[
        int | None,
        option(MODEL, "classify: training labels of each class.", min=1, show_default="5"),
    ] = None,
    split: Annotated[
        str | None,
        option(
            MODEL,
            "classify: random or the published one (fixed); recommend: random or by time.",
            metavar="random|fixed|time",
            show_default="random; with --time by time",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        option(
            MODEL,
            "classify: column of the features; nodes with the same value, such as the visits of "
            "one patient, are never split between training and test.",
            metavar="COLUMN",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Folder of trials, tables and page.",
            metavar="FOLDER",
            show_default="runs/compare-TASK-DATASET",
        ),
    ] = None,
    as_json: cli.Json = False,
    seed: cli.Seed = 0,
    jobs: Annotated[
        int | None,
        option(RUNNING, "Trials to run at once.", metavar="N", min=1, show_default="all cores"),
    ] = None,
    cluster: Annotated[
        str | None,
        option(
            RUNNING, "Run on the Dask cluster of this scheduler: tcp://HOST:PORT.", metavar="URL"
        ),
    ] = None,
    quiet: cli.Quiet = False,
) -> None:
    """Compare models on the same random splits of a data set or of your own files.

    Prints a table of means, and names a winner only if it is significantly better than every other
    model. Finished trials are kept: the same command goes on after an interruption, and tries
    again what failed.
    """
    cli.choice("TASK", task, tuple(_OWN))
    files = {"edges": edges, "features": features, "labels": labels, "interactions": interactions}
    own = {"per_class": per_class, "split": split, "groups": groups}
    _check_belongs(task, files | own | {"time": time})
    name = _name(task, dataset, files)
    folder = out or Path("runs") / f"compare-{task}-{name}"
    check_target_folder("--out", folder)
    if time is not None and split is None:
        own["split"] = "time"
    output = Output(as_json=as_json, quiet=quiet)
    output.say(f"Comparing on {name}; trials go to {folder}.", *compilation_note(40))
    data: Any = name
    if dataset is None and interactions is not None:
        data = cli.read_interactions(interactions, user, item, rating, time)
    elif dataset is None:
        data = cli.read_nodes(files, cli.reading(columns, None, id_column, ends, None), output)
    chosen: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    if groups is not None:
        chosen["groups"] = _groups(features, groups)
    from truegraph import comparison

    try:
        found = comparison.compare(
            task,
            data,
            None if models is None else [word.strip() for word in models.split(",")],
            trials=trials,
            seed=seed,
            options=_options(settings),
            **chosen,
            out=folder,
            workers=jobs,
            cluster=cluster,
            retry_failed=True,
            progress=not quiet,
        )
    except KeyboardInterrupt:
        announce(f"Finished trials are kept in {folder}. Run the same command to continue.")
        raise typer.Exit(130) from None
    written = _write(found, folder)
    if as_json:
        print_json(found.to_dict() | {"out": str(folder)})
    elif not quiet:
        _print_summary(found, folder, written)
    if found.outcome.failed:
        raise typer.Exit(1)


def _check_belongs(task: str, given: Mapping[str, Any]) -> None:
    """Raise an InputError for an option of another task."""
    for name, value in given.items():
        if value is not None and name not in _OWN[task]:
            shown = f"--{name.replace('_', '-')}"
            raise InputError(f"{shown} is not an option of compare {task}; remove it.")


def _name(task: str, dataset: str | None, files: Mapping[str, Path | None]) -> str:
    """Return the name of the data set, or that of the file which stands for one's own."""
    given = [f"--{key}" for key, path in files.items() if path is not None]
    if dataset is not None and given:
        raise InputError(
            f"DATASET {dataset!r} and {' and '.join(given)} are given; use one or the other."
        )
    if dataset is not None:
        return dataset.lower()
    needed = _OWN[task][0]
    path = files[needed]
    if path is None:
        example = "planted" if task == "recommend" else "cora"
        raise InputError(
            f"there is nothing to compare on; name a data set, such as {example}, or give your own "
            f"files with --{needed}."
        )
    return path.stem


def _groups(features: Path | None, column: str) -> list[str]:
    """Return the value of a column of the features file for every node."""
    if features is None:
        raise InputError(f"--groups {column} is a column of the features; give --features.")
    from truegraph.data.tables import open_table

    table = open_table(features)
    if column not in table.names:
        raise InputError(f"--groups {column}: {features} has the columns {', '.join(table.names)}.")
    place = table.names.index(column)
    return [str(value) for value in table.columns([place])[place]]


def _options(texts: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    """Return the options of each model that --option gives."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        model, dot, rest = text.partition(".")
        if not dot or "=" in model:
            raise InputError(f"--option {text!r} must be MODEL.NAME=VALUE, such as bgcn.degree=10.")
        found.setdefault(model.strip(), []).append(rest)
    return {model: cli.settings(own) for model, own in found.items()}


def _write(found: Comparison, folder: Path) -> list[str]:
    """Write tables, pictures and the page, and return the names of the files."""
    from truegraph.data.storage import write_json, write_text
    from truegraph.report.comparison import comparison_page, figures
    from truegraph.report.plots import save_figure

    found.to_csv(folder)
    write_json(folder / "results.json", found.to_dict())
    drawn = figures(found)
    for name, figure in drawn.items():
        save_figure(figure, folder / f"{name}.png")
    write_text(folder / "report.html", comparison_page(found).render())
    return ["report.html", "table.csv", "trials.csv", *(f"{name}.png" for name in drawn)]


def _print_summary(found: Comparison, folder: Path, files: Sequence[str]) -> None:
    from truegraph.report.comparison import metrics_rows
    from truegraph.wording import alike_once, counted

    outcome = found.outcome
    print_table(metrics_rows(found, _PRINTED[found.task]))
    typer.echo(f"{found.conclusion}\n")
    trials = f"{len(outcome.done):,} of {counted(outcome.wanted, 'trial')} done"
    rows = [("trials", f"{trials}, {outcome.run:,} just now in {outcome.seconds:.0f} s")]
    rows += [("note", note) for note in alike_once(found.notes)]
    print_rows([*rows, ("written", f"{', '.join(files)} in {folder}")])
    for record in outcome.failed:
        announce(f"failed: {record['model']}, seed {record['seed']}: {record['error']}")
