"""Runs restored from the committed trials: nothing is lost, nothing is run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from truegraph.experiments import TrialStore
from truegraph.experiments.experiment import find_experiment
from truegraph.report.summary import trials_csv

ROOT = Path(__file__).parent.parent


def restore(folder: Path, name: str) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "restore_runs.py")]
    subprocess.run([*script, str(folder), name], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["posterior", "noise"])
def test_restored_trials_are_those_of_the_table(tmp_path: Path, name: str) -> None:
    restore(tmp_path, name)
    with TrialStore.open(tmp_path / name) as store:
        written = trials_csv(store.records(), find_experiment(name))
    committed = (ROOT / "results" / f"{name}_trials.csv").read_text(encoding="utf-8")
    assert written == committed


def test_a_restored_run_can_be_continued(tmp_path: Path) -> None:
    restore(tmp_path, "posterior")
    command = [sys.executable, "-c", "from truegraph.cli import main; main()", "reproduce"]
    part = ["--datasets", "cora", "--models", "most probable graph", "--trials", "1"]
    command += ["posterior", *part, "--out", str(tmp_path / "posterior")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 trial done" in done.stdout
