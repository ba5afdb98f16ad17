"""Graph learning runs where neither the package nor the home folder can be written to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import truegraph

LEARN = """
import os, numpy, truegraph
graph = truegraph.learn_graph(numpy.arange(12.0)[:, None], degree=2)
print(graph.n_nodes, os.environ.get("NUMBA_CACHE_DIR"), truegraph.__file__)
"""


@pytest.fixture
def unwritable(tmp_path: Path) -> dict[str, str]:
    """Copy the package so that no __pycache__ can be made, not even by root."""
    package = Path(
        shutil.copytree(
            Path(truegraph.__file__).parent,
            tmp_path / "site" / "truegraph",
            ignore=shutil.ignore_patterns("__pycache__", "*.npz"),
        )
    )
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("no folder")
    (tmp_path / "home").write_text("no folder")
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_CACHE", "XDG"))},
        "PYTHONPATH": str(package.parent),
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
    }


def test_a_private_folder_serves_and_is_removed(unwritable: dict[str, str], tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LEARN], capture_output=True, text=True, env=unwritable
    )
    assert run.returncode == 0, run.stderr
    nodes, folder, file = run.stdout.split()
    assert nodes == "12"
    assert Path(folder).parent == tmp_path
    assert not Path(folder).exists()
    assert str(tmp_path) in file
    assert "compiled code is kept in a temporary folder" in run.stderr


def test_a_given_folder_is_used(unwritable: dict[str, str], tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LEARN],
        capture_output=True,
        text=True,
        env=unwritable | {"NUMBA_CACHE_DIR": str(tmp_path / "mine")},
    )
    assert run.returncode == 0, run.stderr
    assert list((tmp_path / "mine").rglob("*.nbi"))
    assert "temporary folder" not in run.stderr
