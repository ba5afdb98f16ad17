"""The page of results stands alone and shows texts as they are."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from matplotlib.figure import Figure

from truegraph.report.page import Page, Picture, Table

PAGE = Page(
    title="GCN & <friends>",
    summary="two models",
    tables=[Table("Metrics", "over trials", [["model", "accuracy"], ["<b>gcn</b>", "70 ± 1"]])],
    pictures=[Picture("Graphs", "two graphs", 'an "alternative" text', Figure())],
    facts=[("seeds", "0 to 2")],
    notes=["a note"],
    files=[("results.json", "every value")],
)


class Reader(HTMLParser):
    """Collect tags and check that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
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
    assert not re.search(r"<(script|link|iframe)", html)


def test_texts_are_escaped() -> None:
    html = PAGE.render()
    assert "GCN &amp; &lt;friends&gt;" in html
    assert "&lt;b&gt;gcn&lt;/b&gt;" in html


def test_pictures_have_alternatives_and_files_are_linked() -> None:
    reader = read(PAGE)
    images = [attributes for tag, attributes in reader.seen if tag == "img"]
    assert [image["alt"] for image in images] == ['an "alternative" text']
    assert str(images[0]["src"]).startswith("data:image/png;base64,")
    assert [a["href"] for tag, a in reader.seen if tag == "a"] == ["results.json"]


def test_a_page_without_parts_has_no_empty_sections() -> None:
    reader = read(Page(title="t", summary="s"))
    assert [tag for tag, _ in reader.seen].count("h2") == 0
