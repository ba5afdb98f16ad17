"""What a type checker and an editor see of the public names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import truegraph


@pytest.fixture(scope="module")
def revealed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what mypy says of every public name."""
    pytest.importorskip("mypy")
    script = tmp_path_factory.mktemp("types") / "front_door.py"
    lines = [f"reveal_type(truegraph.{name})" for name in truegraph.__all__]
    script.write_text("\n".join(["import truegraph", *lines, "truegraph.no_such_name"]))
    project = Path(__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(script)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True).stdout


def test_a_type_checker_sees_the_real_types(revealed: str) -> None:
    types = [line.partition("Revealed type is ")[2] for line in revealed.splitlines()]
    types = [kind for kind in types if kind]
    assert len(types) == len(truegraph.__all__)
    assert not any(kind.strip('"') == "Any" for kind in types)
    learn_graph = next(kind for kind in types if "forbidden_pairs" in kind)
    assert "LearnedGraph" in learn_graph


def test_a_type_checker_finds_misspelt_names(revealed: str) -> None:
    assert 'no attribute "no_such_name"' in revealed
