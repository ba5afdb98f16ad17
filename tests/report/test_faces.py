"""Results show themselves: a few lines in a notebook, and a picture."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import pytest

from truegraph import Comparison, InputError, LearnedGraph, learn_graph


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    points = np.random.default_rng(0).normal(size=(40, 2))
    names = ["<script>alert(1)</script>", *range(1, 40)]
    return learn_graph(points, degree=4).named(names)


def test_few_lines_say_what_it_is_and_how_good(graph: LearnedGraph) -> None:
    text = graph._repr_html_()
    assert f"{graph.n_edges}, {graph.certificate.degree:.4g} per node" in text
    assert "proved within" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert f"{graph.certificate.relative_gap:.1e}" in graph.certificate._repr_html_()
    posterior = graph.posterior()
    expected = posterior.inclusion().sum() / 2
    assert f"{expected:,.0f} of weight above" in posterior._repr_html_()


def test_samples_before_and_after_the_draws(graph: LearnedGraph) -> None:
    drawn = graph.posterior().sample(4, random_state=0)
    assert "go through the samples first" in drawn._repr_html_()
    with pytest.raises(InputError, match="go through the samples first"):
        drawn.plot()
    list(drawn)
    assert "R-hat" in drawn._repr_html_()
    axes = drawn.plot().axes[0]
    assert len(axes.lines) == 4
    assert np.allclose(axes.lines[0].get_ydata(), drawn.total_weights()[0])


def test_pictures_show_themselves(graph: LearnedGraph) -> None:
    for shown in (graph, graph.certificate, graph.posterior()):
        figure = shown.plot(title="a title")
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
        assert any("a title" in axes.get_title() for axes in figure.axes)
    with pytest.raises(InputError, match="labels=1 is no option"):
        graph.certificate.plot(labels=1)


def test_a_comparison_shows_its_table_and_its_picture(made_up_comparison: Any) -> None:
    found = made_up_comparison
    text = found._repr_html_()
    assert html.escape(found.name) in text
    assert "<table><thead><tr><th>model</th>" in text
    for model in found.models:
        assert f"<td>{html.escape(model)}</td>" in text
    assert found.plot(title="a title").axes[0].get_title() == "a title"
    known = (found.seeds, found.settings, found.outcome, {})
    alone = Comparison("classify", found.name, found.data, found.models[:1], *known)
    with pytest.raises(InputError, match="nothing to draw"):
        alone.plot()
