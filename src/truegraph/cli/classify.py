"""``truegraph classify``: compare models on a named data set, or label nodes of one's own files.

Usage is checked here; `classify_dataset` and `classify_files` do the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truegraph.cli.classify_dataset import DatasetJob, classify_dataset
from truegraph.cli.classify_files import FilesJob, classify_files
from truegraph.cli.outputs import GRAPH_ENDINGS, check_target, check_target_folder
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS

RECOMMENDED = "auto"  # for one's own files


def classify(
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="A data set's name (see: truegraph data list). Leave it out to use files.",
            show_default=False,
        ),
    ] = None,
    per_class: Annotated[
        int | None, typer.Option(min=1, help="Labels per class for training. [default: 5]")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Splits to draw and train on. [default: 10]")
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help=f"Models, the first one to compare with: {', '.join(MODELS)}. "
            "[default: gcn,bgcn; with files auto]",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Seed; trial t uses seed + t.")
    ] = 0,
    split: Annotated[
        str | None,
        typer.Option(metavar="random|fixed", help="fixed: the published split. [default: random]"),
    ] = None,
    component: Annotated[
        str | None,
        typer.Option(metavar="full|largest", help="Nodes of the data set. [default: full]"),
    ] = None,
    degree: Annotated[
        float | None,
        typer.Option(help="Edges per node of the learned graph. [default: 100, less if small]"),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Weight samples. [default: bgcn 60, refined and fast 20]"),
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your edges: source, target and perhaps weight."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your features: the node's id, then numbers."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your labels, of some nodes: node and label."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder for results, pictures and report.html; with files the .csv file "
            "for the predictions.",
        ),
    ] = None,
    graph_out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With files: write the learned graph, .csv, ..."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Embeddings made before. [default: user's cache]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Threads, -1 for all cores; never changes the result.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a summary.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress and no summary; --json still prints.")
    ] = False,
) -> None:
    """Classify nodes from a few labels, and say how sure the answer is.

    With the name of a data set: train on several splits, compare models on the test nodes.
    With --labels and --edges, --features or both: label the rest of your own nodes.
    """
    files = {"--edges": edges, "--features": features, "--labels": labels}
    _check_source(dataset, files)
    names = _model_names(models, "gcn,bgcn" if dataset is not None else RECOMMENDED)
    options = _bayesian_options(names, degree, samples)
    common: dict[str, Any] = {
        "seed": seed,
        "options": options,
        "cache": cache,
        "jobs": jobs,
        "as_json": as_json,
        "quiet": quiet,
    }
    if dataset is not None:
        _check_unused({"--graph-out": graph_out}, "a data set's name. Leave it out.")
        check_target_folder("--out", out)
        classify_dataset(
            DatasetJob(
                name=dataset,
                models=names,
                per_class=per_class or 5,
                trials=trials or 10,
                split=_one_of("--split", split, ("random", "fixed")),
                component=_one_of("--component", component, ("full", "largest")),
                out=out,
                **common,
            )
        )
        return
    of_datasets = {"--per-class": per_class, "--trials": trials, "--split": split}
    _check_unused(
        of_datasets | {"--component": component},
        "files: all your labels are trained on. Leave it out.",
    )
    assert labels is not None  # _check_source
    target = _check_files(files, names, out, graph_out)
    classify_files(
        FilesJob(
            edges=edges,
            features=features,
            labels=labels,
            model=None if models is None else names[0],
            out=target,
            graph_out=graph_out,
            **common,
        )
    )


def _check_source(dataset: str | None, files: dict[str, Path | None]) -> None:
    given = [option for option, path in files.items() if path is not None]
    if dataset is not None and given:
        raise InputError(
            f"DATASET {dataset!r} and {' and '.join(given)} are given. Give one or the other."
        )
    if dataset is None and files["--labels"] is None:
        raise InputError(
            "nothing to learn from: give the name of a data set, such as cora, or files with "
            "--labels and with --edges, --features or both."
        )
    if dataset is None and given == ["--labels"]:
        raise InputError("--labels alone says too little. Give --edges, --features or both too.")


def _model_names(text: str | None, default: str) -> list[str]:
    names = [name.strip().lower() for name in (text or default).split(",")]
    for name in names:
        if name not in MODELS:
            raise InputError(f"--models: no model is called {name!r}.{suggestion(name, MODELS)}")
    if len(set(names)) < len(names):
        raise InputError(f"--models {','.join(names)} names a model twice. Name each once.")
    return names


def _bayesian_options(
    names: list[str], degree: float | None, samples: int | None
) -> dict[str, Any]:
    chosen = {"degree": degree, "samples": samples}
    given = {option: value for option, value in chosen.items() if value is not None}
    if given and not set(GRAPH_LEARNERS) & set(names):
        raise InputError(
            f"--{next(iter(given))} is an option of bgcn, refined and fast, none of which is among "
            f"--models {','.join(names)}. Leave it out, or add one of them."
        )
    if degree is not None and not 0 < degree < float("inf"):
        raise InputError(f"--degree {degree} must be a finite number above 0.")
    return given


def _one_of(option: str, value: str | None, choices: tuple[str, ...]) -> str:
    if value is None:
        return choices[0]
    if value not in choices:
        raise InputError(f"{option} {value!r} must be one of {', '.join(choices)}.")
    return value


def _check_unused(options: dict[str, Any], where: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} {value} does not go with {where}")


def _check_files(
    files: dict[str, Path | None], names: list[str], out: Path | None, graph_out: Path | None
) -> Path:
    if len(names) > 1:
        raise InputError(
            f"--models {','.join(names)}: files are labelled by one model. Name one, such as "
            f"{RECOMMENDED}."
        )
    if out is None:
        raise InputError("--out is missing. Name the .csv file for the predictions.")
    if graph_out is not None and names[0] not in GRAPH_LEARNERS:
        raise InputError(
            f"--graph-out {graph_out}: {names[0]} learns no graph. Use refined or bgcn for it."
        )
    for path in files.values():
        if path is not None:
            check_target("--out", out, (".csv",), str(path))
            check_target("--graph-out", graph_out, GRAPH_ENDINGS, str(path))
    if graph_out is not None and out.absolute() == graph_out.absolute():
        raise InputError(f"--out and --graph-out are both {out}. Give two names.")
    return out
