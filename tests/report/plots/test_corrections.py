"""Figure 1: nodes counted by who is right and by degree."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.report.plots import correction_boxplots, correction_counts

# One trial, six test nodes:        both  corrected spoiled both wrong; low, high
FIRST = [True, False, True, False, False, True]
SECOND = [True, True, False, False, True, True]
HIGH = [False, False, False, True, True, True]


def test_counts_by_hand() -> None:
    [counts] = correction_counts([FIRST], [SECOND], [HIGH])
    assert counts.tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]


def test_trials_may_have_different_numbers_of_nodes() -> None:
    counts = correction_counts([FIRST, [True]], [SECOND, [False]], [HIGH, [True]])
    assert counts.shape == (2, 2, 4)
    assert counts.sum(axis=(1, 2)).tolist() == [6, 1]


def test_boxes_show_shares_of_the_group() -> None:
    rng = np.random.default_rng(0)
    trials = [rng.random((3, 200)) < 0.6 for _ in range(9)]
    first, second, high = ([trial[row] for trial in trials] for row in range(3))
    figure = correction_boxplots(first, second, high, names=("A", "B"), title="Cora")
    differ = figure.axes[0]
    assert [tick.get_text() for tick in differ.get_xticklabels()] == [
        "only B\nright",
        "only A\nright",
    ]
    corrected_low = [
        100 * np.mean(~one[~deg] & two[~deg])
        for one, two, deg in zip(first, second, high, strict=True)
    ]
    medians = [line.get_ydata()[0] for line in differ.get_lines() if len(line.get_xdata()) == 2]
    assert np.median(corrected_low) in [pytest.approx(value) for value in medians]


def test_an_empty_group_is_drawn_without_a_box() -> None:
    figure = correction_boxplots([FIRST] * 2, [SECOND] * 2, [[False] * 6] * 2)
    figure.draw_without_rendering()


def test_errors_name_the_sizes() -> None:
    with pytest.raises(InputError, match="first has 1 trials, second 2"):
        correction_counts([FIRST], [SECOND] * 2, [HIGH])
    with pytest.raises(InputError, match=r"\(6,\), \(5,\) and \(6,\)"):
        correction_counts([FIRST], [SECOND[:5]], [HIGH])
