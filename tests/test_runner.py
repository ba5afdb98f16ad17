"""The runner: nothing is lost, nothing runs twice, and what fails is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from truegraph.data.storage import read_npz
from truegraph.errors import DataError, InputError
from truegraph.progress import Progress
from truegraph.runner import read_trials, run_trials

JOBS = [{"seed": seed} for seed in range(4)]
SLEEPER = """
import sys, time
from truegraph.runner import run_trials
def trial(job):
    time.sleep(0.1)
    return {"metrics": {"value": job["seed"]}}
if __name__ == "__main__":
    run_trials(trial, [{"seed": s} for s in range(16)], sys.argv[1], workers=int(sys.argv[2]))
"""


def squared(job):
    if job["seed"] < 0:
        raise ArithmeticError("no root")
    return {"metrics": {"value": job["seed"] ** 2}, "pid": os.getpid()}


def with_arrays(job):
    return {"metrics": {}, "arrays": {f"a/{job['seed']}.npz": {"value": np.ones(2)}}}


class Heard(Progress):
    """A listener that keeps the last note."""

    done, note = 0.0, ""

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.done, self.note = done, note


@pytest.mark.parametrize("workers", [1, 2])
def test_every_trial_is_run_once_and_kept(tmp_path: Path, workers: int) -> None:
    file = tmp_path / "runs" / "trials.jsonl"
    first = run_trials(squared, JOBS[:2], file, workers=workers)
    assert (first.wanted, first.run, len(first.done)) == (2, 2, 2)
    again = run_trials(squared, JOBS, file, workers=workers)
    assert (again.wanted, again.run) == (4, 2)
    assert [record["metrics"]["value"] for record in again.records] == [0, 1, 4, 9]
    assert len(file.read_text().splitlines()) == 4
    assert run_trials(squared, JOBS, file).run == 0
    assert {"seconds", "finished", "version", "peak_memory_mb"} <= again.records[0].keys()


def test_failed_trials_are_told_and_run_again_on_demand(tmp_path: Path) -> None:
    heard, jobs = Heard(), [{"seed": -1}, {"seed": 2}]
    found = run_trials(squared, jobs, tmp_path / "t.jsonl", workers=1, progress=heard)
    assert [record["error"] for record in found.failed] == ["ArithmeticError: no root"]
    assert "1 failed" in heard.note
    assert heard.done == 2
    assert run_trials(squared, jobs, tmp_path / "t.jsonl", workers=1).run == 0
    assert run_trials(squared, jobs, tmp_path / "t.jsonl", workers=1, retry_failed=True).run == 1


def test_half_a_line_is_no_trial_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    run_trials(squared, JOBS[:2], file, workers=1)
    whole = file.read_bytes()
    for cut in (1, len(whole) // 3, len(whole) - 2):
        file.write_bytes(whole[:-cut])
        assert run_trials(squared, JOBS, file, workers=1).run in (2, 3, 4)
        assert len(read_trials(file)) == 4


def test_lines_of_others_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('[1]\n{"status": "done"}\nnonsense\n\n' + "[" * 100_000 + "\n")
    assert read_trials(file) == []
    assert run_trials(squared, JOBS, file, workers=1).run == 4


def test_arrays_lie_beside_the_file(tmp_path: Path) -> None:
    found = run_trials(with_arrays, JOBS[:1], tmp_path / "t.jsonl", workers=1)
    assert "arrays" not in found.records[0]
    assert read_npz(tmp_path / "a" / "0.npz")["value"].sum() == 2


def test_one_process_at_a_time(tmp_path: Path) -> None:
    from filelock import FileLock

    with FileLock(tmp_path / "t.jsonl.lock"), pytest.raises(DataError, match="another process"):
        run_trials(squared, JOBS, tmp_path / "t.jsonl", workers=1)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        run_trials(squared, JOBS, tmp_path / "file" / "t.jsonl", workers=1)


def test_workers_and_a_cluster_exclude_each_other(tmp_path: Path) -> None:
    for given in ({"workers": 0}, {"workers": 1, "cluster": "tcp://x:1"}):
        with pytest.raises(InputError, match="workers="):
            run_trials(squared, JOBS, tmp_path / "t.jsonl", **given)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on(tmp_path: Path, end: signal.Signals) -> None:
    script, file = tmp_path / "sleeper.py", tmp_path / "t.jsonl"
    script.write_text(SLEEPER)
    process = subprocess.Popen([sys.executable, script, file, "2"], stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while len(read_trials(file)) < 3 and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(end)
    process.wait(60)
    kept = len(read_trials(file))
    assert 3 <= kept < 16
    subprocess.run([sys.executable, script, file, "1"], check=True, timeout=300)
    keys = [json.loads(line)["key"] for line in file.read_text().splitlines() if '"seed"' in line]
    assert len(set(keys)) == 16
    assert len(read_trials(file)) == 16
    assert len(keys) == 16  # none of those kept was run again


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("truegraph.runner._SCHEDULER_TIMEOUT", 1)
    with pytest.raises(DataError, match="cannot be reached"):
        run_trials(squared, JOBS, tmp_path / "t.jsonl", cluster="tcp://127.0.0.1:1")
