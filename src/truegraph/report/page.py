"""A page of results that needs nothing but itself: tables, pictures and facts in one HTML file.

The page fetches nothing and lets nothing be fetched (its Content-Security-Policy forbids it), reads
well in light and dark and on a phone, and its tables sort by a click on a heading.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truegraph.report.plots.style import COLOURS
from truegraph.report.svg import inline_svg
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FIGURE = re.compile(r"[+−-]?[\d,]*\.?\d+(e[+-]?\d+)?( ?%)?( ± [\d.]+)?$")
_FIRST = 20  # rows of a DataFrame that a page shows


class Entry(str):
    """An entry of a table: its text, the value it is sorted by (None: its text), if it is bold."""

    value: float | None
    bold: bool

    def __new__(cls, text: str, value: float | None = None, bold: bool = False) -> Entry:
        """Return the text with what is known of it."""
        entry = super().__new__(cls, text)
        entry.value, entry.bold = value, bold
        return entry


Rows = Sequence[Sequence[str]]  # the headings first; the first column names the rows
Part = Mapping[str, Any]  # of a page: heading, kind and what the template shows of this kind


def table(heading: str, caption: str, rows: Rows, *, alarm: bool = False) -> Part:
    """Return a table; columns of words are told from those of figures."""
    cells = [[one if isinstance(one, Entry) else Entry(one) for one in row] for row in rows[1:]]
    columns = range(1, len(rows[0]))
    is_text = [True, *(not all(_is_figure(row[at]) for row in cells) for at in columns)]
    shown = {"caption": caption, "head": rows[0], "cells": cells, "is_text": is_text}
    return {"heading": heading, "kind": "table", "alarm": alarm, **shown}


def first_rows(heading: str, caption: str, frame: pd.DataFrame) -> Part:
    """Return the first rows of a DataFrame as a table."""
    rows: list[list[Any]] = [[str(name).replace("_", " ") for name in frame.columns]]
    rows += [[_value(one) for one in row] for row in frame.head(_FIRST).itertuples(index=False)]
    return table(heading, caption, rows)


def facts(heading: str, values: Mapping[str, Any]) -> Part:
    """Return names and values; those that are None are left out."""
    known = {name: _text(value) for name, value in values.items() if value is not None}
    return {"heading": heading, "kind": "facts", "facts": known}


def notes(heading: str, sentences: Sequence[str]) -> Part:
    """Return sentences, one below the other."""
    return {"heading": heading, "kind": "notes", "notes": list(sentences)}


def picture(heading: str, caption: str, figure: Figure, alternative: str) -> Part:
    """Return a figure, with what it shows in words for those who cannot see it."""
    shown = {"caption": caption, "figure": figure, "alternative": alternative}
    return {"heading": heading, "kind": "picture", **shown}


def embedded(heading: str, caption: str, html: str, script_hash: str) -> Part:
    """Return a whole page in a frame; the outer page allows its only script by `script_hash`."""
    shown = {"caption": caption, "html": html, "script_hash": script_hash}
    return {"heading": heading, "kind": "embedded", **shown}


def _is_figure(text: str) -> bool:
    return text in ("", "-") or _FIGURE.match(text) is not None


def _value(value: Any) -> Entry:
    is_number = isinstance(value, float | int) and not isinstance(value, bool) and value == value
    return Entry(_text(value), float(value) if is_number else None)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if value == value else "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def page_html(title: str, summary: str, parts: Sequence[Part] = ()) -> str:
    """Return a page of parts in the order given as HTML; every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("truegraph.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = environment.get_template("page.js").render()
    style = environment.get_template("page.css").render(colours=COLOURS)
    inner = {part["script_hash"] for part in parts if part["kind"] == "embedded"}
    return environment.get_template("page.html").render(
        title=title,
        summary=summary,
        parts=parts,
        svg=lambda part, name: Markup(inline_svg(part["figure"], part["alternative"], name)),
        style=Markup(style),
        script=Markup(script),
        script_hashes=[script_hash(script), *sorted(inner)],
    )


def script_hash(script: str) -> str:
    """Return what a Content-Security-Policy names a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


# --- answers --------------------------------------------------------------------------------------


def answer_page(
    title: str,
    headline: str,
    document: Mapping[str, Any],
    answer: Mapping[str, str],
    learned: Mapping[str, Any],
    parts: Sequence[Part],
    *,
    plan: Any = None,
    warnings: Sequence[str] = (),
) -> str:
    """Return the page of an answer to a user's own files, as HTML.

    `answer` says how good it is likely to be, `learned` gives facts about what was learned, and
    `parts` deserve a look; empty texts and None are left out.
    """
    shown: list[Part] = [
        facts("How good it is likely to be", {k: v for k, v in answer.items() if v})
    ]
    if warnings:
        rows = [["warning"], *([text] for text in warnings)]
        shown.append(table("Warnings", "Each with what to try.", rows, alarm=True))
    sizes = document["statistics"]
    unclassed = () if sizes.get("classes") else ("classes", "unlabelled")
    files = {f"file of {what}": path for what, path in document["files"].items()}
    came_in = files | {what: size for what, size in sizes.items() if what not in unclassed}
    shown.append(facts("What came in", came_in))
    if plan is not None:
        found = plan.rows()
        rows = [list(found[0]), *([_text(value) for value in row.values()] for row in found)]
        shown.append(table("The columns", "How each column was read.", rows))
    if any(value is not None for value in learned.values()):
        shown.append(facts("What was learned", learned))
    shown += parts
    if document["notes"]:
        shown.append(notes("What was recognised and chosen", document["notes"]))
    told = f"{counted(len(warnings), 'warning')}: see below." if warnings else "No warnings."
    return page_html(title, f"{headline}. {told}", shown)


def share_interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share that was found among `count` cases.

    >>> low, high = share_interval(0.8, 50)
    >>> f"{low:.2f} to {high:.2f}"
    '0.67 to 0.89'
    """
    square = 1.96**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    spread = math.sqrt(share * (1 - share) * square / count + square**2 / (4 * count**2))
    half = spread / (1 + square / count)
    return centre - half, centre + half
