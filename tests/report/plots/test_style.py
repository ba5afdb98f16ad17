"""The look that all plots share."""

from __future__ import annotations

from truegraph.report.plots.style import COLOURS


def test_colours_differ_from_each_other_and_from_the_paper() -> None:
    for theme in (0, 1):
        values = [pair[theme] for pair in COLOURS.values()]
        assert len(set(values)) == len(values)
