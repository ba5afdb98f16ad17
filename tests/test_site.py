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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("sphinx", "myst_nb", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-W", "--keep-going"]
    places = ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    done = subprocess.run(
        [*command, *WITHOUT_RUNNING, *places], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"


@pytest.mark.parametrize(
    "page",
    [
        *("index", "start", "does_it_help", "how_do_i", "concepts", "faq", "overview"),
        *("notebooks/cora", "notebooks/shop", "notebooks/your_table"),
        *("generated/gallery/index", "generated/api", "generated/commands"),
        *("generated/research/index", "generated/research/table1", "generated/benchmarks"),
    ],
)
def test_every_part_has_its_page(site: Path, page: str) -> None:
    assert "<h1>" in (site / f"{page}.html").read_text(encoding="utf-8")


def test_every_experiment_has_a_page_with_its_verdict(site: Path) -> None:
    for path in (ROOT / "results").glob("*.md"):
        text = (site / "generated" / "research" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert "<strong>Where it does not hold:</strong>" in text


@pytest.mark.parametrize("module", ["truegraph", "truegraph.data", "truegraph.learning"])
def test_the_api_has_every_public_name(site: Path, module: str) -> None:
    text = (site / "generated" / "api.html").read_text(encoding="utf-8")
    home = importlib.import_module(module)
    for name in home.__all__:
        if callable(getattr(home, name)):
            assert f">{name}</" in text, name


def test_the_commands_are_those_of_the_program(site: Path) -> None:
    text = (site / "generated" / "commands.html").read_text(encoding="utf-8")
    for command in ("learn", "classify", "links", "recommend", "explore", "reproduce", "report"):
        assert f"truegraph {command}" in text
