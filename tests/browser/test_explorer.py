"""The explorer in a real browser: clicks, search, slider, lasso, keys; quiet, and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truegraph import LearnedGraph, learn_graph
from truegraph.report.explorer.page import explorer_part
from truegraph.report.page import page_html

EVIL = '<img src=x onerror="window.evil=1"></script><script>window.evil=1</script>'
NODES = 150


@pytest.fixture(scope="session")
def graph() -> LearnedGraph:
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], NODES // 3, axis=0)
    points = centres + rng.normal(size=(NODES, 2))
    names = [f"point {number}" for number in range(NODES - 1)]
    return learn_graph(points, degree=6).named([*names, EVIL])


@pytest.fixture(scope="session")
def explorer_file(graph: LearnedGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    labels = np.repeat(np.array(["ash", "birch", EVIL], dtype=object), NODES // 3)
    features = pd.DataFrame({"height": rng.normal(size=NODES), "wide": rng.normal(size=NODES)})
    dense = rng.dirichlet([1.0, 1.0, 1.0], size=NODES)
    observed = graph.adjacency.tolil()
    lost = graph.adjacency[[0]].indices[0]
    observed[0, 149] = observed[149, 0] = 1.0
    observed[0, lost] = observed[lost, 0] = 0.0
    labels[5] = None
    page = graph.explore(labels, None, features, dense, observed=observed.tocsr(), title=EVIL)
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    page.save(file)
    return file


def complaints(page: Any) -> list[str]:
    """Return the messages of the page; drivers without a GPU remark on their speed."""
    return [text for text in page.messages if "GL Driver Message" not in text]


def look(page: Any, node: str) -> None:
    page.fill("#search", node)
    page.keyboard.press("Enter")


def test_it_is_quiet_and_asks_for_nothing(open_page, explorer_file: Path) -> None:
    page = open_page(explorer_file)
    look(page, "point 7")
    page.locator("#panel td a").first.click()
    assert complaints(page) == []
    assert page.requests == [explorer_file.as_uri()]
    assert page.locator("#no-drawing").is_hidden()
    assert page.title() == EVIL


def test_names_are_text(open_page, explorer_file: Path) -> None:
    page = open_page(explorer_file)
    look(page, "onerror")
    assert page.locator("#panel h2").inner_text() == EVIL
    assert page.locator("#panel dd").first.inner_text() == EVIL
    assert EVIL in page.locator("#legend").inner_text()
    assert page.evaluate("window.evil") is None
    assert page.locator("img").count() == 0


def test_a_click_selects_and_a_link_walks_on(open_page, graph, explorer_file: Path) -> None:
    page = open_page(explorer_file)
    look(page, "point 20")
    assert page.locator("#panel h2").inner_text() == "point 20"
    rows = page.locator("#panel tbody tr")
    assert rows.count() == int(np.diff(graph.adjacency.indptr)[20])
    weights = [float(text) for text in page.locator("#panel td:nth-child(2)").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(graph.adjacency[[20]].data.max(), rel=0.01)
    page.locator("#panel th[aria-sort=descending] button").click()
    weights = [float(text) for text in page.locator("#panel td:nth-child(2)").all_inner_texts()]
    assert weights == sorted(weights)
    name = page.locator("#panel td a").first.inner_text()
    page.locator("#panel td a").first.click()
    assert page.locator("#panel h2").inner_text() == name
    assert "share" in page.locator("#panel tbody").inner_text()
    page.go_back()
    assert page.locator("#panel h2").inner_text() == "point 20"
    # the node is where it is drawn: a click there finds it again
    look(page, "point 20")
    page.get_by_role("button", name="Zoom to neighbours").click()
    page.get_by_role("button", name="Close").click()
    box = page.locator("#drawing").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator("#drawing").focus()
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text().startswith("point")


def test_a_node_says_all_that_is_known(open_page, graph, explorer_file: Path) -> None:
    page = open_page(explorer_file)
    look(page, "point 20")
    panel = page.locator("#panel")
    names = panel.locator("dt").all_text_contents()
    assert {"label", "prediction", "entropy", "cluster", "edges", "height"} <= set(names)
    chances = [float(text) for text in panel.locator(".chance span:last-child").all_inner_texts()]
    assert len(chances) == 3
    assert sum(chances) == pytest.approx(1.0, abs=0.01)
    heads = panel.locator("th").all_inner_texts()
    assert [head.replace("\u00ad", "").split("\n")[0].strip() for head in heads] == [
        *("node", "weight", "probability", "90 % interval", "distance")
    ]
    posterior = graph.posterior()
    best = int(graph.adjacency[[20]].indices[graph.adjacency[[20]].data.argmax()])
    row = panel.locator("tbody tr").first.locator("td").all_inner_texts()
    assert row[0].startswith(f"point {best}")
    assert float(row[2]) == pytest.approx(posterior.inclusion()[20, best], abs=0.01)
    low, high = (float(text) for text in row[3].split(" to "))
    assert low == pytest.approx(posterior.interval(0.9)[0][20, best], rel=0.06)
    assert high == pytest.approx(posterior.interval(0.9)[1][20, best], rel=0.06)
    assert float(row[4]) == pytest.approx(graph.candidates[20, best], rel=0.01)


def test_the_slider_hides_edges_that_are_less_probable(open_page, graph, explorer_file) -> None:
    page = open_page(explorer_file)
    count = page.locator("#panel p").first
    assert f"{graph.n_edges} edges drawn" in count.inner_text()
    page.locator("#slider").fill("70")
    chances = graph.posterior().inclusion()
    learned = graph.adjacency.tocoo()
    sure = np.asarray(chances[learned.row, learned.col]).ravel() >= 0.7
    assert 0 < sure.sum() // 2 < graph.n_edges
    assert f"{sure.sum() // 2} edges drawn" in count.inner_text()
    assert page.locator("#slider-value").inner_text() == "0.70"


def test_a_lasso_selects_and_the_selection_is_saved(open_page, explorer_file: Path) -> None:
    page = open_page(explorer_file)
    box = page.locator("#drawing").bounding_box()
    page.click("#lasso")
    left, top, right, low = box["x"] + 2, box["y"] + 2, box["x"] + box["width"] - 2, 890
    page.mouse.move(left, top)
    page.mouse.down()
    for place in ((right, top), (right, low), (left, low)):
        page.mouse.move(*place, steps=3)
    page.mouse.up()
    assert f"{NODES} selected" in page.locator("#panel").inner_text()
    with page.expect_download() as download:
        page.click("#csv")
    table = pd.read_csv(download.value.path())
    assert table["node"].tolist() == [f"point {number}" for number in range(NODES - 1)] + [EVIL]
    assert table["label"].isna().sum() == 1
    assert {"prediction", "entropy", "edges", "height"} <= set(table.columns)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off(open_page, explorer_file: Path, width: int, scheme: str) -> None:
    page = open_page(explorer_file, width=width, scheme=scheme)
    look(page, "point 40")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("#search", "#colour", "#slider", "#lasso", "#next", "#fit", "#keep"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    row = page.locator("#panel tbody tr").first.bounding_box()
    assert row["height"] < 80  # names are not broken into letters
    if width == 1280:
        fits = "box => box.scrollWidth <= box.clientWidth"
        assert page.locator("#panel .scroll").evaluate(fits)
    drawn = page.locator("#picture").bounding_box()
    assert drawn["height"] > 250


def test_a_report_page_holds_it(open_page, graph, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page_html("A graph", "A summary.", list(explorer_part(graph))))
    for width in (390, 1280):
        page = open_page(file, width=width)
        frame = page.frame_locator("iframe")
        frame.locator("#search").fill("point 3")
        frame.locator("#search").press("Enter")
        assert frame.locator("#panel h2").inner_text() == "point 3"
        assert frame.locator("#no-drawing").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints(page) == []
        assert [address for address in page.requests if not address.startswith("about:")] == [
            file.as_uri()
        ]
