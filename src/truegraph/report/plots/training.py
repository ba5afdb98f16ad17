"""Training curves: a metric of each model, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from truegraph.errors import InputError
from truegraph.report.plots.style import house_style, legend_below, one_panel, series_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@house_style()
def training_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    best: Mapping[str, int] | None = None,
    metric: str = "validation recall@20 %",
    title: str | None = None,
    order: Sequence[str] | None = None,
) -> Figure:
    """Draw a metric of each model against the epoch.

    Parameters
    ----------
    curves : dict of str to (epochs, values)
        For each model the recorded epochs and the values there, both of shape (n_points,).
    best : dict of str to int, optional
        The epoch of each model that was kept, marked by a dot.
    metric : str
    title : str, optional
    order : sequence of str, optional
        All models of a set of figures, so that each has one colour in all of them.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure, axes = one_panel(5.0, 3.9)
    models = list(curves if order is None else order)
    for model, (epochs, values) in curves.items():
        x, y = np.asarray(epochs), np.asarray(values, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(
                f"curves[{model!r}] has {x.shape} epochs and {y.shape} values; give one of each."
            )
        colour = series_colour(models.index(model))
        axes.plot(x, y, color=colour, linewidth=1.3, label=model)
        if best is not None and model in best:
            kept = x == best[model]
            axes.plot(x[kept], y[kept], "o", color=colour, markersize=6)
    axes.set(xlabel="epoch", ylabel=metric, title=title or "")
    axes.grid(axis="y", linewidth=0.6)
    legend_below(figure, axes, 3)
    return figure
