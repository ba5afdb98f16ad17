"""A page of results that needs nothing but itself: tables, pictures and facts in one HTML file.

The page fetches nothing and lets nothing be fetched (its Content-Security-Policy forbids it), reads
well in light and dark and on a phone, and its tables sort by a click on a heading.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truegraph.report.plots.style import COLOURS
from truegraph.report.svg import inline_svg
from truegraph.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    heading: str
    caption: str
    panels: Sequence[Panel]
    small: bool = False


@dataclass(frozen=True)
class Facts:
    """Names and values, for instance of how the results came about."""

    heading: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Notes:
    """Sentences, one below the other."""

    heading: str
    notes: Sequence[str]


@dataclass(frozen=True)
class Files:
    """Files beside the page, linked by name, with a description of each."""

    heading: str
    files: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Embedded:
    """A page within the page, such as the explorer of a graph.

    Attributes
    ----------
    heading, caption : str
    html : str
        The inner page, whole; it gets a frame of its own.
    script_hash : str
        SHA-256 of its only script in base64, which the policy of the outer page has to allow.
    """

    heading: str
    caption: str
    html: str
    script_hash: str


Part = Table | Picture | Facts | Notes | Files | Embedded

_TEMPLATES: dict[type[Part], str] = {
    Table: "table.html",
    Picture: "picture.html",
    Facts: "facts.html",
    Notes: "notes.html",
    Files: "files.html",
    Embedded: "embedded.html",
}


@dataclass(frozen=True)
class Page:
    """A page of results.

    Attributes
    ----------
    title, summary : str
    parts : sequence of Table, Picture, Facts, Notes, Files or Embedded
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
        inner = {part.script_hash for part in self.parts if isinstance(part, Embedded)}
        return environment.get_template("page.html").render(
            page=self,
            parts=[(part, _TEMPLATES[type(part)]) for part in self.parts],
            style=Markup(style),
            script=Markup(script),
            script_hashes=[script_hash(script), *sorted(inner)],
        )


def script_hash(script: str) -> str:
    """Return what a Content-Security-Policy names a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
