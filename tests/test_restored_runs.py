"""Runs restored from the committed trials: nothing is lost, nothing is run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from truegraph.experiments import TrialStore
from truegraph.experiments.experiment import find_experiment
from truegraph.experiments.summary import trials_csv

ROOT = Path(__file__).parent.parent


def test_restored_trials_are_those_of_the_table(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "restore_runs.py")]
    subprocess.run([*script, str(tmp_path), "posterior"], check=True, capture_output=True)
    with TrialStore.open(tmp_path / "posterior") as store:
        written = trials_csv(store.records(), find_experiment("posterior"))
    committed = (ROOT / "results" / "posterior_trials.csv").read_text(encoding="utf-8")
    assert written == committed
