"""The documentation site: it builds without a warning, and shows every public name and command.

Its code runs in `make docs`, not here: snippets, gallery and notebooks have tests of their own.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WITHOUT_RUNNING = ["-D", "nb_execution_mode=off", "-D", "plot_gallery=0"]


PAGES = ["index", "start", "does_it_help", "how_do_i", "concepts", "faq", "overview"]
PAGES += ["notebooks/cora", "notebooks/shop", "notebooks/your_table", "generated/gallery/index"]
PAGES += ["generated/api", "generated/commands", "generated/benchmarks", "generated/research/index"]
PAGES += [f"generated/research/{path.stem}" for path in (ROOT / "results").glob("*.md")]
COMMANDS = ["learn", "classify", "links", "recommend", "compare", "explore", "reproduce", "report"]


def test_the_site_builds_without_a_warning_and_is_complete(tmp_path: Path) -> None:
    for name in ("sphinx", "myst_nb", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    _build(tmp_path)
    shown = {page: (tmp_path / f"{page}.html").read_text(encoding="utf-8") for page in PAGES}
    for page, text in shown.items():
        assert "<h1>" in text
        is_verdict = page.startswith("generated/research/") and not page.endswith("index")
        assert not is_verdict or "<strong>Where it does not hold:</strong>" in text, page
    for name in _public_names():
        assert f">{name}</" in shown["generated/api"], name
    for command in COMMANDS:
        assert f"truegraph {command}" in shown["generated/commands"]
    gallery = shown["generated/gallery/index"]
    for script in (ROOT / "docs" / "gallery").glob("plot_*.py"):
        assert f"{script.stem}.html" in gallery


def _build(target: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-W", "--keep-going"]
    places = ["-d", str(target / "doctrees"), str(ROOT / "docs"), str(target)]
    done = subprocess.run(
        [*command, *WITHOUT_RUNNING, *places], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3000:]


def _public_names() -> list[str]:
    modules = [importlib.import_module(name) for name in ("truegraph", "truegraph.data")]
    modules.append(importlib.import_module("truegraph.learning"))
    return [n for home in modules for n in home.__all__ if callable(getattr(home, n))]
