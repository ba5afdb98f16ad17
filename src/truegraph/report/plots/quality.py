"""The quality of kinds of graphs against their number of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from truegraph.report.plots.style import house_style, legend_below, one_panel, series_look

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@house_style()
def quality_by_edges(
    kinds: Mapping[str, Sequence[tuple[float, float]]], *, metric: str, title: str | None = None
) -> Figure:
    """Draw the quality of kinds of graphs against their edges per node.

    Parameters
    ----------
    kinds : dict of str to sequence of (edges per node, quality)
        A kind with several points gets a line, in the order of the edges.
    metric : str
        Name of the quality.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure, axes = one_panel(5.0, 3.9)
    for number, (kind, points) in enumerate(kinds.items()):
        edges, values = zip(*sorted(points), strict=True)
        look = series_look(number)
        axes.plot(edges, values, **look, markersize=5, linewidth=1.4, label=kind)
    axes.set(xlabel="edges per node", ylabel=metric, title=title or "")
    axes.set_xlim(left=0.0)
    axes.grid(axis="y", linewidth=0.6)
    legend_below(figure, axes, 2)
    return figure
