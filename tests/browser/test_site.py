"""The documentation site: complete, readable on a phone, searched without a network.

Its code runs in `make docs`, not here: snippets, gallery and notebooks have tests of their own.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
WITHOUT_RUNNING = ["-D", "nb_execution_mode=off", "-D", "plot_gallery=0"]


PAGES = [path.stem for path in (ROOT / "docs").glob("*.md")]
PAGES += ["notebooks/cora", "notebooks/shop", "notebooks/your_table", "generated/gallery/index"]
PAGES += ["generated/api", "generated/commands", "generated/benchmarks", "generated/research/index"]
PAGES += [f"generated/research/{path.stem}" for path in (ROOT / "results").glob("*.md")]
COMMANDS = ["learn", "classify", "links", "recommend", "compare", "explore"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once for all workers of a run; a warning is an error."""
    for name in ("sphinx", "myst_nb", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # that of a worker lies in that of the run
    target = base / "site"
    with FileLock(base / "site.lock"):
        if not target.exists():
            _build(target)
    return target


def _build(target: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-W", "--keep-going"]
    places = ["-d", str(target.with_name("doctrees")), str(ROOT / "docs"), str(target)]
    done = subprocess.run(
        [*command, *WITHOUT_RUNNING, *places], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_site_is_complete(site: Path) -> None:
    shown = {page: (site / f"{page}.html").read_text(encoding="utf-8") for page in PAGES}
    for text in shown.values():
        assert "<h1>" in text
    for name in _public_names():
        assert f">{name}</" in shown["generated/api"], name
    words = re.sub(r"<[^>]+>", "", shown["generated/commands"])
    for command in COMMANDS:
        assert f"truegraph {command}" in words
    gallery = shown["generated/gallery/index"]
    for script in (ROOT / "docs" / "gallery").glob("plot_*.py"):
        assert f"{script.stem}.html" in gallery


def test_estimators_show_what_users_call_and_read(site: Path) -> None:
    page = (site / "generated" / "api" / "truegraph.NodeClassifier.html").read_text("utf-8")
    for name in ("predict_proba", "score", "save", "load"):
        assert f'id="truegraph.NodeClassifier.{name}"' in page
    assert "<strong>classes_</strong>" in page
    assert "set_fit_request" not in page


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", ["index", "help_me", "table", "generated/commands"])
def test_pages_fit_the_window(site: Path, open_page: Any, page: str, width: int) -> None:
    shown = open_page(site / f"{page}.html", width=width)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_the_search_works_without_a_server(site: Path, open_page: Any) -> None:
    shown = open_page(site / "search.html")
    shown.goto(f"{(site / 'search.html').as_uri()}?q=prediction+sets")
    shown.wait_for_selector("#search-results li a", timeout=15_000)
    assert "uncertainty.html" in shown.inner_html("#search-results")
    assert not [url for url in shown.requests if not url.startswith("file:")]


def _public_names() -> list[str]:
    modules = [importlib.import_module(name) for name in ("truegraph", "truegraph.data")]
    modules.append(importlib.import_module("truegraph.learning"))
    return [n for home in modules for n in home.__all__ if callable(getattr(home, n))]
