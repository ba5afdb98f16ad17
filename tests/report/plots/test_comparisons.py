"""Comparisons of models show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.report.plots import accuracy_by_labels, paired_differences

MEANS = {"GCN": [70.0, 76.0, 80.0], "BGCN": [74.0, np.nan, 79.0]}


def test_one_line_per_model_and_hollow_markers_for_the_paper() -> None:
    errors = {"GCN": [0.5, 0.4, 0.3], "BGCN": [0.4, np.nan, 0.2]}
    paper = {"BGCN": [74.2, 76.9, np.nan]}
    figure = accuracy_by_labels([5, 10, 20], MEANS, errors, paper=paper, title="Cora")
    [axes] = figure.axes
    lines = {container.get_label(): container[0] for container in axes.containers}
    assert lines["GCN"].get_ydata().tolist() == [70.0, 76.0, 80.0]
    [hollow] = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    assert hollow.get_ydata()[:2].tolist() == [74.2, 76.9]
    assert hollow.get_markeredgecolor() == lines["BGCN"].get_color()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["5", "10", "20"]


def test_every_model_can_be_told_apart() -> None:
    means = {str(number): [1.0, 2.0] for number in range(10)}
    [axes] = accuracy_by_labels([1, 2], means).axes
    looks = {(c[0].get_color(), c[0].get_marker()) for c in axes.containers}
    assert len(looks) == 10
    assert len({colour for colour, _ in looks}) == 10


@pytest.mark.parametrize(
    ("name", "lines"),
    [("GCN", 2), ("a graph with a long name", 3), ("a graph with a name that is longer still", 6)],
)
def test_the_legend_stays_inside_and_the_axes_keep_their_height(name: str, lines: int) -> None:
    means = {f"{name} {number}": [1.0, 2.0] for number in range(6)}
    figure = accuracy_by_labels([1, 2], means)
    figure.draw_without_rendering()
    [legend], [axes] = figure.legends, figure.axes
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert len({round(text.get_window_extent().y0) for text in legend.get_texts()}) == lines
    short = accuracy_by_labels([1, 2], {str(number): [1.0, 2.0] for number in range(6)})
    short.draw_without_rendering()
    assert axes.bbox.height == pytest.approx(short.axes[0].bbox.height, rel=0.03)


def test_a_single_point_is_drawn() -> None:
    figure = accuracy_by_labels([5], {"GCN": [70.0]})
    figure.draw_without_rendering()
    [line] = [container[0] for container in figure.axes[0].containers]
    assert line.get_ydata().tolist() == [70.0]
    assert np.isfinite(line.get_xdata()).all()


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match=r"means\['GCN'\] has shape \(2,\)"):
        accuracy_by_labels([5, 10, 20], {"GCN": [70.0, 71.0]})


def test_differences_are_dots_with_their_mean() -> None:
    values = np.array([1.0, 2.0, 4.5])
    figure = paired_differences({"BGCN − GCN": values, "BGCN − GAT": []}, unit="points")
    [axes] = figure.axes
    dots = [line for line in axes.get_lines() if line.get_marker() == "."]
    assert [dot.get_xdata().tolist() for dot in dots] == [values.tolist()]
    [bar] = axes.containers
    assert bar[0].get_xdata()[0] == pytest.approx(2.5)
    low, high = bar[2][0].get_segments()[0][:, 0]
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / np.sqrt(3))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["BGCN − GCN", "BGCN − GAT"]


def test_the_same_numbers_give_the_same_picture() -> None:
    def heights() -> list[float]:
        [axes] = paired_differences({"a": np.arange(5.0)}).axes
        return [*axes.get_lines()[1].get_ydata()]

    assert heights() == heights()
