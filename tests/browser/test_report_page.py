"""The page of a run in a real browser: quiet, alone, sortable, legible everywhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TABLE = "section:has(#heading-2) table"  # accuracy in full: one row per cell

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

# Texts of one figure that lie on top of each other.
OVERLAPS = """
() => [...document.querySelectorAll("svg.plot")].flatMap(svg => {
  const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent,
    text.getBoundingClientRect()]);
  const pairs = texts.flatMap((one, place) => texts.slice(place + 1).map(two => [one, two]));
  return pairs.filter(([[, a], [, b]]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const least = Math.min(a.width * a.height, b.width * b.height);
    return across > 0 && down > 0 && across * down > 0.3 * least;
  }).map(([[first], [second]]) => [first, second]);
})
"""


def column(page: Any, number: int, table: str = TABLE) -> list[str]:
    cells = page.query_selector_all(f"{table} tbody tr > :nth-child({number})")
    return [cell.inner_text().split("\n")[0] for cell in cells]


def test_it_renders_in_silence_and_asks_for_nothing(open_page, report_file: Path) -> None:
    page = open_page(report_file)
    assert page.messages == []
    assert page.requests == [report_file.as_uri()]
    assert page.title() == "Three models & <Cora>"
    assert page.locator("svg.plot").count() == 11
    assert page.locator("h2").first.inner_text() == "Accuracy %"
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


def test_the_policy_forbids_outside_requests(open_page, report_file: Path, asked) -> None:
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
    page = open_page(report_file)
    page.evaluate(ask, address)
    page.wait_for_function("document.images[0].complete")
    assert paths == []
    assert page.evaluate("window.strange") is None
    refused = [text for text in page.messages if "Content Security Policy" in text]
    for what in (f"{address}/image", f"{address}/fetch", "inline script"):
        assert any(what in text for text in refused), page.messages
    page.goto(f"{address}/page")  # the server does hear who may speak to it
    assert "/page" in paths


def test_a_click_on_a_heading_sorts_up_and_then_down(open_page, report_file: Path) -> None:
    page = open_page(report_file)
    before = column(page, 4)
    assert before != sorted(before, key=float)
    heading = page.locator(f"{TABLE} thead th").nth(3)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(page, 4) == sorted(before, key=float)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, 4) == sorted(before, key=float, reverse=True)
    page.locator(f"{TABLE} thead th").nth(2).locator("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert column(page, 3) == sorted(column(page, 3))


def test_the_keyboard_sorts_as_well(open_page, report_file: Path) -> None:
    page = open_page(report_file)
    button = page.locator(f"{TABLE} thead th button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert column(page, 3) == sorted(column(page, 3))
    page.keyboard.press("Space")
    assert column(page, 3) == sorted(column(page, 3), reverse=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "accuracy %"


def test_numbers_sort_as_numbers_and_empty_entries_stay_below(open_page, report_file) -> None:
    page = open_page(report_file)
    labels = page.locator(f"{TABLE} thead th").nth(1).locator("button")
    labels.click()
    assert column(page, 2) == ["5"] * 3 + ["10"] * 3  # as words, 10 would come first
    p_value = page.locator(f"{TABLE} thead th").last.locator("button")
    for _ in range(2):
        p_value.click()
        values = column(page, 12)
        assert all(values[:2])
        assert not any(values[2:])


def test_signed_and_spread_figures_sort_by_their_means(open_page, report_file: Path) -> None:
    page = open_page(report_file)
    for number in (8, 9):  # "74.2 ± 2.8" and "+1.2"
        button = page.locator(f"{TABLE} thead th").nth(number - 1).locator("button")
        button.click()
        values = [float(text.split(" ")[0]) for text in column(page, number) if text]
        assert values == sorted(values)


@pytest.mark.parametrize("width", [320, 375, 768])
def test_no_width_makes_the_page_scroll_sideways(open_page, report_file, width: int) -> None:
    page = open_page(report_file, width=width, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator(".scroll").nth(1)
    if width < 500:  # the table is wider than its box, and the box scrolls
        assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
        assert wide.get_attribute("tabindex") == "0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(open_page, report_file: Path, scheme: str) -> None:
    page = open_page(report_file, scheme=scheme)
    background = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 200
    assert min(ratios)[0] >= 4.5, min(ratios)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_of_the_figures_stand_out(open_page, report_file: Path, scheme: str) -> None:
    page = open_page(report_file, scheme=scheme)
    strokes = page.evaluate(
        """() => [...document.querySelectorAll("svg.plot path")]
          .map(path => getComputedStyle(path).stroke)"""
    )
    background = "rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 26, 33)"
    assert {stroke for stroke in strokes if stroke != "none"} >= {
        {"light": "rgb(42, 105, 176)", "dark": "rgb(116, 174, 234)"}[scheme]
    }
    assert page.evaluate("getComputedStyle(document.querySelector('.density path')).stroke") != (
        background
    )


def test_every_figure_has_an_alternative_and_every_table_a_caption(open_page, report_file) -> None:
    page = open_page(report_file)
    for figure in page.query_selector_all("svg"):
        assert figure.get_attribute("role") == "img"
        assert len(figure.get_attribute("aria-label")) > 40
    for table in page.query_selector_all("table"):
        about = table.get_attribute("aria-describedby")
        assert page.locator(f"#{about}").inner_text()
    identifiers = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("width", [375, 1200])
def test_all_text_of_a_figure_can_be_read(
    open_page, report_file: Path, gallery_file: Path, width: int
) -> None:
    for file in (report_file, gallery_file):
        page = open_page(file, width=width)
        assert page.locator("svg.plot").count() >= 8
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate(OVERLAPS) == []


def test_contents_lead_to_their_sections(open_page, report_file: Path) -> None:
    page = open_page(report_file)
    page.get_by_role("link", name="Learned graphs").click()
    assert page.locator("h2", has_text="Learned graphs").is_visible()
    assert page.evaluate("window.scrollY") > 500
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    assert all(page.locator(f"section#{link}").count() == 1 for link in links)


def test_without_scripts_the_tables_are_still_there(open_page, report_file: Path) -> None:
    page = open_page(report_file, java_script_enabled=False)
    assert page.locator(f"{TABLE} tbody tr").count() == 6
    assert page.locator("th button").count() == 0
