"""A page of results that needs nothing but itself: tables, pictures and facts in one HTML file.

The page fetches nothing and lets nothing be fetched (its Content-Security-Policy forbids it), reads
well in light and dark and on a phone, and its tables sort by a click on a heading.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from truegraph.report.plots.style import COLOURS
from truegraph.report.svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIGURE = re.compile(r"[+−-]?[\d,]*\.?\d+(e[+-]?\d+)?( ?%)?( ± [\d.]+)?$")


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    text : str
    value : float or None
        What the entry is sorted by; None for its text.
    bold : bool
    note : str
        A remark below it.
    """

    text: str
    value: float | None = None
    bold: bool = False
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table on the page.

    Attributes
    ----------
    heading, caption : str
    rows : sequence of sequences of str or Entry
        The headings of the columns first; the first column names the rows.
    alarm : bool
        Whether it tells of something that went wrong.
    """

    template: ClassVar[str] = "table.html"

    heading: str
    caption: str
    rows: Sequence[Sequence[str | Entry]]
    alarm: bool = False

    def cells(self) -> list[list[Entry]]:
        """Return the rows below the headings."""
        return [
            [entry if isinstance(entry, Entry) else Entry(entry) for entry in row]
            for row in self.rows[1:]
        ]

    def is_text(self, column: int) -> bool:
        """Return whether a column holds anything but figures and empty entries."""
        texts = [row[column].text for row in self.cells()]
        return column == 0 or not all(text in ("", "-") or _FIGURE.match(text) for text in texts)


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    alternative : str
        What the picture shows, for those who cannot see it.
    """

    figure: Figure
    alternative: str

    def svg(self, prefix: str) -> str:
        """Return the figure as an SVG element whose identifiers begin with `prefix`."""
        return inline_svg(self.figure, self.alternative, prefix)


@dataclass(frozen=True)
class Picture:
    """Pictures under one heading; as many stand beside each other as there is room for.

    Attributes
    ----------
    heading, caption : str
    panels : sequence of Panel
    small : bool
        Whether they are legible at a third of the page's width.
    """

    template: ClassVar[str] = "picture.html"

    heading: str
    caption: str
    panels: Sequence[Panel]
    small: bool = False


@dataclass(frozen=True)
class Facts:
    """Names and values, for instance of how the results came about."""

    template: ClassVar[str] = "facts.html"

    heading: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Notes:
    """Sentences, one below the other."""

    template: ClassVar[str] = "notes.html"

    heading: str
    notes: Sequence[str]


@dataclass(frozen=True)
class Files:
    """Files beside the page, linked by name, with a description of each."""

    template: ClassVar[str] = "files.html"

    heading: str
    files: Sequence[tuple[str, str]]


Part = Table | Picture | Facts | Notes | Files


@dataclass(frozen=True)
class Page:
    """A page of results.

    Attributes
    ----------
    title, summary : str
    parts : sequence of Table, Picture, Facts, Notes or Files
        In the order in which they are shown.
    """

    title: str
    summary: str
    parts: Sequence[Part] = ()

    def render(self) -> str:
        """Return the page as HTML; every text is escaped."""
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
        digest = hashlib.sha256(script.encode()).digest()
        return environment.get_template("page.html").render(
            page=self,
            style=Markup(style),
            script=Markup(script),
            script_hash=base64.b64encode(digest).decode("ascii"),
        )
