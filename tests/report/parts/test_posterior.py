"""The histogram counts every pair once; the table lists a node's surest and most doubtful edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truegraph import learn_graph
from truegraph.errors import InputError
from truegraph.learning import GraphPosterior
from truegraph.report.page import Picture
from truegraph.report.parts.posterior import edge_certainty, posterior_parts
from truegraph.report.plots import save_figure
from truegraph.report.plots.posterior import inclusion_histogram

POINTS = np.random.default_rng(0).normal(size=(80, 3))


@pytest.fixture(scope="module", params=["mean-field", "gibbs"])
def posterior(request: pytest.FixtureRequest) -> GraphPosterior:
    graph = learn_graph(POINTS, degree=6).named(f"n{i}" for i in range(80))
    return graph.posterior(request.param, random_state=0)


def test_the_histogram_counts_every_pair_once(posterior: GraphPosterior, tmp_path: Path) -> None:
    figure = inclusion_histogram(posterior)
    axes = figure.axes[0]
    edges, others = (sum(bar.get_height() for bar in c) for c in axes.containers)
    assert edges == posterior.graph.n_edges
    assert edges + others == posterior.graph.candidates.nnz // 2
    expected = posterior.inclusion().sum() / 2
    assert axes.get_title() == f"{expected:,.0f} edges expected"
    said = figure.get_supxlabel()
    assert f"concentration {posterior.concentration:.4g}" in said
    assert "candidate pairs" in said
    save_figure(figure, tmp_path / "histogram.png")
    assert (tmp_path / "histogram.png").read_bytes().startswith(b"\x89PNG")


def test_the_most_and_least_certain_edges_of_a_node(posterior: GraphPosterior) -> None:
    rows = edge_certainty(posterior, 7, count=4)
    assert rows[0][0] == "neighbour"
    assert [row[1] for row in rows[1:]] == ["most"] * 4 + ["least"] * 4
    assert len({row[0] for row in rows[1:]}) == 8
    inclusion = posterior.inclusion()
    of_node = inclusion.data[inclusion.indptr[7] : inclusion.indptr[8]]
    most = [float(row[2]) for row in rows[1:5]]
    np.testing.assert_allclose(most, np.sort(of_node)[::-1][:4], atol=6e-4)
    doubt = [abs(float(row[2]) - 0.5) for row in rows[5:]]
    rest = np.sort(np.abs(np.sort(of_node)[::-1][4:] - 0.5))[:4]
    np.testing.assert_allclose(doubt, rest, atol=6e-4)
    neighbour = int(rows[1][0].removeprefix("n"))
    assert float(rows[1][3]) == pytest.approx(posterior.graph.adjacency[7, neighbour], rel=0.01)
    low, high = rows[1][5].split(" to ")
    assert float(low) < float(rows[1][4]) < float(high)


def test_parts_of_a_page(posterior: GraphPosterior) -> None:
    picture, *tables = posterior_parts(posterior, nodes=[0, 3])
    assert isinstance(picture, Picture)
    assert "not calibrated" in picture.caption
    assert [table.heading for table in tables] == ["Edges of node n0", "Edges of node n3"]
    assert picture.panels[0].svg("p").startswith("<svg")


def test_a_node_that_is_not_there(posterior: GraphPosterior) -> None:
    with pytest.raises(InputError, match=r"node=80 must be a node number from 0 to 79"):
        edge_certainty(posterior, 80)
