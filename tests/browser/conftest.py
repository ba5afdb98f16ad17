"""A real browser without a window, and the page of a run in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from truegraph.data.storage import write_text
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run

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
def report_file(made_up_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_text(file, run_page([Run.read(made_up_run)]).render())
    return file


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
