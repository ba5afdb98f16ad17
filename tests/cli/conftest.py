"""Run the program in this process, or as a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.cli.app import run

COLOURS = ("blue", "green", "red")


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    cpu_seconds: float = 0.0


Program = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)  # pages go to the current folder


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Program:
    """Run ``truegraph`` in this process."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def process() -> Program:
    """Run ``truegraph`` as a process, and measure the processor time it takes."""

    def call(*arguments: object, code: str = "from truegraph.cli import main; main()") -> Outcome:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            timeout=600,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Outcome(done.returncode, done.stdout, done.stderr, cpu)

    return call


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write files of three groups that features and edges tell apart; four labels of each."""
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    names = np.array([f"person {i}" for i in range(60)])
    points = pd.DataFrame(3 * np.eye(3)[kind] + 0.5 * rng.random((60, 3)), columns=list("xyz"))
    points.insert(0, "id", names)
    points.to_csv("features.csv", index=False)
    chance = np.where(kind[:, None] == kind, 0.3, 0.01)
    first, second = np.nonzero(np.triu(rng.random((60, 60)) < chance, k=1))
    pd.DataFrame({"source": names[first], "target": names[second]}).to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"node": names, "label": np.array(COLOURS)[kind]})
    labels[:12].to_csv("labels.csv", index=False)
    labels[:50].to_csv("most_labels.csv", index=False)
    return tmp_path
