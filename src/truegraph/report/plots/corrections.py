"""Which nodes a second model gets right that a first one gets wrong: the paper's Figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truegraph import gate
from truegraph.errors import InputError
from truegraph.report.plots.style import LIGHT, house_style, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOTH_RIGHT, CORRECTED, SPOILED, BOTH_WRONG = range(4)
LOW, HIGH = range(2)
_GROUPS = (("degree up to the median", "orange"), ("degree above the median", "blue"))


def correction_counts(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], high_degree: Sequence[ArrayLike]
) -> NDArray[np.int64]:
    """Count test nodes by degree group and by which of two models is right.

    Parameters
    ----------
    first, second : sequence of n_trials array-likes of bool, each of shape (n_test,)
        Whether each model is right on the test nodes of a trial.
    high_degree : sequence of n_trials array-likes of bool, each of shape (n_test,)
        Whether a test node has more neighbours than the median test node.

    Returns
    -------
    counts : ndarray of int, shape (n_trials, 2, 4)
        Nodes of low and of high degree for which: both are right, only the second is (corrected),
        only the first is (spoiled), both are wrong.
    """
    if not len(first) == len(second) == len(high_degree) > 0:
        raise InputError(
            f"first has {len(first)} trials, second {len(second)} and high_degree "
            f"{len(high_degree)}; give the same trials, at least one."
        )
    trials = zip(first, second, high_degree, strict=True)
    return np.stack([_counts_of_trial(one, two, high) for one, two, high in trials])


def _counts_of_trial(first: ArrayLike, second: ArrayLike, high: ArrayLike) -> NDArray[np.int64]:
    one, two, group = _flags("first", first), _flags("second", second), _flags("high_degree", high)
    if not one.shape == two.shape == group.shape:
        raise InputError(
            f"first, second and high_degree have the shapes {one.shape}, {two.shape} and "
            f"{group.shape} in a trial; give the same test nodes."
        )
    kind = 2 * ~one + ~two  # right/right, right/wrong, wrong/right, wrong/wrong
    order = np.array([BOTH_RIGHT, SPOILED, CORRECTED, BOTH_WRONG])
    return np.bincount(4 * group + order[kind], minlength=8).reshape(2, 4)


def _flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    found = gate.whole_numbers(name, values, at_least=0)
    if found.max(initial=0) > 1:
        raise InputError(f"{name} holds {found.max()}; give True or False for each test node.")
    return found.astype(bool)


@house_style()
def correction_boxplots(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    high_degree: Sequence[ArrayLike],
    *,
    names: tuple[str, str] = ("GCN", "BGCN"),
    title: str | None = None,
) -> Figure:
    """Draw, over trials, how often one or the other of two models is right, by degree group.

    Parameters
    ----------
    first, second, high_degree
        As in `correction_counts`.
    names : tuple of two str
        Names of the two models.
    title : str, optional

    Returns
    -------
    figure : matplotlib.figure.Figure
        Boxes from the first to the third quartile over the trials, whiskers to the last trial
        within one and a half times that distance, further trials as dots. Shares are of the test
        nodes in the same degree group.
    """
    counts = correction_counts(first, second, high_degree)
    with np.errstate(invalid="ignore"):
        shares = 100 * counts / counts.sum(axis=2, keepdims=True)
    figure = new_figure(figsize=(5.4, 3.5), layout="constrained")
    differ, agree = figure.subplots(1, 2)
    one, two = names
    _draw_boxes(differ, shares, {CORRECTED: f"only {two}\nright", SPOILED: f"only {one}\nright"})
    _draw_boxes(agree, shares, {BOTH_RIGHT: "both\nright", BOTH_WRONG: "both\nwrong"})
    differ.set_ylabel("share of the group's test nodes, %")
    legend_below(figure, differ, 2)
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _draw_boxes(axes: Axes, shares: NDArray[np.float64], kinds: dict[int, str]) -> None:
    for group, (name, colour) in enumerate(_GROUPS):
        places = np.arange(len(kinds)) + (-0.19 if group == LOW else 0.19)
        values = [shares[:, group, kind] for kind in kinds]
        edge = {"color": LIGHT["ink"], "linewidth": 0.9}
        drawn = axes.boxplot(
            [column[np.isfinite(column)] for column in values],
            positions=places.tolist(),
            widths=0.3,
            patch_artist=True,
            boxprops={"facecolor": LIGHT[colour], "edgecolor": LIGHT["ink"], "linewidth": 0.9},
            medianprops={"color": LIGHT["paper"], "linewidth": 1.8},
            whiskerprops=edge,
            capprops=edge,
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": LIGHT[colour]},
        )
        drawn["boxes"][0].set_label(name)
    axes.set_xticks(range(len(kinds)), labels=list(kinds.values()))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", linewidth=0.6)
