"""The files of a comparison: tables, every value as JSON, pictures and a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from truegraph.data.storage import write_json, write_text
from truegraph.report.document import comparison_document, headline
from truegraph.report.page import Page, Picture
from truegraph.report.plots import save_figure
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run
from truegraph.report.summary import write_tables


def write_comparison(run: Run, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Write the results of a comparison into its folder.

    Parameters
    ----------
    run : Run
    chosen : mapping
        What the user chose, for the document.

    Returns
    -------
    document : dict
        The content of results.json, see `comparison_document`.
    """
    document = comparison_document(run) | dict(chosen)
    write_tables(run.folder, run.records, run.experiment)
    page = replace(run_page([run]), summary=headline(document))
    pictures = _draw(page, run.folder)
    files = ["report.html", "results.json", "table.md", "table.csv", "trials.csv", *pictures]
    document |= {"out": str(run.folder), "files": files}
    write_json(run.folder / "results.json", document)
    write_text(run.folder / "report.html", page.render())
    return document


def _draw(page: Page, folder: Path) -> list[str]:
    """Write every picture of a page to a file of its own, and return their names."""
    names = []
    for part in page.parts:
        if isinstance(part, Picture):
            for number, panel in enumerate(part.panels, 1):
                words = re.sub(r"\(.*?\)", "", part.heading).lower()
                slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
                names.append(f"pictures/{slug}-{number}.png")
                save_figure(panel.figure, folder / names[-1])
    return names
