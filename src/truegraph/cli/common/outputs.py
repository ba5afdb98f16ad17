"""Where results go: checks before the work begins, and what is printed after it."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.errors import AnswerWarning, ConvergenceWarning, InputError, InputWarning

if TYPE_CHECKING:
    from truegraph.learning import LearnedGraph
    from truegraph.report.page import Page

GRAPH_ENDINGS = (".npz", ".csv", ".parquet", ".graphml")
PICTURE_ENDINGS = (".png", ".svg", ".pdf")


def check_target(option: str, path: Path | None, endings: Sequence[str], source: str) -> None:
    """Raise an InputError unless `path` can be written later.

    Parameters
    ----------
    option : str
        Name of the option that gave the path, for messages.
    path : Path or None
        None if no file is wanted.
    endings : sequence of str
        Endings that can be written.
    source : str
        INPUT of the command, which must not be overwritten.
    """
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise InputError(
            f"{option} {path}: cannot write {path.suffix or 'a file without an ending'}; "
            f"let the name end in {_alternatives(endings)}."
        )
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file in it.")
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise InputError(f"{option} {path} would overwrite INPUT; choose another name.")
    _check_folder(option, path)


def _alternatives(endings: Sequence[str]) -> str:
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


def check_escape(wanted: bool, out: Path | None) -> None:
    """Raise an InputError if formulas are to be escaped in a file that has none."""
    if wanted and (out is None or out.suffix.lower() != ".csv"):
        raise InputError(
            f"--escape-formulas is for .csv files, but --out is {out or 'missing'}; remove it, or "
            "let the name end in .csv."
        )


def check_target_folder(option: str, folder: Path | None) -> None:
    """Raise an InputError unless files can be written to `folder` later; None passes."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {folder} is a file; give the name of a folder.")
    _check_folder(option, folder / "results.json")


def _check_folder(option: str, path: Path) -> None:
    """Try to write where the file will be, or where its missing folders will be made."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path}: cannot write to {folder} ({error.strerror}); "
            "choose a folder that you may write to."
        ) from error


def report_target(report: Path | None, out: Path) -> Path | None:
    """Return where the page goes: --report, or beside `out`; None for --report none."""
    if report is not None and str(report).lower() == "none":
        return None
    page = out.with_suffix(".html") if report is None else report
    check_target("--report", page, (".html",), str(out))
    return page


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Yield a list that collects the warnings meant for users; they are shown as well."""
    heard: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def record(message: Any, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, InputWarning | AnswerWarning | ConvergenceWarning):
                heard.append(str(message))
            show(message, category, *more, **named)

        warnings.showwarning = record
        for category in (InputWarning, AnswerWarning, ConvergenceWarning):
            warnings.simplefilter("always", category)
        yield heard


def write_learned(graph: LearnedGraph, names: Any, path: Path, *, escape: bool) -> None:
    """Write a learned graph: .npz with its certificate, .csv or .graphml with the nodes' names."""
    from truegraph.data.graphs.graph_files import write_graph

    if path.suffix.lower() == ".npz":
        graph.save(path)
    else:
        write_graph(path, graph.adjacency, names, escape=escape)


def write_page(page: Page, path: Path) -> None:
    """Write a page of results."""
    from truegraph.data.storage import write_text

    write_text(path, page.render())


def announce(text: str) -> None:
    """Print at once to standard error what is about to happen, before anything slow."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Print facts under each other, their names in a column of their own."""
    width = max(len(name) for name, _ in rows)
    for name, fact in rows:
        typer.echo(f"  {name:<{width}}  {fact}")
