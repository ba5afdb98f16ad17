"""What the documentation shows is true: every snippet, command, script and link works."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
import shlex
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from truegraph.classify.models import MODELS as CLASSIFIERS
from truegraph.cli.app import run
from truegraph.learning.settings import AUTO_DEGREE
from truegraph.links.names import MODELS as LINKS
from truegraph.recommend.names import MODELS as RECOMMENDERS

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
EXAMPLES = {
    "learn_graph.py": r"scope='global', converged=True\).*9\d\.\d% of the edges join images",
    "cluster_digits.py": r"learned: adjusted Rand index 0\.[6-9]",
    "users_and_items.py": r"200 users, 80 items, .*has one: True",
    "pyg_transform.py": r"LearnGraph\(degree=10, metric='cosine'\).*after  Data\(",
}
SOURCE = ROOT / "src"
DOCUMENTED = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text()
]
NEEDS_NETWORK = "data fetch"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    mpl.use("Agg")
    return tmp_path


def pages_with(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language)]


def test_most_pages_have_snippets() -> None:
    assert len(pages_with("python")) > 10
    assert len(pages_with("sh")) > 5


@pytest.mark.filterwarnings("error")  # nor does what readers copy warn
@pytest.mark.parametrize("page", pages_with("python"))
def test_python_snippets_run(page: str, workplace: Path) -> None:
    snippets = blocks(page, "python")
    names: dict[str, object] = {}
    for number, snippet in enumerate(snippets):
        exec(compile(snippet, f"{page}, snippet {number}", "exec"), names)


@pytest.mark.parametrize("page", pages_with("sh"))
def test_commands_run(page: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = np.random.default_rng(0).normal(size=(30, 3))
    for file in ("points.csv", "standardised.csv"):
        np.savetxt(workplace / file, points, delimiter=",")
    np.save(workplace / "points.npy", np.random.default_rng(0).normal(size=(3000, 4)))
    for path in (ROOT / "examples" / "customers").glob("*.csv"):
        shutil.copy(path, workplace)
    _write_node_files(workplace)
    for table in blocks(page, "csv"):
        (workplace / "people.csv").write_text(table)
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["truegraph"] and NEEDS_NETWORK not in line:
            assert run(words[1:]) == 0, capsys.readouterr().err


def _write_node_files(folder: Path) -> None:
    """Write edges, features and labels of sixty nodes on a ring; ten have no label."""
    nodes = range(60)
    labels = [f"n{i},{('first', 'second')[i // 30]}" for i in nodes if i % 6]
    texts = {
        "edges.csv": ["source,target", *(f"n{i},n{(i + 1) % 60}" for i in nodes)],
        "features.csv": ["id,x,y", *(f"n{i},{i // 30},{i % 3}" for i in nodes)],
        "labels.csv": ["node,label", *labels],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")


LINKED = ["CONTRIBUTING.md", "RESULTS.md", "benchmarks/README.md"]
LINKED += sorted(f"results/{path.name}" for path in (ROOT / "results").glob("*.md"))


@pytest.mark.parametrize("page", [*PAGES, *LINKED])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:|/generated)([^)#]+)", (ROOT / page).read_text()):
        assert (ROOT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_examples_run(example: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    assert re.search(EXAMPLES[example], capsys.readouterr().out, re.S)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_examples_are_true(name: str, workplace: Path) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


DEGREES = {  # where the default degree is named
    "docs/how_do_i.md": r"The default is (\d+)\.",
    "docs/learning.md": r"# a LearnedGraph, (\d+) edges per node",
    "src/truegraph/cli/options.py": r"edges per node; auto is (\d+)\.",
    "src/truegraph/learning/learner.py": r'"auto" is (\d+), or',
}


@pytest.mark.parametrize("page", DEGREES)
def test_the_default_degree_that_is_named_is_that_of_the_code(page: str) -> None:
    stated = re.search(DEGREES[page], (ROOT / page).read_text())
    assert stated is not None
    assert int(stated[1]) == AUTO_DEGREE


def test_models_named_in_the_documentation_exist() -> None:
    known = {*CLASSIFIERS, *LINKS, *RECOMMENDERS}
    for page in PAGES:
        for table in re.findall(r"^\| (`[a-z][^|]*`) \|", (ROOT / page).read_text(), re.M):
            for name in re.findall(r"`([a-z][a-z-]+)`", table):
                assert name in known, (page, name)
