"""A real browser without a window, and the page of a run in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.data.graphs.adjacency import adjacency_from_edges
from truegraph.data.storage import write_text
from truegraph.evaluation import reliability_curve
from truegraph.report import plots
from truegraph.report.page import Page, Panel, Picture
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


@pytest.fixture(scope="session")
def gallery_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with a figure of every kind."""
    rng = np.random.default_rng(0)
    right, high = rng.random((2, 9, 80)) < 0.7, rng.random((9, 80)) < 0.5
    graph = adjacency_from_edges(*rng.integers(0, 90, (2, 300)), None, 90)
    labels = np.repeat([0, 1, 2], 30)
    names = ["Reinforcement Learning", "Theory", "Rule Learning"]
    curve = reliability_curve(rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300))
    models = [f"a model called {letter}" for letter in "ABCDEFGH"]
    figures = [
        plots.adjacency(graph, labels, class_names=names, title="Observed"),
        plots.side_by_side(graph, graph, labels, class_names=names),
        plots.correction_boxplots(*right, high, names=("GCN", "BGCN (ours)"), title="Cora"),
        plots.accuracy_by_labels([5, 10, 20], {name: [0.7, 0.8, 0.9] for name in models}),
        plots.paired_differences({name: rng.normal(size=9) for name in models}, title="Cora"),
        plots.reliability({"GCN": curve}),
        plots.reliability({"GCN": curve, "BGCN (ours)": curve}),
        plots.reliability_lines(dict.fromkeys(models, curve), title="Cora"),
    ]
    panels = [Panel(figure, f"figure {number}") for number, figure in enumerate(figures)]
    file = tmp_path_factory.mktemp("gallery") / "gallery.html"
    write_text(file, Page("Gallery", "", [Picture("All", "", panels)]).render())
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
