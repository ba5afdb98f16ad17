"""Models beside each other: their differences trial by trial, and how far to trust each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.evaluation.class_metrics import calibration_error
from truegraph.report.plots.style import LIGHT, house_style, legend_below, one_panel, series_look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPREAD = 0.28  # of the dots of one row
_LEAST_SHARE = 0.005  # of the predictions that a bin needs to be drawn


@house_style()
def reliability(
    curves: Mapping[str, pd.DataFrame],
    *,
    title: str | None = None,
    order: Sequence[str] | None = None,
    errors: Mapping[str, float] | None = None,
) -> Figure:
    """Draw reliability curves of several models, with their calibration errors in the legend.

    `curves` are as of `reliability_curve`; `order` names all models of a set of figures, so that
    each has one colour in all of them; `errors` replace those of curves that pool several trials.
    """
    figure, axes = one_panel(5.0, 4.3)
    axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linestyle="--", linewidth=1)
    models = list(curves if order is None else order)
    for name, curve in curves.items():
        shown = curve[curve["count"] >= max(1, _LEAST_SHARE * curve["count"].sum())]
        error = (errors or {}).get(name, calibration_error(curve))
        axes.plot(
            shown["confidence"],
            shown["accuracy"],
            label=f"{name} {error:.1%}",
            **series_look(models.index(name)),
            markersize=4,
            linewidth=1.3,
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share that is right")
    axes.set_title(title or "")
    axes.grid(linewidth=0.6)
    legend_below(figure, axes, 2)
    return figure


@house_style()
def paired_differences(
    differences: Mapping[str, ArrayLike], *, unit: str = "difference", title: str | None = None
) -> Figure:
    """Draw differences (n_trials,) between models on the same trials, a row per pair of models.

    A dot is a trial; the bar is the mean, its whiskers the 95 % interval of the mean.
    """
    figure, axes = one_panel(5.0, 1.15 + 0.42 * len(differences))
    axes.axvline(0, color=LIGHT["faint"], linewidth=1)
    for row, (pair, values) in enumerate(differences.items()):
        _draw_row(axes, row, gate.numbers(f"differences[{pair!r}]", values))
    axes.set_yticks(range(len(differences)), labels=list(differences))
    axes.set_ylim(len(differences) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", linewidth=0.6)
    axes.set(xlabel=unit, title=title or "")
    return figure


def _draw_row(axes: Axes, row: int, values: NDArray[np.float64]) -> None:
    if len(values) == 0:
        return
    # Low-discrepancy heights: dots of equal value stay apart, and every drawing is the same.
    height = row + _SPREAD * (2 * (np.arange(1, len(values) + 1) * 0.618034 % 1) - 1)
    axes.plot(values, height, ".", color=LIGHT["blue"], markersize=4, alpha=0.55)
    error = 1.96 * values.std() / np.sqrt(len(values))
    look: Any = {"color": LIGHT["red"], "marker": "|", "markersize": 13, "markeredgewidth": 2}
    axes.errorbar(values.mean(), row, xerr=error, linewidth=1.8, capsize=3, **look)
