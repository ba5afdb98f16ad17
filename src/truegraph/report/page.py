"""A page of results that needs nothing but itself: tables, pictures and facts in one HTML file."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Picture:
    """A figure on the page.

    Attributes
    ----------
    heading, caption : str
    alternative : str
        What the picture shows, for those who cannot see it.
    figure : matplotlib.figure.Figure
    """

    heading: str
    caption: str
    alternative: str
    figure: Figure

    def data_uri(self) -> str:
        """Return the figure as a PNG inside an address."""
        stream = io.BytesIO()
        self.figure.savefig(stream, format="png", dpi=_DOTS_PER_INCH)
        return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


@dataclass(frozen=True)
class Table:
    """A table on the page.

    Attributes
    ----------
    heading, caption : str
    rows : sequence of sequence of str
        The heading of the columns first; the first column names the rows.
    """

    heading: str
    caption: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Page:
    """What a page of results holds.

    Attributes
    ----------
    title, summary : str
    tables : sequence of Table
    pictures : sequence of Picture
    facts : sequence of (name, value)
        How the results came about.
    notes : sequence of str
    files : sequence of (name, description)
        Files beside the page, linked by name.
    """

    title: str
    summary: str
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    files: Sequence[tuple[str, str]] = ()

    def render(self) -> str:
        """Return the page as HTML; every text is escaped."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("truegraph.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return environment.get_template("page.html").render(page=self)
