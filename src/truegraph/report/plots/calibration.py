"""Reliability diagrams: how often predictions of a given confidence are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from truegraph.evaluation import ReliabilityCurve
from truegraph.report.plots.style import (
    LIGHT,
    house_style,
    legend_below,
    new_figure,
    one_panel,
    series_look,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 3.7, 4.5  # inches per model


@house_style()
def reliability(curves: Mapping[str, ReliabilityCurve]) -> Figure:
    """Draw a reliability diagram of each model, side by side.

    Parameters
    ----------
    curves : dict of str to ReliabilityCurve
        For each model, under its name, confidence, accuracy and count in bins: arrays of shape
        (n_bins,), as `truegraph.evaluation.reliability_curve` gives them.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Above, bars of the share of right predictions and the gap to the confidence; below, how
        many of the predictions have that confidence. The heading gives the expected calibration
        error of the curve.
    """
    count = len(curves)
    figure = new_figure(figsize=(0.4 + _WIDTH * count, _HEIGHT), layout="constrained")
    axes = figure.subplots(2, count, sharex=True, sharey="row", squeeze=False, height_ratios=[4, 1])
    for column, (name, curve) in enumerate(curves.items()):
        _draw_accuracy(axes[0, column], curve)
        axes[0, column].set_title(f"{name}\ncalibration error {curve.calibration_error:.1%}")
        _draw_shares(axes[1, column], curve)
        axes[1, column].set_xlabel("confidence")
    axes[0, 0].set_ylabel("share that is right")
    axes[1, 0].set_ylabel("share of\npredictions")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",  # bars may fill the whole panel
        ncols=3,
        fontsize=8,
        columnspacing=1.0,
        handlelength=1.4,
    )
    return figure


@house_style()
def reliability_lines(
    curves: Mapping[str, ReliabilityCurve],
    *,
    title: str | None = None,
    order: Sequence[str] | None = None,
    errors: Mapping[str, float] | None = None,
    least_share: float = 0.005,
) -> Figure:
    """Draw the reliability of several models as lines in one diagram.

    Parameters
    ----------
    curves : dict of str to ReliabilityCurve
        As in `reliability`.
    title : str, optional
    order : sequence of str, optional
        All models of a set of figures, so that each has one colour in all of them; by default
        those of `curves`.
    errors : dict of str to float, optional
        Expected calibration errors for the legend, where a curve pools several trials and tables
        give the mean of their errors; by default those of the curves.
    least_share : float, default=0.005
        Bins with a smaller share of the predictions are left out: they say nothing yet.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Share of right predictions against mean confidence; the legend gives the expected
        calibration errors.
    """
    figure, axes = one_panel(5.0, 4.3)
    axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linestyle="--", linewidth=1)
    models = list(curves if order is None else order)
    for name, curve in curves.items():
        number = models.index(name)
        shown = curve.count >= max(1, least_share * curve.count.sum())
        axes.plot(
            curve.confidence[shown],
            curve.accuracy[shown],
            label=f"{name} {(errors or {}).get(name, curve.calibration_error):.1%}",
            **series_look(number),
            markersize=4,
            linewidth=1.3,
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share that is right")
    axes.set_title(title or "")
    axes.grid(linewidth=0.6)
    legend_below(figure, axes, 2)
    return figure


def _draw_accuracy(axes: Axes, curve: ReliabilityCurve) -> None:
    filled = curve.count > 0
    left, width = curve.edges[:-1][filled], np.diff(curve.edges)[filled]
    right, confidence = curve.accuracy[filled], curve.confidence[filled]
    axes.bar(
        left,
        right,
        width,
        align="edge",
        color=LIGHT["blue"],
        edgecolor=LIGHT["paper"],
        label="share right",
    )
    axes.bar(
        left,
        confidence - right,
        width,
        bottom=right,
        align="edge",
        facecolor="none",
        edgecolor=LIGHT["red"],
        linewidth=0.8,
        hatch="////",
        label="gap to confidence",
    )
    axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linestyle="--", linewidth=1, label="perfect")
    axes.set(xlim=(0, 1), ylim=(0, 1))


def _draw_shares(axes: Axes, curve: ReliabilityCurve) -> None:
    axes.bar(
        curve.edges[:-1],
        curve.count / curve.count.sum(),
        np.diff(curve.edges),
        align="edge",
        color=LIGHT["grey"],
        edgecolor=LIGHT["paper"],
    )
