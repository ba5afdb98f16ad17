"""``truegraph report``: one page of what the trials of a run show."""

from __future__ import annotations

from pathlib import Path

import typer

from truegraph.cli.common.options import INPUT, OUTPUT, option
from truegraph.cli.common.outputs import check_target


def report(
    runs: list[Path] = typer.Argument(
        ...,
        metavar="RUN",
        help="Folders of runs, as truegraph reproduce or compare wrote them.",
        rich_help_panel=INPUT,
    ),
    out: Path | None = option(
        OUTPUT, "Page to write.", metavar="FILE", default="report.html in the first folder"
    ),
) -> None:
    """Write one page about the trials of a run: tables, pictures and where they come from."""
    target = out or _folder(runs[0]) / "report.html"
    check_target("--out", target, (".html",), str(runs[0]))
    from truegraph.data.storage import write_text
    from truegraph.report.run_page import run_page
    from truegraph.report.runs import Run

    page = run_page([Run.read(folder) for folder in runs])
    write_text(target, page.render())
    typer.echo(f"{page.summary} Page: {target}")


def _folder(run: Path) -> Path:
    return run.parent if run.suffix == ".sqlite" else run
