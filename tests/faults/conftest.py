"""Run the program as a process on an experiment whose trials only sleep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from truegraph.experiments import TrialRecord, TrialStore
from truegraph.experiments.tasks.base import TASKS

PRETEND = Path(__file__).parents[1] / "pretend"
PROGRAM = [sys.executable, "-c", "from truegraph.cli import main; main()", "reproduce"]


class Bench:
    """An experiment of the pretend task in a folder, and processes that run it.

    Attributes
    ----------
    log : Path
        Where the trials write down that they ran.
    out : Path
        The folder of the run.
    """

    def __init__(self, folder: Path, out: Path) -> None:
        self.file = folder / "dreams.toml"
        self.log = folder / "log"
        self.out = out
        path = os.pathsep.join([str(PRETEND), os.environ.get("PYTHONPATH", "")])
        self.environment = os.environ | {
            "PYTHONPATH": path.rstrip(os.pathsep),
            "TRUEGRAPH_CACHE": str(folder / "cache"),
        }
        self.processes: list[subprocess.Popen[str]] = []

    def write(self, trials: int, *, batch: int = 1, **settings: Any) -> None:
        """Write the experiment's file."""
        model = {"name": "sleeper", "log": str(self.log), **settings}
        entries = ", ".join(f"{key} = {json.dumps(value)}" for key, value in model.items())
        self.file.write_text(
            f'task = "pretend"\ndatasets = ["nights"]\ntrials = {trials}\nbatch = {batch}\n'
            f"models = [{{{entries}}}]\n"
        )

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        """Start the program."""
        words = [*PROGRAM, str(self.file), "--out", str(self.out), *map(str, arguments)]
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            **options,
        )
        self.processes.append(process)
        return process

    def run(self, *arguments: object, **options: Any) -> tuple[int, str, str]:
        """Run the program to its end; return its exit code and what it printed."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=600)
        return process.returncode, out, err

    def records(self) -> list[TrialRecord]:
        """Return what is stored, nothing if there is no store yet."""
        if not (self.out / "trials.sqlite").exists():
            return []
        with TrialStore.open(self.out) as store:
            return store.records()

    def runs_of(self, seed: int) -> int:
        """Return how often a trial was begun."""
        if not self.log.exists():
            return 0
        return [int(line.split()[2]) for line in self.log.read_text().splitlines()].count(seed)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.syspath_prepend(str(PRETEND))
    monkeypatch.setitem(TASKS, "pretend", "pretend_task:PretendTask")
    made = Bench(tmp_path, tmp_path / "run")
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.kill()
            process.wait()
