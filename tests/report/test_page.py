"""The page of results stands alone and shows texts as they are."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from matplotlib.figure import Figure

from truegraph.report.page import Facts, Files, Notes, Page, Panel, Picture
from truegraph.report.tables import Entry, Table

PAGE = Page(
    title="GCN & <friends>",
    summary="two models",
    parts=[
        Table(
            "Metrics",
            "over trials",
            [
                ["model", "accuracy", "p"],
                ["<b>gcn</b>", Entry("70 ± 1", value=0.7, bold=True, note="paper <70>"), ""],
                ["bgcn", "-", "0.01"],
            ],
        ),
        Picture("Graphs", "two graphs", [Panel(Figure(), 'an "alternative" text')]),
        Facts("How", [("seeds", "0 to 2")]),
        Notes("Notes", ["a note"]),
        Files("Files", [("results.json", "every value")]),
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

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: Page) -> Reader:
    reader = Reader()
    reader.feed(page.render())
    assert not reader.open
    return reader


def test_nothing_comes_from_outside() -> None:
    html = PAGE.render()
    assert "http:" not in html
    assert "https:" not in html
    assert not re.search(r"<(link|iframe|object|embed)|<script [^>]*src|@import", html)
    addresses = [a["href"] for tag, a in read(PAGE).seen if tag in ("a", "use") and "href" in a]
    assert {address for address in addresses if not str(address).startswith("#")} == {
        "results.json"
    }


def test_only_the_script_of_the_page_may_run() -> None:
    html = PAGE.render()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    [script] = re.findall(r"<script>(.*?)</script>", html, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_texts_are_escaped() -> None:
    html = PAGE.render()
    assert "GCN &amp; &lt;friends&gt;" in html
    assert "&lt;b&gt;gcn&lt;/b&gt;" in html
    assert "paper &lt;70&gt;" in html


def test_pictures_are_vectors_with_alternatives() -> None:
    images = [attributes for tag, attributes in read(PAGE).seen if tag == "svg"]
    assert [(image["role"], image["aria-label"]) for image in images] == [
        ("img", 'an "alternative" text')
    ]


def test_entries_carry_what_they_are_sorted_by() -> None:
    html = PAGE.render()
    assert '<td data-value="0.7"><strong>70 ± 1</strong><span class="note">' in html
    assert [PAGE.parts[0].is_text(column) for column in range(3)] == [True, False, False]


def test_a_column_of_words_is_set_to_the_left() -> None:
    table = Table("", "", [["m", "scope", "edges"], ["a", "global", "1,200"], ["b", "", "−3.5 %"]])
    assert [table.is_text(column) for column in range(3)] == [True, True, False]


def test_a_page_without_parts_has_no_empty_sections() -> None:
    tags = [tag for tag, _ in read(Page(title="t", summary="s")).seen]
    assert tags.count("h2") == 0
    assert "nav" not in tags


def test_the_same_page_twice_is_the_same() -> None:
    assert PAGE.render() == PAGE.render()
