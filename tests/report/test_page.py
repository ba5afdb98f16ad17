"""The page of results stands alone, and shows texts as they are."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import binomtest

from truegraph import ColumnPlan, learn_graph
from truegraph.report.explorer import page as explorer
from truegraph.report.page import (
    Entry,
    answer_page,
    facts,
    first_rows,
    notes,
    page_html,
    picture,
    share_interval,
    table,
)
from truegraph.report.plots import paired_differences
from truegraph.report.plots.style import COLOURS
from truegraph.report.svg import inline_svg

PAGE = page_html(
    "GCN & <friends>",
    "two models",
    [
        table(
            "Metrics",
            "over trials",
            [
                ["model", "accuracy", "p"],
                ["<b>gcn</b>", Entry("70 ± 1", value=0.7, bold=True), ""],
                ["bgcn", "-", "0.01"],
            ],
        ),
        picture("Graphs", "two graphs", Figure(), 'an "alternative" text'),
        facts("How", {"seeds": "0 to 2", "items": 1234, "unknown": None}),
        notes("Notes", ["a note"]),
    ],
)


class Reader(HTMLParser):
    """Collect tags and check that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def test_nothing_comes_from_outside() -> None:
    assert "http:" not in PAGE
    assert "https:" not in PAGE
    assert not re.search(r"<(link|iframe|object|embed)|<script [^>]*src|@import", PAGE)
    addresses = [a["href"] for tag, a in read(PAGE).seen if tag in ("a", "use") and "href" in a]
    assert all(str(address).startswith("#") for address in addresses)


def test_only_the_script_of_the_page_may_run() -> None:
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', PAGE)
    [script] = re.findall(r"<script>(.*?)</script>", PAGE, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_texts_are_escaped_and_numbers_grouped() -> None:
    for text in ("GCN &amp; &lt;friends&gt;", "&lt;b&gt;gcn&lt;/b&gt;", "<dd>1,234</dd>"):
        assert text in PAGE
    assert "unknown" not in PAGE


def test_a_page_costs_as_much_time_as_its_tables_have_rows() -> None:
    rows = [["column", *"abcdefg"], *([f"word {n}", *map(str, range(7))] for n in range(1433))]
    start = time.process_time()
    page_html("", "", [table("", "", rows)])
    assert time.process_time() - start < 3.0  # 50 if kinds of columns are asked for every cell


# --- answers --------------------------------------------------------------------------------------


def answer(expected: dict[str, str], learned: Any, parts: Any, **given: Any) -> str:
    document = {"files": {"features": "f.csv", "edges": None}, "statistics": {"nodes": 1234}}
    document |= {"notes": given.pop("notes", [])}
    return answer_page("Classes", "2 nodes labelled", document, expected, learned, parts, **given)


def test_everything_is_on_the_page_and_escaped() -> None:
    plan = ColumnPlan().fit(pd.DataFrame({"id": ["x", "y", "z"], "<age>": [1.0, None, 3.0]}))
    frame = pd.DataFrame({"node": ["x", "y"], "a_b": [0.5, 0.75]})
    html = answer(
        expected={"expected": "accuracy of 62.5 %", "to do": "more labels"},
        learned={"edges": 56},
        parts=[first_rows("Least sure", "Ask for their labels first.", frame)],
        plan=plan,
        notes=["decimal commas recognised"],
        warnings=["all nodes get one class"],
    )
    for text in (
        *("1,234", "&lt;age&gt;", "62.5 %", "more labels", "0.75", "a b"),
        *("Least sure", "decimal commas recognised", "all nodes get one class"),
    ):
        assert text in html
    assert "<age>" not in html
    assert '<p class="summary">2 nodes labelled. 1 warning: see below.' in html
    assert html.index("all nodes get one class") < html.rindex("What came in")


def test_nothing_is_shown_that_is_not_known() -> None:
    html = answer(expected={"expected": "unknown", "rests on": ""}, learned={"a": None}, parts=[])
    for text in ("rests on", "What was learned", "The columns", "file of edges"):
        assert text not in html
    assert "2 nodes labelled. No warnings." in html


@pytest.mark.parametrize(("right", "count"), [(0, 5), (5, 5), (41, 50), (410, 500)])
def test_the_interval_of_a_share_is_that_of_wilson(right: int, count: int) -> None:
    wanted = binomtest(right, count).proportion_ci(method="wilson")
    assert share_interval(right / count, count) == pytest.approx(
        (wanted.low, wanted.high), abs=1e-4
    )


# --- pictures -------------------------------------------------------------------------------------


def test_colours_are_left_to_the_page_and_text_stays_text() -> None:
    svg = inline_svg(paired_differences({"BGCN − GCN": [1.0, 2.0, 1.5]}, title="Cora"), "a", "p")
    colours = set(re.findall(r"(?<!, )#[0-9a-f]{6}\b", svg))
    assert not colours  # every colour is a variable with a fallback
    names = set(re.findall(r"var\(--plot-(\w+),", svg))
    assert {"ink", "blue", "red", "grid"} <= names <= set(COLOURS)
    assert ">BGCN − GCN</text>" in svg
    assert "font-family" not in svg
    assert "<style" not in svg


# --- the explorer within a page -------------------------------------------------------------------


def test_a_small_graph_is_shown_and_its_script_allowed() -> None:
    graph = learn_graph(np.random.default_rng(0).normal(size=(40, 3)), degree=4)
    (part,) = explorer.explorer_part(graph, features=graph.adjacency)
    page = page_html("A title", "", [part])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    digest = part["script_hash"]
    assert f"'sha256-{digest}'" in policy[1].replace("&#39;", "'")
    assert digest not in page_html("A title", "")
    assert '<iframe class="embedded" srcdoc="&lt;!doctype html&gt;' in page


def test_a_large_graph_gets_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "ALL_NODES", 30)
    graph = learn_graph(np.random.default_rng(0).normal(size=(40, 3)), degree=4)
    (part,) = explorer.explorer_part(graph)
    assert "truegraph explore graph.npz" in part["notes"][0]
