"""The page of one answer from a user's own files: what came in, what came out, how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from truegraph.data.columns.wording import plan_rows
from truegraph.report.page import Facts, Notes, Page, Part
from truegraph.report.tables import Entry, Table
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data import ColumnPlan

_ROWS = 20


def answer_page(
    title: str,
    summary: str,
    *,
    came_in: Mapping[str, Any],
    learned: Mapping[str, Any],
    sure: Mapping[str, Any],
    look_at: Table | None = None,
    more: Iterable[Part] = (),
    plan: ColumnPlan | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Page:
    """Return the page of an answer.

    Parameters
    ----------
    title, summary : str
    came_in, learned, sure : mapping of str to anything
        Facts about the files, about what was learned, and about how sure it is; None is left out.
    look_at : Table, optional
        What deserves a look.
    more : iterable of Part
        What else there is to see, below it.
    plan : ColumnPlan, optional
        What became of the columns of a table.
    notes : sequence of str
        What was recognised and chosen.
    warnings : sequence of str
        What looks bad.
    """
    parts: list[Part] = []
    if warnings:
        rows: list[list[str]] = [["warning"], *([text] for text in warnings)]
        parts.append(Table("What looks bad", "Each with what to try.", rows, alarm=True))
    parts.append(Facts("What came in", _facts(came_in)))
    if plan is not None:
        parts.append(_plan_table(plan))
    if _facts(learned):
        parts.append(Facts("What was learned", _facts(learned)))
    if _facts(sure):
        parts.append(Facts("How sure", _facts(sure)))
    if look_at is not None:
        parts.append(look_at)
    parts += more
    if notes:
        parts.append(Notes("What was recognised and chosen", list(notes)))
    return Page(title, f"{summary} {_verdict(warnings)}", parts)


def _verdict(warnings: Sequence[str]) -> str:
    if not warnings:
        return "Nothing looks bad."
    return f"{counted(len(warnings), 'thing')} should be looked at first: see below."


def files_and_sizes(files: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts of what came in: files by what they hold, sizes, of classes only if any."""
    unclassed = () if sizes.get("classes") else ("classes", "unlabelled")
    named = {f"file of {what}": path for what, path in files.items()}
    return named | {what: size for what, size in sizes.items() if what not in unclassed}


def _facts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, _text(value)) for name, value in values.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _plan_table(plan: ColumnPlan) -> Table:
    found = plan_rows(plan)
    rows = [list(found[0]), *([_text(value) for value in row.values()] for row in found)]
    return Table("The columns", "What each column was taken for, and what became of it.", rows)


def table_of(heading: str, caption: str, frame: pd.DataFrame) -> Table:
    """Return the first rows of a DataFrame as a table of the page."""
    rows: list[list[Any]] = [[str(name) for name in frame.columns]]
    rows += [[_entry(value) for value in row] for row in frame.head(_ROWS).itertuples(index=False)]
    return Table(heading, caption, rows)


def _entry(value: Any) -> Entry:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return Entry(_text(value), float(value) if is_number else None)
