"""``truegraph links``: compare models on a named data set, or suggest links for one's own graph.

Usage is checked here; `links_dataset` and `links_files` do the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truegraph.cli.links_dataset import LinkDatasetJob, links_dataset
from truegraph.cli.links_files import LinkFilesJob, links_files
from truegraph.cli.outputs import check_target, check_target_folder
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.tasks.links.names import AUTO_ENCODERS, BAYESIAN, RIVALS

_BAYESIAN_OPTIONS = "--degree and --target are options of the Bayesian versions"


def links(
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="A data set's name (see: truegraph data list). Leave it out to use files.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help=f"{', '.join(AUTO_ENCODERS)}: each is run with its Bayesian version. For "
            f"comparison also {', '.join(RIVALS)}. With files one model, where a b in front, as "
            "in bvgae, means the Bayesian version. [default: vgae; with files bvgae]",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Splits to draw and train on. [default: 10]")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Seed; trial t uses seed + t.")
    ] = 0,
    component: Annotated[
        str | None,
        typer.Option(metavar="largest|full", help="Nodes of the data set. [default: largest]"),
    ] = None,
    degree: Annotated[
        float | None,
        typer.Option(help="Edges per node of the learned graph. [default: as the graph has]"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="combined|observed",
            help="Graph that the Bayesian version's decoder gives back. [default: combined]",
        ),
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your edges: source and target."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your features: the node's id, then numbers."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Links to suggest for your graph. [default: 100]")
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(
            help="Share of links among all unlinked pairs of your graph, which probabilities "
            "depend on. [default: as if as many were missing as are held out to calibrate]"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder for results.json and table.md; with files the .csv file for the links.",
        ),
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
    """Predict the missing links of a graph, and say how sure the answer is.

    With the name of a data set: hide links, compare models on finding them.
    With --edges: suggest the most probable missing links of your own graph.
    """
    _check_source(dataset, edges, features)
    names = _names(model or ("vgae" if dataset is not None else "bvgae"))
    options = _bayesian_options(degree, target)
    common: dict[str, Any] = {
        "seed": seed,
        "options": options,
        "cache": cache,
        "jobs": jobs,
        "as_json": as_json,
        "quiet": quiet,
    }
    if dataset is not None:
        _check_unused({"--top": top, "--prior": prior}, "a data set's name. Leave it out.")
        check_target_folder("--out", out)
        chosen = _with_versions(names)
        _check_used(options, chosen)
        which = _component(component)
        job = LinkDatasetJob(dataset, chosen, trials or 10, component=which, out=out, **common)
        links_dataset(job)
        return
    _check_unused({"--trials": trials, "--component": component}, "files. Leave it out.")
    assert edges is not None  # _check_source
    _check_used(options, names)
    files = _check_files(names, edges, features, out, prior)
    links_files(LinkFilesJob(edges, features, names[0], top or 100, prior, files, **common))


def _check_source(dataset: str | None, edges: Path | None, features: Path | None) -> None:
    given = [f"--{n}" for n, path in (("edges", edges), ("features", features)) if path is not None]
    if dataset is not None and given:
        raise InputError(
            f"DATASET {dataset!r} and {' and '.join(given)} are given. Give one or the other."
        )
    if dataset is None and edges is None:
        raise InputError(
            "nothing to learn from: give the name of a data set, such as cora, or a file with "
            "--edges."
        )


def _names(text: str) -> list[str]:
    known = (*AUTO_ENCODERS, *BAYESIAN, *RIVALS)
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise InputError(f"--model: no model is called {name!r}.{suggestion(name, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"--model {text} names a model twice. Name each once.")
    return names


def _with_versions(names: list[str]) -> list[str]:
    """Return every auto-encoder followed by its Bayesian version, and the rivals."""
    chosen: list[str] = []
    for name in names:
        base = name[1:] if name in BAYESIAN else name
        chosen += [name] if name in RIVALS else [base, f"b{base}"]
    return list(dict.fromkeys(chosen))


def _bayesian_options(degree: float | None, target: str | None) -> dict[str, Any]:
    if degree is not None and not 0 < degree < float("inf"):
        raise InputError(f"--degree {degree} must be a finite number above 0.")
    if target is not None and target not in ("combined", "observed"):
        raise InputError(f"--target {target!r} must be one of combined, observed.")
    chosen = {"degree": degree, "target": target}
    return {option: value for option, value in chosen.items() if value is not None}


def _check_used(options: dict[str, Any], names: list[str]) -> None:
    if options and not set(names) & set(BAYESIAN):
        raise InputError(
            f"{_BAYESIAN_OPTIONS}, but there is none in --model {','.join(names)}. Leave them out."
        )


def _component(component: str | None) -> str:
    if component not in (None, "largest", "full"):
        raise InputError(f"--component {component!r} must be one of largest, full.")
    return component or "largest"


def _check_unused(options: dict[str, Any], where: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} {value} does not go with {where}")


def _check_files(
    names: list[str],
    edges: Path,
    features: Path | None,
    out: Path | None,
    prior: float | None,
) -> Path:
    if len(names) > 1 or names[0] in RIVALS:
        raise InputError(
            f"--model {','.join(names)}: links of files are suggested by one auto-encoder. Name "
            "one, such as bvgae."
        )
    if prior is not None and not 0.0 < prior < 1.0:
        raise InputError(f"--prior {prior} must lie between 0 and 1.")
    if out is None:
        raise InputError("--out is missing. Name the .csv file for the links.")
    for path in (edges, features):
        if path is not None:
            check_target("--out", out, (".csv",), str(path))
    return out
