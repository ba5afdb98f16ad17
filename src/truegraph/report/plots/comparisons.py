"""Models beside each other: over a condition, and trial by trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.errors import InputError
from truegraph.report.plots.style import (
    LIGHT,
    house_style,
    legend_below,
    one_panel,
    series_colour,
    series_look,
    series_marker,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPREAD = 0.28  # of the dots of one row
_TWO_SIDED_95 = 1.96


@house_style()
def accuracy_by_labels(
    labels: ArrayLike,
    means: Mapping[str, ArrayLike],
    errors: Mapping[str, ArrayLike] | None = None,
    *,
    paper: Mapping[str, ArrayLike] | None = None,
    condition: str = "labels per class",
    metric: str = "accuracy %",
    title: str | None = None,
    order: Sequence[str] | None = None,
) -> Figure:
    """Draw a metric of each model against the number of labels, or any other condition.

    Parameters
    ----------
    labels : array-like of float, shape (n_points,)
        Values of the condition.
    means : dict of str to array-like of float, shape (n_points,)
        For each model the mean over trials; NaN where there is none.
    errors : dict of str to array-like of float, shape (n_points,), optional
        Half the length of the error bars, for instance the standard errors.
    paper : dict of str to array-like of float, shape (n_points,), optional
        Printed figures, drawn as hollow markers; NaN where there is none.
    condition, metric : str
        Names of the two axes.
    title : str, optional
    order : sequence of str, optional
        All models of a set of figures, so that each has one colour in all of them; by default
        those of `means`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    points = gate.numbers("labels", labels)
    figure, axes = one_panel(5.0, 3.9)
    models = list(means if order is None else order)
    for model, values in means.items():
        number = models.index(model)
        place = points + _offset(points, number, len(models))
        error = None if errors is None else _points(errors[model], points, f"errors[{model!r}]")
        _draw_line(axes, number, model, place, _points(values, points, f"means[{model!r}]"), error)
        if paper is not None and model in paper:
            theirs = _points(paper[model], points, f"paper[{model!r}]")
            _draw_paper(axes, number, place, theirs)
    axes.set_xticks(points, labels=[f"{value:g}" for value in points])
    axes.set(xlabel=condition, ylabel=metric, title=title or "")
    axes.grid(axis="y", linewidth=0.6)
    legend_below(figure, axes, 3)
    return figure


def _points(values: ArrayLike, points: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    array = gate.as_floats(name, values)
    if np.isinf(array).any():
        raise InputError(f"{name} contains infinity; give NaN where there is no figure.")
    if array.shape != points.shape:
        raise InputError(
            f"{name} has shape {array.shape}, but labels has shape {points.shape}; "
            "give one figure per point, NaN where there is none."
        )
    return array


def _offset(points: NDArray[np.float64], number: int, count: int) -> float:
    """Shift models a little, so that their error bars stand beside each other."""
    gap = np.diff(np.sort(points)).min() if len(points) > 1 else 1.0
    return float(0.3 * gap * ((number + 0.5) / count - 0.5))


def _draw_line(
    axes: Axes,
    number: int,
    model: str,
    place: NDArray[np.float64],
    values: NDArray[np.float64],
    error: NDArray[np.float64] | None,
) -> None:
    axes.errorbar(
        place,
        values,
        yerr=error,
        label=model,
        **series_look(number),
        markersize=4.5,
        linewidth=1.3,
        elinewidth=1.1,
        capsize=2,
    )


def _draw_paper(
    axes: Axes, number: int, place: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    axes.plot(
        place,
        values,
        linestyle="none",
        marker=series_marker(number),
        markersize=6.5,
        markerfacecolor="none",
        markeredgecolor=series_colour(number),
    )


@house_style()
def paired_differences(
    differences: Mapping[str, ArrayLike],
    *,
    unit: str = "difference",
    title: str | None = None,
) -> Figure:
    """Draw the differences between models on the same trials, one row per pair of models.

    Parameters
    ----------
    differences : dict of str to array-like of float, shape (n_trials,)
        For each pair, under its name, the difference in each trial; pairs may have different
        numbers of trials.
    unit : str
        What the horizontal axis shows.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure
        A dot per trial; the bar is the mean, its whiskers the 95 % interval of the mean.
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
    error = _TWO_SIDED_95 * values.std() / np.sqrt(len(values))
    axes.errorbar(
        values.mean(),
        row,
        xerr=error,
        color=LIGHT["red"],
        marker="|",
        markersize=13,
        markeredgewidth=2,
        linewidth=1.8,
        capsize=3,
    )
