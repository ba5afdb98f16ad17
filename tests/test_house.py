"""The rules of the house: who may import whom, and what an import costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import truegraph

ROOT = Path(__file__).parents[1]


def test_rooms_import_only_from_rooms_below_them() -> None:
    """The contracts stand in pyproject.toml, under ``tool.importlinter``."""
    found = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
         "--no-cache"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout


def _python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_quick_and_loads_no_torch() -> None:
    code = (
        "import sys, time; start = time.process_time(); import truegraph; "
        "print(time.process_time() - start, 'torch' in sys.modules)"
    )
    runs = [_python(code).split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert {torch for _, torch in runs} == {"False"}


def test_learning_a_graph_loads_no_torch() -> None:
    code = (
        "import sys, numpy, truegraph; "
        "truegraph.learn_graph(numpy.random.default_rng(0).normal(size=(40, 3)), degree=4); "
        "print('torch' in sys.modules)"
    )
    assert _python(code).strip() == "False"


def test_the_library_knows_no_laboratory() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) lab\b", path.read_text(), re.MULTILINE), path


def test_every_public_name_exists_and_type_checkers_see_it() -> None:
    stub = (ROOT / "src" / "truegraph" / "__init__.pyi").read_text()
    for name in truegraph.__all__:
        assert getattr(truegraph, name) is not None
        assert name == "__version__" or re.search(rf"\b{name}\b", stub)
