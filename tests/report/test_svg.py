"""Figures become elements of a page: vectors, themed, without identifiers that collide."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from truegraph.data.graphs.adjacency import adjacency_from_edges
from truegraph.report.plots import adjacency, paired_differences
from truegraph.report.plots.style import COLOURS
from truegraph.report.svg import density, inline_svg


def drawn(group: ElementTree.Element, shape: tuple[int, int]) -> np.ndarray:
    """Paint the runs of a density back onto a grid of opacities."""
    grid = np.zeros(shape)
    for path in group.iter("path"):
        opacity = float(path.attrib["style"].split(":")[1])
        for x, y, length in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path.attrib["d"]):
            part = grid[int(y), int(x) : int(x) + int(length)]
            assert not part.any(), "a cell is painted twice"
            part[:] = opacity
    return grid


@pytest.mark.parametrize("seed", range(5))
def test_a_density_is_painted_cell_by_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 30, size=2))
    darkness = rng.choice([0.0, 0.0, 0.3, 0.34, 1.0], size=shape)
    expected = np.ceil(darkness * 6) / 6
    assert drawn(density(darkness), shape) == pytest.approx(expected, abs=1e-3)


def test_an_empty_and_a_full_density() -> None:
    assert len(density(np.zeros((4, 4)))) == 0
    [path] = density(np.ones((2, 3)))
    assert path.attrib["d"] == "M0 0.5h3M0 1.5h3"


def test_only_a_density_too_large_for_vectors_is_a_bitmap() -> None:
    checks = np.indices((320, 320)).sum(axis=0) % 2 * 1.0  # 51,200 runs
    comment, image = density(checks)
    assert "51200 runs" in comment.text
    assert image.attrib["href"].startswith("data:image/png;base64,")
    assert (image.attrib["width"], image.attrib["height"]) == ("320", "320")


def test_the_density_covers_its_axes() -> None:
    graph = adjacency_from_edges(np.array([0, 1]), np.array([1, 2]), None, 4)
    figure = adjacency(graph, [0, 0, 1, 1])
    svg = inline_svg(figure, "a", "one")
    assert "<image" not in svg
    [found] = re.findall(r"translate\(([\d.]+) ([\d.]+)\) scale\(([\d.]+) ([\d.]+)\)", svg)
    left, top, across, down = (float(number) for number in found)
    clip = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    assert [left, top, 4 * across, 4 * down] == pytest.approx([*map(float, clip[0])], abs=0.05)


def test_colours_are_left_to_the_page_and_text_stays_text() -> None:
    svg = inline_svg(paired_differences({"BGCN − GCN": [1.0, 2.0, 1.5]}, title="Cora"), "a", "p")
    colours = set(re.findall(r"(?<!, )#[0-9a-f]{6}", svg))
    assert not colours  # every colour is a variable with a fallback
    names = set(re.findall(r"var\(--plot-(\w+),", svg))
    assert {"ink", "blue", "red", "grid"} <= names <= set(COLOURS)
    assert ">BGCN − GCN</text>" in svg
    assert "font-family" not in svg


def test_two_figures_on_a_page_share_no_identifier() -> None:
    figure = paired_differences({"a": [1.0, 2.0]})
    first, second = inline_svg(figure, "a", "one"), inline_svg(figure, "a", "two")
    for svg, prefix in ((first, "one"), (second, "two")):
        identifiers = re.findall(r' id="([^"]+)"', svg)
        assert len(identifiers) == len(set(identifiers)) > 0
        referred = re.findall(r"url\(#([^)]+)\)", svg) + re.findall(r'href="#([^"]+)"', svg)
        assert set(identifiers) == set(referred)
        assert all(name.startswith(f"{prefix}-") for name in identifiers)


def test_the_element_scales_and_says_what_it_shows() -> None:
    root = ElementTree.fromstring(inline_svg(Figure(figsize=(4, 3)), 'x "y" <z>', "p"))
    assert root.attrib["viewBox"] == "0 0 288 216"
    assert "width" not in root.attrib
    assert root.attrib["aria-label"] == 'x "y" <z>'
