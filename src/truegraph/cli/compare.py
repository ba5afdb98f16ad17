"""``truegraph compare``: which model is best, over several splits of a data set or of own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli import options as cli
from truegraph.cli.output import (
    Output,
    announce,
    check_target_folder,
    compilation_note,
    print_json,
    print_rows,
    print_table,
    tell,
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
    task: str,
    dataset: str | None = None,
    edges: Path | None = None,
    features: Path | None = None,
    labels: Path | None = None,
    columns: str | None = None,
    id_column: str | None = None,
    ends: str | None = None,
    interactions: Path | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    models: str | None = None,
    given: list[str] | None = None,
    trials: int | None = None,
    per_class: int | None = None,
    split: str | None = None,
    groups: str | None = None,
    out: Path | None = None,
    as_json: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    cluster: str | None = None,
    quiet: bool = False,
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
        data = cli.read_nodes(output, files, cli.column_plan(columns, None, id_column), ends)
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
            options=_options(given),
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
    write_text(folder / "report.html", comparison_page(found))
    return ["report.html", "table.csv", "trials.csv", *(f"{name}.png" for name in drawn)]


def _print_summary(found: Comparison, folder: Path, files: Sequence[str]) -> None:
    from truegraph.report.comparison import metrics_rows
    from truegraph.wording import alike_once, counted

    outcome = found.outcome
    print_table(metrics_rows(found, _PRINTED[found.task]))
    tell(f"{found.conclusion}\n")
    trials = f"{len(outcome.done):,} of {counted(outcome.wanted, 'trial')} done"
    rows = [("trials", f"{trials}, {outcome.run:,} just now in {outcome.seconds:.0f} s")]
    rows += [("note", note) for note in alike_once(found.notes)]
    print_rows([*rows, ("written", f"{', '.join(files)} in {folder}")])
    for record in outcome.failed:
        announce(f"failed: {record['model']}, seed {record['seed']}: {record['error']}")
