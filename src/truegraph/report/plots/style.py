"""The look of all pictures: colours, for light and for dark pages, and sizes."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from truegraph.data.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 150
_INCHES_PER_LINE = 0.19  # of a legend

# Name: colour on a light page, colour on a dark one. The page defines --plot-<name> as either, and
# an SVG on the page refers to these names. Every light colour occurs once.
COLOURS = {
    "ink": ("#1d2430", "#e7eaf0"),
    "faint": ("#555f6d", "#aab4c1"),
    "grid": ("#d8dde5", "#39424e"),
    "paper": ("#ffffff", "#151a21"),
    "blue": ("#2a69b0", "#74aeea"),
    "red": ("#c4342b", "#f5857a"),
    "green": ("#2a8553", "#62c892"),
    "purple": ("#7f4da6", "#c095e6"),
    "orange": ("#b66a00", "#eba845"),
    "teal": ("#0b7f89", "#4cc6cf"),
    "grey": ("#68717d", "#9fa9b6"),
    "pink": ("#b83a7d", "#f08bbd"),
    "brown": ("#84522b", "#d3a47b"),
    "olive": ("#667312", "#b8c85a"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}
_SERIES = ("grey", "blue", "green", "orange", "purple", "teal", "red", "pink", "brown", "olive")
_MARKERS = "osD^vPX*<h"


def new_figure(**options: Any) -> Figure:
    """Return a figure that notebooks display without pyplot; options as of matplotlib's."""
    return _figure_class()(**options)


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that shows itself, as those of pyplot do."""

        def _repr_png_(self) -> bytes:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=_DOTS_PER_INCH)
            return target.getvalue()

    return ShownFigure


def one_panel(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of a size in inches, and its only axes."""
    figure = new_figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def series_look(number: int) -> dict[str, Any]:
    """Return colour and marker of the model with this number; markers tell without colours."""
    return {
        "color": LIGHT[_SERIES[number % len(_SERIES)]],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Put the legend of some axes below them, in fewer columns if names are long."""
    handles, names = axes.get_legend_handles_labels()
    width, height = figure.get_size_inches()
    for count in range(columns, 0, -1):
        legend = figure.legend(handles, names, loc="outside lower center", ncols=count)
        if count == 1 or legend.get_window_extent().width <= width * figure.dpi:
            lines = -(-len(names) // count) + len(names) // -columns
            figure.set_figheight(height + _INCHES_PER_LINE * lines)
            return
        legend.remove()


@contextmanager
def house_style() -> Iterator[None]:
    """Make figures that are built inside it look alike."""
    from matplotlib import rc_context

    ink, faint = LIGHT["ink"], LIGHT["faint"]
    with rc_context(
        {
            "text.color": ink,
            "axes.labelcolor": ink,
            "axes.edgecolor": faint,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "axes.labelsize": 9,
            "axes.axisbelow": True,
            "xtick.color": faint,
            "ytick.color": faint,
            "xtick.labelcolor": ink,
            "ytick.labelcolor": ink,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "grid.color": LIGHT["grid"],
            "hatch.color": LIGHT["red"],
        }
    ):
        yield


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png, .svg or .pdf file, atomically."""
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=_DOTS_PER_INCH)
