"""Pages in a real browser: quiet, alone, sortable, legible everywhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TABLE = "section:has(#heading-1) table"  # of the gallery

# Contrast of the text of every element against what lies behind it (WCAG 2).
CONTRAST = """
() => {
  const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = element.ownerSVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(ink)), light(behind(element))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.tagName, element.textContent.slice(0, 40)]);
  }
  return found;
}
"""

# Text of a figure that reaches beyond the figure.
CUT_OFF = """
() => [...document.querySelectorAll("svg.plot")].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")]
    .filter(text => {
      const own = text.getBoundingClientRect();
      return own.left < box.left - 1 || own.right > box.right + 1
        || own.top < box.top - 1 || own.bottom > box.bottom + 1;
    })
    .map(text => text.textContent);
})
"""


def column(page: Any, number: int, table: str = TABLE) -> list[str]:
    cells = page.query_selector_all(f"{table} tbody tr > :nth-child({number})")
    return [cell.inner_text().split("\n")[0] for cell in cells]


def test_it_renders_in_silence_and_asks_for_nothing(open_page, comparison_file: Path) -> None:
    page = open_page(comparison_file)
    assert page.messages == []
    assert page.requests == [comparison_file.as_uri()]
    assert page.title() == "classify on Cora & <friends>: gcn, gat <8 heads>, auto (ours)"
    assert page.locator("svg.plot").count() == 2
    headings = page.locator("h2").all_inner_texts()
    assert headings[:2] == ["1 trial failed", "Models"]
    assert "no room for <attention> & weights" in page.locator("body").inner_text()


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """Return the address of a server on this machine, and what it is asked for."""
    paths: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()


def test_the_policy_forbids_outside_requests(open_page, comparison_file: Path, asked) -> None:
    address, paths = asked
    ask = """address => {
      const image = document.createElement("img");
      image.src = `${address}/image`;
      document.body.append(image);
      const script = document.createElement("script");
      script.textContent = "window.strange = true";
      document.body.append(script);
      return fetch(`${address}/fetch`, {mode: "no-cors"}).catch(() => null);
    }"""
    page = open_page(comparison_file)
    page.evaluate(ask, address)
    page.wait_for_function("document.images[0].complete")
    assert paths == []
    assert page.evaluate("window.strange") is None
    refused = [text for text in page.messages if "Content Security Policy" in text]
    for what in (f"{address}/image", f"{address}/fetch", "inline script"):
        assert any(what in text for text in refused), page.messages
    page.goto(f"{address}/page")  # the server does hear who may speak to it
    assert "/page" in paths


def test_a_click_on_a_heading_sorts_up_and_then_down(open_page, gallery_file: Path) -> None:
    page = open_page(gallery_file)
    heading = page.locator(f"{TABLE} thead th").nth(2)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == ["gat", "sgc", "gcn", "mlp"]  # by the means
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, 1) == ["mlp", "gcn", "sgc", "gat"]
    page.locator(f"{TABLE} thead th").nth(0).locator("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert column(page, 1) == ["gat", "gcn", "mlp", "sgc"]


def test_numbers_sort_as_numbers_and_empty_entries_stay_below(open_page, gallery_file) -> None:
    page = open_page(gallery_file)
    headings = page.locator(f"{TABLE} thead th")
    headings.nth(1).locator("button").click()
    assert column(page, 2) == ["5", "5", "10", "100"]  # as words, 10 would come first
    headings.nth(3).locator("button").click()
    assert column(page, 4) == ["−3.0", "0.0", "+1.2", "+12.0"]
    for order in (["1e-05", "0.02", "", ""], ["0.02", "1e-05", "", ""]):
        headings.nth(4).locator("button").click()
        assert column(page, 5) == order


@pytest.mark.parametrize("width", [320, 375, 768])
def test_no_width_makes_the_page_scroll_sideways(open_page, comparison_file, width: int) -> None:
    page = open_page(comparison_file, width=width, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator(".scroll").nth(1)
    if width < 500:  # the table is wider than its box, and the box scrolls
        assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
        assert wide.get_attribute("tabindex") == "0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(open_page, comparison_file: Path, scheme: str) -> None:
    page = open_page(comparison_file, scheme=scheme)
    background = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 80
    assert min(ratios)[0] >= 4.5, min(ratios)


@pytest.mark.parametrize("width", [375, 1200])
def test_all_text_of_a_figure_can_be_read(
    open_page, comparison_file: Path, gallery_file: Path, width: int
) -> None:
    for file in (comparison_file, gallery_file):
        page = open_page(file, width=width)
        assert page.locator("svg.plot").count() >= 2
        assert page.evaluate(CUT_OFF) == []
