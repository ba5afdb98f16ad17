"""The rules of the house: who may import whom, and what an import may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import truegraph

PACKAGE = Path(truegraph.__file__).parent

# A room imports only from rooms before it.
ORDER = ["evaluation", "data", "learning", "nn", "tasks", "experiments", "report", "cli"]
EVERYWHERE = {"errors", "extras", "faces", "gate", "progress", "runtime", "seeds", "suggestions"}
# Adapters at the top of the package, and the rooms each may use.
ADAPTERS = {
    "anndata": {"learning"},
    "faces": {"report"},  # the one door from results to what draws them
    "pyg": {"data", "learning"},
    "umap": {"learning"},
    "testing": {"data"},
    "__main__": {"cli"},
}


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names: set[str] = set()
    package = ["truegraph", *path.relative_to(PACKAGE).with_suffix("").parts][:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.add(module)
            if module == "truegraph":
                names |= {f"truegraph.{alias.name}" for alias in node.names}
    return names


def _allowed(room: str) -> set[str]:
    if room in ADAPTERS:
        return ADAPTERS[room] | EVERYWHERE | {room}
    if room in EVERYWHERE:
        return EVERYWHERE
    return set(ORDER[: ORDER.index(room) + 1]) | EVERYWHERE


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_room_imports_only_from_rooms_before_it(path: Path) -> None:
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if room == "__init__":
        return
    used = {_room(name) for name in _imports(path) if name.startswith("truegraph.")}
    assert used - {""} <= _allowed(room), f"{path} imports from {used - _allowed(room)}"


def test_learning_never_imports_torch() -> None:
    for room in ("data", "learning", "evaluation"):
        for path in (PACKAGE / room).rglob("*.py"):
            top = {name.split(".")[0] for name in _module_level_imports(path)}
            assert "torch" not in top, path


def _module_level_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def _python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_quick_and_loads_no_torch() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import truegraph; "
        "print(time.perf_counter() - start, 'torch' in sys.modules)"
    )
    runs = [_python(code).split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.5
    assert {torch for _, torch in runs} == {"False"}


def test_learning_a_graph_loads_no_torch() -> None:
    code = (
        "import sys, numpy, truegraph; "
        "truegraph.learn_graph(numpy.random.default_rng(0).normal(size=(40, 3)), degree=4); "
        "print('torch' in sys.modules)"
    )
    assert _python(code).strip() == "False"


def test_every_public_name_exists() -> None:
    for name in truegraph.__all__:
        assert getattr(truegraph, name) is not None
