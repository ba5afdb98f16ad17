"""Pictures show the edges where they are, by class, at any size, and are written whole."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.evaluation import reliability_curve
from truegraph.evaluation.class_metrics import calibration_error
from truegraph.report.plots import (
    adjacency,
    reliability,
    save_figure,
)


def image(figure, panel: int = 0) -> np.ndarray:
    return np.asarray(figure.axes[panel].get_images()[0].get_array())


def graph_of(edges: list[tuple[int, int]], nodes: int) -> sparse.csr_array:
    ends = np.array(edges).T
    return adjacency_from_edges(ends[0], ends[1], None, nodes)


def test_nodes_stand_in_the_order_of_their_classes_and_unlabelled_ones_last() -> None:
    graph = graph_of([(0, 2), (1, 3)], 5)
    figure = adjacency(graph, [1, 0, 1, -1, 0], class_names=["a_b", "c"])
    # Order: 1, 4 (class 0), 0, 2 (class 1), 3 (unlabelled).
    dark = np.argwhere(image(figure) > 0).tolist()
    assert dark == [[0, 4], [2, 3], [3, 2], [4, 0]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "a b",
        "c",
        "no label",
    ]
    across, down = figure.axes[0].collections
    assert {segment[0, 1] for segment in across.get_segments()} == {2, 4}
    assert {segment[0, 0] for segment in down.get_segments()} == {2, 4}
    assert (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()) == ((0, 5), (5, 0))


def test_fuller_cells_are_darker_and_single_edges_visible() -> None:
    ends = np.random.default_rng(0).integers(0, 500, size=(2, 4000))
    ends = np.hstack([ends, [[900], [950]]])
    figure = adjacency(adjacency_from_edges(ends[0], ends[1], None, 1000))
    picture = image(figure)
    assert 0.2 < picture[picture > 0].min() < 0.5 < picture.max() <= 1.0
    assert np.count_nonzero(picture[-60:]) == 2  # both directions of one edge


def test_a_large_graph_costs_no_more_memory_than_its_edges() -> None:
    nodes = 200_000
    ring = adjacency_from_edges(np.arange(nodes), (np.arange(nodes) + 1) % nodes, None, nodes)
    tracemalloc.start()
    figure = adjacency(ring, np.arange(nodes) % 500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert max(image(figure).shape) <= 1000
    assert len(figure.axes[0].get_yticklabels()) == 0  # no room for 500 names


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_figure_is_written_whole_or_not_at_all(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = adjacency(graph_of([(0, 1)], 3), [0, 1, 1])
    save_figure(figure, tmp_path / "deep" / f"p.{ending}")
    assert (tmp_path / "deep" / f"p.{ending}").stat().st_size > 1000

    def fail(path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(KeyboardInterrupt):
        save_figure(figure, tmp_path / f"q.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


def test_a_line_per_model_is_its_curve() -> None:
    rng = np.random.default_rng(0)
    curve = reliability_curve(rng.integers(0, 3, 500), rng.dirichlet(np.ones(3), 500))
    figure = reliability({"gcn": curve, "auto": curve}, errors={"auto": 0.05})
    line = figure.axes[0].get_lines()[1]
    shown = curve[curve["count"] >= 3]
    assert line.get_ydata().tolist() == shown["accuracy"].tolist()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == [f"gcn {calibration_error(curve):.1%}", "auto 5.0%"]
