"""A real browser without a window, and the page of a run in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.data.storage import write_text
from truegraph.evaluation import reliability_curve
from truegraph.report import plots
from truegraph.report.page import Entry, page_html, picture, table

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def gallery_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with a figure of every kind, and a table to sort."""
    rng = np.random.default_rng(0)
    curve = reliability_curve(rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300))
    models = [f"a model called {letter}" for letter in "ABCDEFGH"]
    figures = [
        plots.paired_differences({name: rng.normal(size=9) for name in models}, title="Cora"),
        plots.reliability(dict.fromkeys(models, curve), title="Cora"),
    ]
    parts = [table("Sorted", "By a click.", TO_SORT)]
    parts += [
        picture(f"Figure {n}", "", figure, "a figure of its kind")
        for n, figure in enumerate(figures)
    ]
    file = tmp_path_factory.mktemp("gallery") / "gallery.html"
    write_text(file, page_html("Gallery", "", parts))
    return file


TO_SORT = [
    ["model", "labels", "accuracy %", "difference", "p"],
    ["gcn", "5", Entry("74.2 ± 2.8", 0.742), "+1.2", ""],
    ["gat", "10", Entry("8.1 ± 0.3", 0.081), "−3.0", "0.02"],
    ["mlp", "5", Entry("90.0 ± 1.0", 0.9), "+12.0", ""],
    ["sgc", "100", Entry("61.5 ± 1.0", 0.615), "0.0", "1e-05"],
]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file as a reader would; the page notes its messages and requests."""
    contexts = []

    def open_file(file: Path, width: int = 1200, scheme: str = "light", **options: Any) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.messages, page.requests = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
