"""The short tables of RESULTS.md, filled from the trials under results/.

A short table stands between two comments, the first of which says what it shows: experiment,
metric, columns (data sets with the conditions that vary) and rows (labels, "paper:" before one for
what the paper prints; words to show instead after an equals sign)::

    <!-- digest table1 accuracy | cora labels 5; cora labels 20 | GCN; paper:GCN; BGCN (ours) = ours -->
    ...
    <!-- end digest -->

A single figure, there and in README.md and docs/, stands before a comment that says where it is
from: ``78.0<!--=beyond/auto/cora labels 5/accuracy-->``.
"""  # noqa: E501 - an example is one line

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from lab.experiment import Cell, load
from lab.store import trials_of
from lab.summary import Findings, markdown
from truegraph.data.storage import write_text
from truegraph.errors import InputError

DIGEST = re.compile(r"(<!-- digest (\S+) (\S+) \|(.*?)\|(.*?)-->\n).*?(<!-- end digest -->)", re.S)


FIGURE = re.compile(r"\d+\.\d+(\**<!--=([^/]+)/([^/]+)/([^/]+)/([^/]+?)-->)")


def refresh(root: Path) -> list[Path]:
    """Fill the documents that hold figures, and return those that changed."""
    _findings.cache_clear()
    changed = []
    for document in (
        root / "RESULTS.md",
        root / "README.md",
        *sorted((root / "docs").glob("*.md")),
    ):
        old = document.read_text(encoding="utf-8")
        if (new := refreshed(old)) != old:
            write_text(document, new)
            changed.append(document)
    return changed


def refreshed(text: str) -> str:
    """Return a document with its short tables and single figures made anew."""
    text = DIGEST.sub(lambda at: f"{at[1]}{digest(*at.groups()[1:5])}{at[6]}", text)
    return FIGURE.sub(lambda at: figure(*at.groups()[1:5]) + at[1], text)


def figure(experiment: str, label: str, column: str, metric: str) -> str:
    """Return the mean of a cell as it is shown."""
    findings = _findings(experiment)
    for cell in findings.cells:
        found = findings.summary(cell, metric)
        if (cell.label, findings.column(cell)) == (label, column) and found is not None:
            return findings.metrics[metric].shown(found.mean)
    raise InputError(f"a document asks for {label!r} on {column!r}, which {experiment} lacks.")


def digest(experiment: str, metric: str, columns: str, rows: str) -> str:
    """Return the table that a comment asks for, as Markdown."""
    findings = _findings(experiment)
    cells = {(cell.label, findings.column(cell)): cell for cell in findings.cells}
    wanted = [_named(column) for column in columns.split(";")]
    table = [[findings.metrics[metric].heading, *(words for _, words in wanted), "trials"]]
    for source, words in (_named(row) for row in rows.split(";")):
        label = source.removeprefix("paper:")
        if label not in {known for known, _ in cells}:
            raise InputError(f"a digest asks for {label!r}, which {experiment} does not have.")
        own = [cells.get((label, column)) for column, _ in wanted]
        is_paper = source != label
        texts = [_text(findings, cell, metric, is_paper) for cell in own]
        counts = {len(findings.values(cell, metric)) for cell in own if cell is not None} - {0}
        trials = "-" if is_paper or not counts else _range(counts)
        table.append([words, *texts, trials])
    return markdown(table)


def _range(counts: set[int]) -> str:
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _text(findings: Findings, cell: Cell | None, metric: str, is_paper: bool) -> str:
    if cell is None:
        return "-"
    found = findings.paper(cell, metric) if is_paper else findings.summary(cell, metric)
    return "-" if found is None else findings.metrics[metric].shown(found.mean)


def _named(text: str) -> tuple[str, str]:
    """Return what a column or row refers to, and the words to show for it."""
    source, _, words = (part.strip() for part in text.partition(" = "))
    return source, words or source


@cache
def _findings(experiment: str) -> Findings:
    known = load(experiment)
    return Findings(known, trials_of(known))
