"""Reliability diagrams: how often predictions of a given confidence are right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from truegraph.evaluation import ReliabilityCurve, expected_calibration_error, reliability_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 3.9, 4.7  # inches per model
_ACCURACY, _GAP = "#4c72b0", "#d62728"

Predictions = tuple[NDArray[np.integer], NDArray[np.floating]]


def reliability_diagrams(predictions: Mapping[str, Predictions], *, n_bins: int = 15) -> Figure:
    """Draw a reliability diagram of each model, side by side.

    Parameters
    ----------
    predictions : dict of str to tuple
        For each model, under its name, the true classes of the predicted nodes, shape (n_nodes,),
        and the predicted class probabilities, shape (n_nodes, n_classes). Put the nodes of several
        trials under each other to pool them.
    n_bins : int, default=15
        Bins of equal width for the confidence.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    count = len(predictions)
    figure = Figure(figsize=(0.5 + _WIDTH * count, _HEIGHT), layout="constrained")
    axes = figure.subplots(2, count, sharex=True, sharey="row", squeeze=False, height_ratios=[4, 1])
    for column, (name, (labels, probabilities)) in enumerate(predictions.items()):
        curve = reliability_curve(labels, probabilities, n_bins=n_bins)
        error = expected_calibration_error(labels, probabilities, n_bins=n_bins)
        _draw_accuracy(axes[0, column], curve)
        axes[0, column].set_title(f"{name}\ncalibration error {error:.1%}", fontsize=10)
        _draw_shares(axes[1, column], curve)
    axes[0, 0].set_ylabel("share that is right")
    axes[1, 0].set_ylabel("share of\npredictions")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside upper center",  # bars may fill the whole panel
        ncols=3,
        fontsize=8,
        frameon=False,
    )
    figure.supxlabel("confidence: probability of the predicted class", fontsize=9)
    return figure


def _draw_accuracy(axes: Axes, curve: ReliabilityCurve) -> None:
    filled = curve.count > 0
    left, width = curve.edges[:-1][filled], np.diff(curve.edges)[filled]
    right, confidence = curve.accuracy[filled], curve.confidence[filled]
    axes.bar(
        left, right, width, align="edge", color=_ACCURACY, edgecolor="white", label="share right"
    )
    axes.bar(
        left,
        confidence - right,
        width,
        bottom=right,
        align="edge",
        facecolor="none",
        edgecolor=_GAP,
        linewidth=0.8,
        hatch="////",
        label="gap to the confidence",
    )
    axes.plot([0, 1], [0, 1], color="#444444", linestyle="--", linewidth=1, label="perfect")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _draw_shares(axes: Axes, curve: ReliabilityCurve) -> None:
    shares = curve.count / curve.count.sum()
    axes.bar(
        curve.edges[:-1],
        shares,
        np.diff(curve.edges),
        align="edge",
        color="#999999",
        edgecolor="white",
    )
